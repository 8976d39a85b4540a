"""Was it the client that could not keep up? Then the figures are printed under that label, never hidden."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from crucibleforge.speed.median import percentile

_MOST_LAG_S = 0.005
_MOST_CPU_SHARE = 0.70
_GROWTH = 2.0


class Client(Struct, frozen=True):
    """How this process fared: the loop woke up `lag_p99_s` late at worst but for 1%, and took `cpu_share` of a core.

    `limits` say why its figures are in doubt; empty: they are not.
    """

    lag_p50_s: float
    lag_p99_s: float
    cpu_share: float
    probes: int
    limits: tuple[str, ...] = ()

    @property
    def is_limited(self) -> bool:
        """True when what was measured may be the client and not the server."""
        return bool(self.limits)


def verdict(lags_s: Sequence[float], cpu_s: float, wall_s: float) -> Client:
    """Judge by how late the loop woke up from each short sleep, and by the CPU time that the process took."""
    ordered = sorted(lags_s) or [0.0]
    lag_s, share = percentile(ordered, 99), cpu_s / wall_s if wall_s > 0 else 0.0
    limits = []
    if lag_s > _MOST_LAG_S:
        limits.append(f"client-limited: 1% of its wake-ups were more than {lag_s * 1e3:.1f} ms late")
    if share > _MOST_CPU_SHARE:
        limits.append(f"client-limited: it took {share:.0%} of a core")
    return Client(percentile(ordered, 50), lag_s, share, len(lags_s), tuple(limits))


def grows(lags_s: Sequence[float], server_tpots_s: Sequence[float]) -> bool:
    """True when lag grew along a concurrency sweep while the server's own time per token did not."""
    if len(lags_s) < 2 or len(server_tpots_s) < 2 or min(lags_s[0], server_tpots_s[0]) <= 0:  # noqa: PLR2004 - ends
        return False
    return lags_s[-1] > _GROWTH * lags_s[0] and server_tpots_s[-1] < _GROWTH * server_tpots_s[0]
