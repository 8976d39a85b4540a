"""Split a byte stream of server-sent events into their data.

WHATWG HTML, section 9.2.6: lines end in CR, LF or CRLF; a blank line ends an event; several `data` lines of one
event are joined by LF; lines that begin with a colon are comments. Other fields do not matter here.
"""

from __future__ import annotations

from crucibleforge.errors import Trouble

_BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Far above the largest honest event: a tool call of a whole book in one piece."""


class Splitter:
    """Feed bytes in any cut, get the data of the events that they complete.

    The same bytes give the same events however they are cut. Time and memory are linear in the bytes.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._unfinished_bytes = 0
        self._is_after_cr = False
        self._head: bytes | None = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of each event that `chunk` completes.

        Raises:
            Trouble: an event, or a line of it, is longer than any honest one.
        """
        chunk = self._without_mark(chunk)
        if self._is_after_cr and chunk:
            # The CR has ended its line already; an LF right after it is the other half of a CRLF.
            chunk = chunk.removeprefix(b"\n")
            self._is_after_cr = False
        if not chunk:
            return []
        self._is_after_cr = chunk.endswith(b"\r")
        lines = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = lines.pop()
        events = []
        for line in lines:
            self._grow(line)
            whole = b"".join(self._line)
            self._line = []
            if whole:
                self._field(whole)
            else:
                events += self._event()
        self._grow(rest)
        return events

    def close(self) -> list[bytes]:
        """The data of an event that the end of the stream left without its blank line."""
        if self._head:
            head, self._head = self._head, None
            self._grow(head)
        self._is_after_cr = False
        return self.feed(b"\n\n") if self._line or self._data else []

    def _without_mark(self, chunk: bytes) -> bytes:
        """`chunk` without a byte order mark, once it is known whether the stream begins with one."""
        if self._head is None:
            return chunk
        chunk = self._head + chunk
        if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
            self._head = chunk
            return b""
        self._head = None
        return chunk.removeprefix(_BOM)

    def _grow(self, part: bytes) -> None:
        if not part:
            return
        self._line.append(part)
        self._unfinished_bytes += len(part)
        if self._unfinished_bytes > self._max_event_bytes:
            raise Trouble("runaway", f"one event of the stream is longer than {self._max_event_bytes} bytes")

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            # An empty line of data weighs something too, or endless ones would be free.
            self._unfinished_bytes += 1
            self._data.append(value.removeprefix(b" "))
        else:
            self._unfinished_bytes -= len(line)

    def _event(self) -> list[bytes]:
        data, self._data = self._data, []
        self._unfinished_bytes = 0
        return [b"\n".join(data)] if data else []
