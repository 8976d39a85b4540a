"""Split a byte stream of server-sent events into their data.

WHATWG HTML, section 9.2.6: lines end in CR, LF or CRLF; a blank line ends an event; several `data` lines of one
event are joined by LF; lines that begin with a colon are comments. Other fields do not matter here.
"""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"


class Splitter:
    """Feed bytes in any cut, get the data of the events that they complete.

    The same bytes give the same events however they are cut.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of each event that `chunk` completes."""
        self._rest += chunk
        if self._at_start:
            if len(self._rest) < len(_BOM) and _BOM.startswith(self._rest):
                return []
            self._rest = self._rest.removeprefix(_BOM)
            self._at_start = False
        events = []
        for line in self._lines():
            if line:
                self._field(line)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data = []
        return events

    def close(self) -> list[bytes]:
        """The data of an event that the end of the stream left without its blank line."""
        return self.feed(b"\n\n") if self._rest or self._data else []

    def _lines(self) -> list[bytes]:
        # A CR at the very end may be half of a CRLF: it waits for the next chunk.
        held = b"\r" if self._rest.endswith(b"\r") else b""
        ready = self._rest.removesuffix(held) if held else self._rest
        lines = ready.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + held
        return lines

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
