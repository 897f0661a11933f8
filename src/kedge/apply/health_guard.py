"""Holds new moves back while the cluster outside of a run is in trouble."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import inf

from kedge.apply.observe import observe_health
from kedge.cluster.port import Cluster
from kedge.errors import Unauthorised, Unavailable
from kedge.execution import Health
from kedge.execution.health import GivenUp, OfflineLogDir
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change

INTERVAL_S = 5.0
SHARE = 0.1  # of the time is spent on reading the health of a large cluster


class HealthGuard:
    """Reads the health of a cluster from time to time.

    A broker that is down, or a log directory that is offline, for `give_up_after_s` no longer holds
    moves back: those that need it are set aside elsewhere (`stuck_watch`). `under_min_isr` are the
    partitions of the plan that were below `min.insync.replicas` before the run: they are no sign of
    trouble until they were in sync once.
    """

    def __init__(
        self,
        cluster: Cluster,
        changes: Sequence[Change],
        clock: Callable[[], float],
        on_note: Callable[[str], None],
        give_up_after_s: float = inf,
        under_min_isr: Collection[TopicPartition] = (),
    ) -> None:
        self._under_min_isr = frozenset(under_min_isr)
        self._cluster, self._changes, self._clock, self._note = cluster, changes, clock, on_note
        self._give_up_after_s = give_up_after_s
        self._since: dict[BrokerId | OfflineLogDir, float] = {}  # when each trouble was first seen
        self._due: float | None = None
        self._health = Health()
        self.read_at: float | None = None

    def latest(self) -> Health | None:
        """The health, no older than the interval; None while the cluster does not answer."""
        began = self._clock()
        if self._due is not None and began < self._due:
            return self._health
        try:
            found = observe_health(self._cluster, self._changes, self._given_up(began))
        except Unavailable as fault:
            self._note(f"no response from the cluster ({fault.what}); retrying")
            return None
        except Unauthorised as refusal:
            self._note(f"no new moves: the health of the cluster cannot be read ({refusal.what})")
            return None
        self._health = self._without_known(found)
        self._remember(began)
        self._due = began + max(INTERVAL_S, (self._clock() - began) / SHARE)
        self.read_at = began
        return self._health

    def _without_known(self, health: Health) -> Health:
        """Without the partitions that were below `min.insync.replicas` before the run."""
        self._under_min_isr &= frozenset(health.planned_under_min_isr)
        fallen = (tp for tp in health.planned_under_min_isr if tp not in self._under_min_isr)
        return replace(health, planned_under_min_isr=tuple(fallen))

    def _given_up(self, now: float) -> GivenUp:
        late = [each for each, since in self._since.items() if now - since >= self._give_up_after_s]
        return GivenUp(
            frozenset(each for each in late if not isinstance(each, OfflineLogDir)),
            frozenset(each for each in late if isinstance(each, OfflineLogDir)),
        )

    def _remember(self, now: float) -> None:
        found, given_up = self._health, self._health.given_up
        for broker in sorted(given_up.brokers):
            self._note(f"moves go on although broker {broker} is down: it has been for long")
        for log_dir in sorted(given_up.log_dirs):
            self._note(f"moves go on although log directory {log_dir} is offline")
        trouble = {
            *found.brokers_down, *found.offline_log_dirs, *given_up.brokers, *given_up.log_dirs
        }  # fmt: skip
        self._since = {each: self._since.get(each, now) for each in trouble}

    def allows_moves(self) -> bool:
        """Whether new moves may start; each kind of trouble is noted."""
        health = self.latest()
        for problem in health.problems if health is not None else ():
            self._note(f"no new moves: {problem} (--ignore-health overrides)")
        return bool(health)
