"""Adapts the throttle of a run at each poll: collects the signals, and sets what is decided.

The signals are the health of the partitions outside of the run, those of the run that fall below
`min.insync.replicas`, and how fast each broker answers a cheap request. `Pacing.more_signals` adds
those of a metrics system.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from statistics import median

from kedge.apply.health_guard import HealthGuard
from kedge.apply.move_bytes import Ends, through_brokers
from kedge.apply.observe import Found
from kedge.apply.outcome import Pacing
from kedge.apply.run_port import Run
from kedge.apply.throttle_control import ThrottleControl, not_reported
from kedge.cluster.port import Cluster
from kedge.errors import RefusedCommand, Unauthorised, Unavailable
from kedge.execution import Health, RateRange, Statuses
from kedge.execution import journal as lines
from kedge.execution.adaptive_throttle import LATENCY_MAX_S, Signals, next_rate
from kedge.model import BrokerId
from kedge.plan import Change

PROBE_TIMEOUT_MS = 500
READS_KEPT = 20
REFUSED_S = 300.0  # between two attempts where another rate is refused


class AdaptiveControl:
    """Changes the rate of a run within a range, by what the cluster shows."""

    def __init__(
        self,
        cluster: Cluster,
        files: Run,
        health: HealthGuard,
        throttles: ThrottleControl,
        pacing: Pacing,
        on_note: Callable[[str], None],
    ) -> None:
        self._cluster, self._files, self._health = cluster, files, health
        self._throttles, self._pacing, self._note = throttles, pacing, on_note
        self._reads: deque[float] = deque(maxlen=READS_KEPT)
        self._late_read_s = 0.0
        self._changed_at, self._halved_at = pacing.clock(), -inf
        self._refused_until = -inf
        self._before: tuple[float, Ends] | None = None

    def read_took(self, seconds: float) -> None:
        """A poll has read the cluster; one that is much slower than the others is a signal."""
        usual = median(self._reads) if self._reads else seconds
        self._late_read_s = max(0.0, seconds - usual)
        self._reads.append(seconds)

    def adapt(
        self,
        within: RateRange,
        changes: Sequence[Change],
        statuses: Statuses,
        found: Found,
        needed: int,
    ) -> None:
        """Decide, and set another rate if that is the decision."""
        rate = self._throttles.rate
        if rate is None or self._pacing.clock() < self._refused_until:
            return
        signals = self._pacing.more_signals(self._signals(changes, found, needed))
        if signals.unread:
            self._note("the throttle does not rise: no times of brokers from Prometheus")
        now = self._pacing.clock()
        decision = next_rate(
            within, rate, self._changed_at, signals, now, halved_at=self._halved_at
        )
        if not decision.why:
            return
        if decision.rate < rate:
            self._halved_at = now
        self._files.write(lines.rate_adapted(decision.rate, decision.why, at=self._pacing.now()))
        self._pacing.on_note(
            f"throttle {rate} → {decision.rate} bytes/s in and out of each broker: {decision.why}"
        )
        self._set(decision.rate, statuses, found)
        self.changed(changes, found)

    def _set(self, rate: int, statuses: Statuses, found: Found) -> None:
        """Set another rate; one that is refused is the run's no longer."""
        before, log_dir_rate = self._throttles.rate, self._throttles.log_dir_rate
        assert before is not None, "a throttle without a rate does not adapt"
        try:
            silent = self._throttles.change(rate, log_dir_rate, statuses, found.seen)
        except (RefusedCommand, Unauthorised) as refusal:
            self._throttles.stay(before, log_dir_rate)
            why = f"another rate is refused: {refusal}"
            self._files.write(lines.rate_adapted(before, why, at=self._pacing.now()))
            self._note(f"the throttle stays at {before} bytes/s: {refusal}")
            self._refused_until = self._pacing.clock() + REFUSED_S
            return
        if silent:
            self._note(not_reported(silent))

    def changed(self, changes: Sequence[Change], found: Found) -> None:
        """The rate was changed: evidence counts from now on."""
        self._changed_at = self._pacing.clock()
        self._before = self._changed_at, through_brokers(changes, found)

    def _signals(self, changes: Sequence[Change], found: Found, needed: int) -> Signals:
        found_health = self._health.latest()
        health = Health() if found_health is None else found_health
        probed_at = self._pacing.clock()
        latencies = self._latencies(sorted(found.seen.alive))
        read_at = self._health.read_at if found_health is not None else None
        return Signals(
            at=None if read_at is None or latencies is None else min(probed_at, read_at),
            under_min_isr=(*health.under_min_isr, *health.planned_under_min_isr),
            under_replicated=health.under_replicated,
            brokers_down=health.brokers_down,
            latencies=latencies or {},
            late_read_s=self._late_read_s,
            used=self._used(changes, found),
            needed=needed,
        )

    def _latencies(self, brokers: Sequence[BrokerId]) -> dict[BrokerId, float] | None:
        """Seconds by broker; one that does not answer in time counts as slow. None: not known."""
        answers = self._cluster.round_trips(brokers, PROBE_TIMEOUT_MS)
        found = {broker: each for broker, each in answers.items() if isinstance(each, float)}
        silent = [broker for broker, each in answers.items() if isinstance(each, Unavailable)]
        late = LATENCY_MAX_S + PROBE_TIMEOUT_MS / 1000
        if not found and not silent:
            return None
        return found | dict.fromkeys(silent, late)

    def _used(self, changes: Sequence[Change], found: Found) -> float:
        """Bytes per second through the busiest broker since the last change of the rate."""
        now, through = self._pacing.clock(), through_brokers(changes, found)
        if self._before is None:
            self._before = now, through
        since, before = self._before
        if now <= since:
            return 0.0
        most = max((through[end] - before[end] for end in through), default=0)
        return max(0.0, most / (now - since))
