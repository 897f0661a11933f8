"""The throttles of one run: set before moves start, changed while they run, removed at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kedge.apply.run_port import Run
from kedge.apply.throttle_keeper import ThrottleKeeper
from kedge.apply.throttles import (
    CONFIRM_S,
    Waiting,
    present_throttles,
    release,
    set_throttles,
    until_confirmed,
)
from kedge.cluster.port import Cluster
from kedge.errors import Unauthorised, Unavailable
from kedge.execution import (
    Lease,
    Observation,
    Statuses,
    Target,
    lease_for,
    missing_from,
    other_rates,
    refuse_foreign,
)
from kedge.execution import journal as lines
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change

ATTEMPTS, ATTEMPT_PAUSE_S = 10, 1.0

T = TypeVar("T")


class ThrottleControl:
    """Sets, changes and removes the throttles of a run; each step is in the journal before."""

    def __init__(
        self,
        cluster: Cluster,
        files: Run,
        changes: Sequence[Change],
        target: Target,
        waiting: Waiting,
        on_note: Callable[[str], None],
    ) -> None:
        self._cluster, self._files, self._changes = cluster, files, changes
        self._target, self._waiting, self._note = target, waiting, on_note
        record = files.record()
        self.rate = record.rate
        self.log_dir_rate = record.steering.log_dir_rate
        self._leased_for: frozenset[BrokerId] = frozenset()
        self._moving = False
        self._keeper = ThrottleKeeper(cluster, files, changes, waiting.clock, on_note)

    @property
    def wanted(self) -> bool:
        """Whether the run has a throttle."""
        return self.rate is not None or self.log_dir_rate is not None

    def begin(self, statuses: Statuses, seen: Observation) -> None:
        """Set the throttles of all that is still to be moved; returns when brokers confirm."""
        self._moving, self._leased_for = True, seen.alive
        if self.wanted:
            self._lease(self._files.record().lease.updated(self._lease_for(statuses, seen)))

    def set_on_started_brokers(self, statuses: Statuses, seen: Observation) -> None:
        """A broker that was down when throttles were set or changed gets them when it is back."""
        started = seen.alive - self._leased_for
        self._leased_for = seen.alive
        if not self.wanted or not self._moving or not started:
            return
        lease = self._files.record().lease
        names = {str(broker) for broker in started}
        wanted = self._lease_for(statuses, seen)
        missing = {n: rates for n, rates in wanted.brokers.items() if n not in lease.brokers}
        present, _ = present_throttles(self._cluster, Lease(missing))
        free = {name: rates for name, rates in missing.items() if name not in present.brokers}
        if free:
            self._lease(lease.updated(Lease(free)))
        known = {name: rates for name, rates in lease.brokers.items() if name in names}
        if known:
            set_throttles(self._cluster, Lease(known))

    def keep(self, statuses: Statuses, seen: Observation) -> dict[TopicPartition, str]:
        """Set again what others have removed; returns moves that would not be throttled."""
        return self._keeper.keep(statuses, seen) if self.wanted and self._moving else {}

    def change(
        self, rate: int | None, log_dir_rate: int | None, statuses: Statuses, seen: Observation
    ) -> tuple[str, ...]:
        """Throttle to other rates; returns the brokers that did not confirm theirs.

        While nothing moves nothing is set: `begin` uses the rates later.
        """
        self.rate, self.log_dir_rate = rate, log_dir_rate
        if not self._moving:
            return ()
        self._keeper.put_off()
        record = self._files.record()
        missing = missing_from(record.lease, self._lease_for(statuses, seen))
        if missing:
            refuse_foreign(present_throttles(self._cluster, missing)[0], record.own)
            self._lease(record.lease.updated(missing))
        return change_rates(self._cluster, self._files, rate, log_dir_rate, self._waiting)

    def release(self) -> Lease:
        """Remove the throttles; returns those that are not confirmed to be gone."""
        self._moving = False
        try:
            return self._repeated(lambda: release(self._cluster, self._files, self._waiting))
        except Unauthorised as refusal:
            self._note(
                f"the throttles of this run stay: {refusal.what}; grant it, then remove them with "
                "kedge throttle --clear"
            )
            return self._files.record().lease

    def _lease_for(self, statuses: Statuses, seen: Observation) -> Lease:
        within = self.log_dir_rate
        return lease_for(
            self._changes, statuses, seen, self.rate, self._target, log_dir_rate=within
        )

    def _lease(self, lease: Lease) -> None:
        self._files.write(lines.leased(lease))
        self._repeated(lambda: set_throttles(self._cluster, lease))
        silent = until_confirmed(self._cluster, lease, self._waiting)
        self._keeper.put_off(silent)
        for broker in silent:
            if BrokerId(int(broker)) in self._cluster.describe().alive:
                self._note(f"broker {broker} did not report its throttle within {CONFIRM_S:g} s")

    def _repeated(self, action: Callable[[], T]) -> T:
        """Set or remove throttles; again where a controller that is moving does not answer."""
        for _ in range(ATTEMPTS - 1):
            try:
                return action()
            except Unavailable as fault:
                self._note(f"no response from the cluster ({fault.what}); retrying")
                self._waiting.sleep(ATTEMPT_PAUSE_S)
        return action()


def change_rates(
    cluster: Cluster,
    files: Run,
    rate: int | None,
    log_dir_rate: int | None,
    waiting: Waiting,
) -> tuple[str, ...]:
    """Set other rates where a run has set some; returns the brokers that did not confirm theirs.

    A broker that is down is not waited for: no other broker may change its configs.
    """
    rates = other_rates(files.record().lease, rate, log_dir_rate)
    if not rates:
        return ()
    files.write(lines.rates_leased(rates))
    set_throttles(cluster, Lease(rates))
    alive = cluster.describe().alive
    down = [name for name in rates if BrokerId(int(name)) not in alive]
    reachable = {name: configs for name, configs in rates.items() if name not in down}
    silent = until_confirmed(cluster, Lease(reachable), waiting)
    return tuple(sorted({*down, *silent}, key=int))
