"""Finds throttles of a run that another client has changed or removed while moves are under way.

Kafka's own tool removes the rates of all brokers when it verifies any reassignment. What is missing
is set again: moves would go on without a throttle. So is a value of the run that it has replaced
since, on a broker that did not take the new one. A value that another client has set is left as it
is, and never removed. Where such a list does not name replicas that still have to move, their
moves would not be throttled: they are returned, for the run to set them aside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from kedge.apply.run_port import Run
from kedge.apply.throttles import present_throttles, set_throttles
from kedge.cluster.port import Cluster
from kedge.execution import (
    Lease,
    MoveStatus,
    Observation,
    Setting,
    Statuses,
    foreign_throttle,
)
from kedge.execution.journal import Settings
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change

INTERVAL_S = 10.0
SHARE = 0.1  # of the time is spent on reading the throttles of a large run
OPEN = (MoveStatus.WAITING, MoveStatus.MOVING)
EVERY_REPLICA = "*"


class ThrottleKeeper:
    """Compares the throttles that a run has set with those that are set, from time to time."""

    def __init__(
        self,
        cluster: Cluster,
        files: Run,
        changes: Sequence[Change],
        clock: Callable[[], float],
        on_note: Callable[[str], None],
        inherited: frozenset[Setting] = frozenset(),
    ) -> None:
        """`inherited` are values that other runs of Kedge have left."""
        self._cluster, self._files, self._changes = cluster, files, changes
        self._clock, self._note = clock, on_note
        self._due: float | None = None
        self._silent: frozenset[str] = frozenset()
        self._inherited = inherited
        self._foreign, self._foreign_due = "", -math.inf

    def foreign(self, lease: Lease) -> str:
        """A throttle of another client where a lease is to be set, as a phrase; empty without one.

        While there is one, it is read again from time to time only.
        """
        began = self._clock()
        if not self._foreign or began >= self._foreign_due:
            present, _ = present_throttles(self._cluster, lease)
            self._foreign = foreign_throttle(present, self._own() | self._inherited)
            self._foreign_due = self._next_read(began)
        return self._foreign

    def put_off(self, silent: Iterable[str] | None = None) -> None:
        """Throttles were just set; `silent` are the brokers that have not confirmed theirs."""
        self._due = self._clock() + INTERVAL_S
        self._silent = self._silent if silent is None else frozenset(silent)

    def keep(self, statuses: Statuses, seen: Observation) -> dict[TopicPartition, str]:
        """Set what is missing; returns waiting moves whose throttle others have taken away."""
        began = self._clock()
        if self._due is None:
            self.put_off()
        if self._due is not None and began < self._due:
            return {}
        lease = self._watched(statuses, seen)
        present, unreached = present_throttles(self._cluster, lease)
        shown, own = {each[:3]: each.value for each in present.settings()}, self._own()
        missing: list[Setting] = []
        outdated: list[Setting] = []
        uncovered: dict[TopicPartition, str] = {}
        for setting in lease.settings():
            if setting.scope == "broker" and setting.name in unreached:
                continue
            value = shown.get(setting[:3])
            if value is None:
                missing.append(setting)
            elif value == setting.value:
                continue
            elif setting._replace(value=value) in own:
                outdated.append(setting)
            else:
                uncovered |= self._changed(setting, value, statuses)
        self._set_again(missing, outdated)
        self._due = self._next_read(began)
        return uncovered

    def _next_read(self, began: float) -> float:
        return began + max(INTERVAL_S, (self._clock() - began) / SHARE)

    def rates_of_others(self, rates: Settings) -> set[tuple[str, str]]:
        """Brokers and configs among these whose rate another client has set."""
        shown = present_throttles(self._cluster, Lease(rates))[0].settings()
        own = self._own()
        found = {(each.name, each.config) for each in shown if each not in own}
        return {place for place in found if place[1] in rates[place[0]]}

    def _own(self) -> frozenset[Setting]:
        return self._files.record().own

    def _watched(self, statuses: Statuses, seen: Observation) -> Lease:
        """What the run has set on brokers that are up and on topics that still have moves."""
        lease = self._files.record().lease
        topics = {tp.topic for tp, status in statuses.items() if status in OPEN}
        return Lease(
            {name: v for name, v in lease.brokers.items() if BrokerId(int(name)) in seen.alive},
            {name: v for name, v in lease.topics.items() if name in topics},
        )

    def _set_again(self, missing: Sequence[Setting], outdated: Sequence[Setting]) -> None:
        if not missing and not outdated:
            return
        set_throttles(self._cluster, Lease.of([*missing, *outdated]))
        for place in dict.fromkeys(f"{each.scope} {each.name}" for each in outdated):
            self._note(f"{place} did not take its last throttle; it is set again")
        removed = [e for e in missing if e.scope == "topic" or e.name not in self._silent]
        for place in dict.fromkeys(f"{each.scope} {each.name}" for each in removed):
            self._note(
                f"the throttle of {place} was removed by another client and is set again; "
                "kedge throttle --rate changes it"
            )

    def _changed(
        self, setting: Setting, value: str, statuses: Statuses
    ) -> dict[TopicPartition, str]:
        self._note(
            f"{setting.config} of {setting.scope} {setting.name} was changed by another client to "
            f"{value}; it is left as it is"
        )
        named = set(value.split(","))
        if setting.scope == "broker" or EVERY_REPLICA in named:
            return {}
        why = f"{setting.config} of topic {setting.name} was changed by another client"
        lacking = {each.partition(":")[0] for each in set(setting.value.split(",")) - named}
        return {
            change.tp: why
            for change in self._changes
            if change.tp.topic == setting.name
            and str(change.tp.partition) in lacking
            and statuses[change.tp] is MoveStatus.WAITING
        }
