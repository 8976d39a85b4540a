"""Run a program so that no honest one fails because the machine is slow or busy, and none too slow passes for it.

How long our own solution takes here and now is the measure: of what the calls may take, and of how that may grow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from crucibleforge.errors import CrucibleError
from crucibleforge.programs import Call, Limits, Program, Raised, Ran, Returned
from crucibleforge.sandbox import Sandbox

FACTOR = 10.0
"""A call may take this many times the CPU time of our own solution.

In `bench/limits.py` honest programs of ten styles took up to 3.6 times as long, beside two busy loops; programs of a
worse order took 34 times as long and more at the largest size, the fastest built-ins included.
"""
FLOOR_S = 2.0
"""What a sized call may take in any case, in CPU seconds: below it the cost of starting counts, not the growth."""
OURS_S = 60.0
"""CPU seconds after which our own solution is taken to be broken."""
SLOWER = 1.3
"""Our own solution measured so much slower again means that the machine has changed in between."""
PATIENCE = 4.0
"""The factor on the limit of a program whose time grows as ours does, so that only a constant makes it slow."""
EXPONENT_ROOM = 0.3
"""How much faster than ours, as a power of the size, a time may grow and count as growing alike.

Half as much time more or less at one of two sizes that are 4 times apart changes the power by 0.29; n log n and n
squared differ by about 0.9.
"""
SHORTEST_S = 0.005
"""Shorter times say nothing about growth: starting alone takes two to three milliseconds."""

_NOT_RUN = Raised("time limit", "not tried")


def execute(sandbox: Sandbox, program: Program, limits: Limits = Limits()) -> Ran:  # noqa: B008 - it is frozen
    """Run a program, with time limits that follow our own solution's time; see `Sandbox.run`.

    Sized calls may take `FACTOR` times what our own solution takes right before, at least `FLOOR_S`; who is late
    gets another chance if the machine has become slower since, and a longer one if its time grows like ours. Any
    other call that ran out of CPU time is tried again, alone, if the limit was too low for this machine at this moment.

    Raises:
        CrucibleError: the sandbox failed, or our own solution did.
    """
    if not program.reference:
        return sandbox.run(program, limits)
    trial = _Trial(sandbox, program, limits)
    trial.measure(trial.sized)
    trial.widen()
    ran = trial.run(trial.all)
    if ran.broken:
        return ran
    trial.retry_on_slow_machine()
    trial.retry_on_slower_machine()
    trial.retry_for_constant_factor()
    return trial.ran()


@dataclass(eq=False)
class _Tried:
    """One call: what it may take, what came of it, and what our own solution took, 0.0 if that was not measured."""

    call: Call
    cpu_s: float
    result: Returned | Raised = _NOT_RUN
    took_s: float = 0.0
    ours_s: float = 0.0

    @property
    def is_late(self) -> bool:
        """It used up its CPU time, by the driver's clock and not by what it says of itself."""
        return isinstance(self.result, Raised) and self.took_s >= self.cpu_s

    @property
    def is_untried(self) -> bool:
        """It was not run: whatever runs takes some time."""
        return isinstance(self.result, Raised) and self.took_s == 0


