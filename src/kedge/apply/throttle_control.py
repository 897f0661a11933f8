"""The throttles of one run: set before moves start, changed while they run, removed at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
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
from kedge.errors import RefusedCommand, Unauthorised, Unavailable
from kedge.execution import (
    Lease,
    Observation,
    Setting,
    Statuses,
    Target,
    lease_for,
    missing_from,
    other_rates,
    refuse_foreign,
)
from kedge.execution import journal as lines
from kedge.execution.journal import Settings
from kedge.execution.rate_rise import STEP_S, RateRise, first_rise
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
        *,
        rise_s: float = 0.0,
        throttled_until: float = -math.inf,
        own: frozenset[Setting] = frozenset(),
    ) -> None:
        """`rise_s` is the time over which higher rates are set in steps; `throttled_until` is when
        a run before this one had its last throttle; `own` are values that Kedge's runs have set.
        """
        self._cluster, self._files, self._changes = cluster, files, changes
        self._target, self._waiting, self._note = target, waiting, on_note
        record = files.record()
        self.rate = record.rate
        self.log_dir_rate = record.steering.log_dir_rate
        self._leased_for: frozenset[BrokerId] = frozenset()
        self._moving = False
        self._rise_s, self._throttled_until = rise_s, throttled_until
        self._rise: RateRise | None = None
        self._step_due = 0.0
        inherited = own - record.own  # this run's own values are foreign once it has removed them
        self._keeper = ThrottleKeeper(cluster, files, changes, waiting.clock, on_note, inherited)

    @property
    def wanted(self) -> bool:
        """Whether the run has a throttle."""
        return self.rate is not None or self.log_dir_rate is not None

    def held_by_others(self, statuses: Statuses, seen: Observation) -> str:
        """The throttle of another client that `begin` would replace; empty where there is none."""
        lease = self._lease_for(statuses, seen) if self.wanted else Lease()
        return self._repeated(lambda: self._keeper.foreign(lease))

    def begin(self, statuses: Statuses, seen: Observation) -> None:
        """Set the throttles of all that is still to be moved; returns when brokers confirm.

        Rates rise to theirs from what the run has set before (`first_rise`).
        """
        self._moving, self._leased_for, self._rise = True, seen.alive, None
        if not self.wanted:
            return
        before = self._files.record().lease
        last = before.updated(self._lease_for(statuses, seen))
        now, until = self._waiting.clock(), self._throttled_until
        rise = first_rise(before.brokers, last.brokers, now, self._rise_s, throttled_until=until)
        self._lease(Lease(rise.at(rise.began), last.topics))
        if not rise.is_over(rise.began):
            now = self._waiting.clock()  # brokers have confirmed: moves start from here on
            self._rise, self._step_due = replace(rise, began=now), now + STEP_S

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
        others = self._keeper.rates_of_others(known)
        kept = (s for s in Lease(known).settings() if (s.name, s.config) not in others)
        set_throttles(self._cluster, Lease.of(kept))

    def keep(self, statuses: Statuses, seen: Observation) -> dict[TopicPartition, str]:
        """Set again what others have removed; returns moves that would not be throttled."""
        return self._keeper.keep(statuses, seen) if self.wanted and self._moving else {}

    def change(
        self, rate: int | None, log_dir_rate: int | None, statuses: Statuses, seen: Observation
    ) -> tuple[str, ...] | None:
        """Throttle to other rates; returns the brokers that did not confirm theirs.

        Higher rates are set in steps: None says that `rise` has more to set. While nothing moves
        nothing is set: `begin` uses the rates later.
        """
        self.rate, self.log_dir_rate, self._rise = rate, log_dir_rate, None
        if not self._moving:
            return ()
        self._keeper.put_off()
        record = self._files.record()
        missing = missing_from(record.lease, self._lease_for(statuses, seen))
        if missing:
            refuse_foreign(present_throttles(self._cluster, missing)[0], record.own)
            self._lease(record.lease.updated(missing))
        before = self._files.record().lease
        last = other_rates(before, rate, log_dir_rate)
        now = self._waiting.clock()
        self._rise, self._step_due = RateRise(before.brokers, last, now, self._rise_s), now
        try:
            return self.rise()
        except (RefusedCommand, Unauthorised):  # `keep` sets these again on brokers without them
            self._files.write(lines.rates_leased(before.brokers))
            raise

    def rise(self) -> tuple[str, ...] | None:
        """Set the next step of rates that rise; None until the last one is set.

        Only the last step is confirmed: returns the brokers that did not confirm it.
        """
        if self._rise is None:
            return ()
        now = self._waiting.clock()
        self._keeper.put_off()
        if now < self._step_due and not self._rise.is_over(now):
            return None
        if now > self._rise.began:  # what others set meanwhile is theirs: `keep` tells of it
            alive = {str(broker) for broker in self._leased_for}
            shown = {name: rates for name, rates in self._rise.last.items() if name in alive}
            self._rise = self._rise.without(self._keeper.rates_of_others(shown))
        if self._rise.is_over(now):
            silent = set_rates(self._cluster, self._files, self._rise.last, self._waiting)
            self._rise = None
            return silent
        ahead_s = now - self._step_due + STEP_S  # the next one is as late
        self._step_due = now + STEP_S
        step = self._rise.at(now, ahead_s=ahead_s)
        self._files.write(lines.rates_leased(step))
        set_throttles(self._cluster, Lease(step))
        return None

    def stay(self, rate: int | None, log_dir_rate: int | None) -> None:
        """Other rates were refused: these are the run's, and none is set."""
        self.rate, self.log_dir_rate, self._rise = rate, log_dir_rate, None

    def release(self) -> Lease:
        """Remove the throttles; returns those that are not confirmed to be gone."""
        self._moving, self._rise = False, None
        self._throttled_until = self._waiting.clock()
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


def not_reported(silent: Sequence[str]) -> str:
    """The note on brokers that did not confirm other rates."""
    return f"broker {', '.join(silent)} did not report its new throttle"


def change_rates(
    cluster: Cluster,
    files: Run,
    rate: int | None,
    log_dir_rate: int | None,
    waiting: Waiting,
) -> tuple[str, ...]:
    """Set other rates where a run has set some; returns the brokers that did not confirm theirs."""
    rates = other_rates(files.record().lease, rate, log_dir_rate)
    return set_rates(cluster, files, rates, waiting)


def set_rates(cluster: Cluster, files: Run, rates: Settings, waiting: Waiting) -> tuple[str, ...]:
    """Set rates of brokers; returns the brokers that did not confirm theirs.

    A broker that is down is not waited for: no other broker may change its configs.
    """
    if not rates:
        return ()
    files.write(lines.rates_leased(rates))
    set_throttles(cluster, Lease(rates))
    alive = cluster.describe().alive
    down = [name for name in rates if BrokerId(int(name)) not in alive]
    reachable = {name: configs for name, configs in rates.items() if name not in down}
    silent = until_confirmed(cluster, Lease(reachable), waiting)
    return tuple(sorted({*down, *silent}, key=int))
