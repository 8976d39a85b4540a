"""Which calls of a program are not worth a try, after those that ran into a limit."""

from __future__ import annotations

from crucibleforge.programs import Call, Raised, Returned

LATE_CALLS = 3


class Patience:
    """Knows which calls need not be tried, after those that ran into a limit."""

    def __init__(self) -> None:
        self._late = 0
        self._stop: tuple[int, str] | None = None

    def refusal(self, call: Call) -> Raised | None:
        """What to say instead of trying this call."""
        if self._stop and call.size > self._stop[0]:
            return Raised(self._stop[1], f"not tried: size {self._stop[0]:,} ran into its limit")
        if self._late >= LATE_CALLS:
            return Raised("time limit", "not tried: three calls before it ran out of time")
        return None

    def note(self, call: Call, result: Returned | Raised) -> None:
        """Learn what a call gave that was tried."""
        if not isinstance(result, Raised) or result.kind not in {"time limit", "memory limit"}:
            return
        self._late += result.kind == "time limit"
        if call.size and (not self._stop or call.size < self._stop[0]):
            self._stop = call.size, result.kind