class _Trial:
    """One program, its calls, and the chances that it gets."""

    def __init__(self, sandbox: Sandbox, program: Program, limits: Limits) -> None:
        self._sandbox = sandbox
        self._program = program
        self._limits = limits
        self._tried = [_Tried(call, limits.cpu_s if call.cpu_s is None else call.cpu_s) for call in program.calls]

    @property
    def all(self) -> list[_Tried]:
        """Every call."""
        return self._tried

    @property
    def sized(self) -> list[_Tried]:
        """The calls that measure growth."""
        return [one for one in self._tried if one.call.size]

    @property
    def _untried(self) -> list[_Tried]:
        return [one for one in self._tried if one.is_untried]

    def run(self, chosen: Sequence[_Tried]) -> Ran:
        """Give these calls to the program and note what came of it."""
        calls = tuple(msgspec.structs.replace(one.call, cpu_s=one.cpu_s) for one in chosen)
        ran = self._sandbox.run(msgspec.structs.replace(self._program, calls=calls, reference=""), self._limits)
        for one, result, took_s in zip(chosen, ran.results, ran.cpu_s, strict=False):
            one.result, one.took_s = result, took_s
        return ran

    def measure(self, chosen: Sequence[_Tried]) -> None:
        """Give these calls to our own solution and note what it took.

        Raises:
            CrucibleError: it has no answer to one of them.
        """
        if not chosen:
            return
        calls = tuple(msgspec.structs.replace(one.call, cpu_s=OURS_S) for one in chosen)
        program = msgspec.structs.replace(self._program, source=self._program.reference, reference="", calls=calls)
        ran = self._sandbox.run(program, self._limits)
        failed = [f"{result.kind} {result.message}" for result in ran.results if isinstance(result, Raised)]
        if reason := ran.broken or "".join(failed[:1]):
            raise CrucibleError(
                f"our own solution of '{program.entry}' failed: {reason.strip()}",
                hint="`crucibleforge cases verify` tries all of them",
            )
        for one, took_s in zip(chosen, ran.cpu_s, strict=True):
            one.ours_s = took_s

    def widen(self) -> None:
        """Set the limits of the sized calls by what our own solution took."""
        for one in self.sized:
            one.cpu_s = max(FLOOR_S, FACTOR * one.ours_s)

    def retry_on_slow_machine(self) -> None:
        """Another chance for calls without a size for which even our own solution takes long here."""
        late = [one for one in self._tried if one.is_late and not one.call.size]
        if not late:
            return
        self.measure(late)
        slow = [one for one in late if FACTOR * one.ours_s > one.cpu_s]
        if not slow:
            return
        for one in slow:
            one.cpu_s = FACTOR * one.ours_s
        self.run([*slow, *self._untried])

    def retry_on_slower_machine(self) -> None:
        """Another chance for sized calls if the machine has slowed down since their limits were set."""
        late = self._late_sized()
        if not late:
            return
        before = [one.ours_s for one in late]
        self.measure([one for one in self.sized if one in late or one.is_untried])
        if any(one.ours_s > SLOWER * was_s for one, was_s in zip(late, before, strict=True)):
            self.widen()
            self.run([*late, *self._untried])

    def retry_for_constant_factor(self) -> None:
        """A longer chance for sized calls of a program whose time grows as ours does."""
        late = self._late_sized()
        if not late or not self._grows_alike():
            return
        for one in self.sized:
            one.cpu_s *= PATIENCE
        self.run([*late, *self._untried])

    def ran(self) -> Ran:
        """All that came of it."""
        ours = tuple(one.ours_s for one in self._tried)
        return Ran(
            tuple(one.result for one in self._tried),
            self._sandbox.isolation,
            cpu_s=tuple(one.took_s for one in self._tried),
            reference_cpu_s=ours if any(ours) else (),
        )

    def _late_sized(self) -> list[_Tried]:
        return [one for one in self.sized if one.is_late]

    def _grows_alike(self) -> bool:
        theirs = _exponent((one.call.size, one.took_s) for one in self.sized if isinstance(one.result, Returned))
        ours = _exponent((one.call.size, one.ours_s) for one in self.sized)
        return theirs is not None and ours is not None and theirs <= ours + EXPONENT_ROOM


def _exponent(times: Iterable[tuple[int, float]]) -> float | None:
    """The power of the size with which the time grows between the two largest sizes; None: that cannot be told."""
    longest: dict[int, float] = {}
    for size, took_s in times:
        if took_s >= SHORTEST_S:
            longest[size] = max(took_s, longest.get(size, 0.0))
    if len(longest) < 2:  # noqa: PLR2004 - a line takes two points
        return None
    small, large = sorted(longest)[-2:]
    return math.log(longest[large] / longest[small]) / math.log(large / small)
