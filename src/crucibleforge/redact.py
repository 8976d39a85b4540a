"""Take secrets out of what servers say, in every guise in which a server may hand one back.

Covered: as it is, Base64 (also inside something longer, and the URL-safe alphabet), percent-encoded, hex, JSON-escaped,
and a beginning of it at the very end, where a long message was cut. Not covered: guises that somebody made up.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

MARK = "[key]"
_LEAST = 4
"""Shorter values stand everywhere by chance."""
_CUT_LEAST = 8
_SURE_CHARACTERS = 9
"""From this length on a value is not a placeholder for local servers: `EMPTY`, `none`, `ollama`, `test`."""
_JSON_NAMED = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_ELLIPSIS = " …."

Value = TypeVar("Value")


class Redactor:
    """Call it with a text to get it without the secrets; time is linear in the length of the text."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= _LEAST}, key=len, reverse=True)
        self._guises = [_Guises(secret) for secret in known]
        self._sure = [guises for guises in self._guises if len(guises.secret) >= _SURE_CHARACTERS]

    def __call__(self, text: str) -> str:
        """A message for people, without any secret."""
        return _without(self._guises, text)

    def body(self, data: bytes) -> bytes:
        """The same for bytes that nobody has parsed yet."""
        if not self._guises:
            return data
        return self(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def within(self, value: Value) -> Value:
        """A reply, or any other value of the server's, with each of its strings cleared.

        Secrets that may be placeholders stay: cutting `none` out of a model's words would change what is marked.
        """
        return value if not self._sure else self._walked(value)

    def _walked(self, value: Any) -> Any:
        match value:
            case str():
                return _without(self._sure, value)
            case tuple() | list():
                return type(value)(self._walked(item) for item in value)
            case dict():
                return {self._walked(key): self._walked(item) for key, item in value.items()}
            case msgspec.Struct():
                fields = {name: getattr(value, name) for name in value.__struct_fields__}
                return msgspec.structs.replace(value, **{name: self._walked(item) for name, item in fields.items()})
            case _:
                return value


class _Guises:
    """One secret in all its guises."""

    def __init__(self, secret: str) -> None:
        raw = secret.encode("utf-8", "surrogateescape")
        self.secret = secret
        self._plain = secret.lower()
        self._escaped = re.compile("".join(map(_escaped, secret)), re.IGNORECASE)
        self._encoded = [(raw.hex(), re.compile(raw.hex(), re.IGNORECASE))]
        for core, edge in _base64_cores(raw):
            pattern = f"[a-z0-9+/_-]{{0,{edge}}}{re.escape(core)}(?:[a-z0-9+/_-]?={{0,2}})"
            self._encoded.append((core.lower(), re.compile(pattern, re.IGNORECASE)))

    def out_of(self, text: str) -> str:
        """`text` without it. The quick looks decide; the patterns run where there is something to find."""
        # Whatever the case: some parts of a reply reach us in small letters only, such as its content type.
        lowered = text.lower()
        if self._plain in lowered or "%" in text or "\\" in text or "+" in text:
            text = self._escaped.sub(MARK, text)
        for core, pattern in self._encoded:
            if core in lowered:
                text = pattern.sub(MARK, text)
        return self._uncut(text)

    def _uncut(self, text: str) -> str:
        end = text.rstrip(_ELLIPSIS)
        for length in range(min(len(self.secret) - 1, len(end)), _CUT_LEAST - 1, -1):
            if end.endswith(self.secret[:length]):
                return end[:-length] + MARK + text[len(end) :]
        return text


def _without(guises: Iterable[_Guises], text: str) -> str:
    for one in guises:
        text = one.out_of(text)
    return text


def _base64_cores(raw: bytes) -> Iterable[tuple[str, int]]:
    """What stands in any Base64 text that holds `raw`, for each place of it within a group of three bytes.

    The characters at its edges share bits with what stands beside it, so they are not part of the core.
    """
    cores = {}
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).decode()
        first, end = -(-8 * before // 6), 8 * (before + len(raw)) // 6
        core = whole[first:end]
        cores[core] = cores[core.replace("+", "-").replace("/", "_")] = 1 if before else 0
    return cores.items()


def _escaped(character: str) -> str:
    """A pattern for one character as it is, percent-encoded (also twice), or escaped as in JSON within JSON."""
    forms = []
    units = character.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    forms.append("".join(rf"\\{{1,4}}u{code}" for code in codes))
    forms.append("".join(f"%(?:25){{0,3}}{byte:02x}" for byte in character.encode("utf-8", "surrogateescape")))
    if character in '"\\/':
        forms.append(rf"\\{{1,8}}{re.escape(character)}")
    if character in _JSON_NAMED:
        forms.append(rf"\\{{1,4}}{_JSON_NAMED[character]}")
    if character == " ":
        forms.append(r"\+")
    return f"(?:{'|'.join([*forms, re.escape(character)])})"
