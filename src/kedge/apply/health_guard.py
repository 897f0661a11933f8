"""Holds new moves back while the cluster outside of a run is in trouble."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kedge.apply.observe import observe_health
from kedge.cluster.port import Cluster
from kedge.errors import Unavailable
from kedge.execution import Health
from kedge.plan import Change

INTERVAL_S = 5.0
SHARE = 0.1  # of the time is spent on reading the health of a large cluster


class HealthGuard:
    """Reads the health of a cluster from time to time."""

    def __init__(
        self,
        cluster: Cluster,
        changes: Sequence[Change],
        clock: Callable[[], float],
        on_note: Callable[[str], None],
    ) -> None:
        self._cluster, self._changes, self._clock, self._note = cluster, changes, clock, on_note
        self._due: float | None = None
        self._health = Health()
        self.read_at: float | None = None

    def latest(self) -> Health | None:
        """The health, no older than the interval; None while the cluster does not answer."""
        began = self._clock()
        if self._due is not None and began < self._due:
            return self._health
        try:
            self._health = observe_health(self._cluster, (change.tp for change in self._changes))
        except Unavailable as fault:
            self._note(f"no response from the cluster ({fault.what}); retrying")
            return None
        self._due = began + max(INTERVAL_S, (self._clock() - began) / SHARE)
        self.read_at = began
        return self._health

    def allows_moves(self) -> bool:
        """Whether new moves may start; each kind of trouble is noted."""
        health = self.latest()
        for problem in health.problems if health is not None else ():
            self._note(f"no new moves: {problem} (--ignore-health overrides)")
        return bool(health)
