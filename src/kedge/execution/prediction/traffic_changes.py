"""Live traffic on links, disks and throttles, and how moves change it.

A leader sends what producers append to each follower in sync. Kafka counts those bytes for the
throttle too, where the topic lists the replica (KIP-73), although it never delays a replica that
is in sync: what is left of the rate is for copies. The lists stay until the run ends, so a replica
that has caught up goes on taking its part of the rate of its broker.

    rate 10 MB/s, broker 1 leads listed partitions with 4 MB/s appended, each with two followers
    8 MB/s of the rate go to the followers; copies out of broker 1 get 2 MB/s
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from kedge.execution.prediction.environment import Environment
from kedge.execution.prediction.flow_model import ResourceKind
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica


class ResourceIndex(Protocol):
    """Numbers of resources."""

    def resource(self, kind: ResourceKind, broker: BrokerId) -> int: ...
    def disk_resource(self, broker: BrokerId, path: str | None) -> int: ...
    def current_dir(self, replica: PartitionReplica) -> str | None: ...


class Led(NamedTuple):
    """A change, with the broker that its copies come from."""

    change: Change
    leader: BrokerId

    @staticmethod
    def of(change: Change, leaders: Mapping[TopicPartition, BrokerId | None]) -> Led:
        """The leader is the first replica where it is unknown."""
        leader = leaders.get(change.tp)
        if leader is None or leader not in change.before:
            leader = change.before[0]
        return Led(change, leader)


@dataclass(slots=True)
class Traffic:
    """Bytes per second on resources: of listed replicas before, and the changes of all traffic."""

    index: ResourceIndex
    throttled: bool
    before: dict[int, float] = field(default_factory=lambda: defaultdict[int, float](float))
    when_in_sync: list[dict[int, float]] = field(default_factory=list[dict[int, float]])
    when_ended: list[dict[int, float]] = field(default_factory=list[dict[int, float]])

    def add_copy(self, led: Led, broker: BrokerId, path: str, appended: float) -> None:
        """What a new replica takes once it is in sync."""
        if not appended:
            self.when_in_sync.append({})
            return
        places = [
            self.index.resource(ResourceKind.OUT_LINK, led.leader),
            self.index.resource(ResourceKind.IN_LINK, broker),
            self.index.disk_resource(broker, path),
        ]
        if self.throttled:
            places.append(self.index.resource(ResourceKind.OUT_THROTTLE, led.leader))
            places.append(self.index.resource(ResourceKind.IN_THROTTLE, broker))
        self.when_in_sync.append(_known(dict.fromkeys(places, appended)))

    def add_copy_within(self, broker: BrokerId, path: str, appended: float) -> None:
        """What a replica in another directory of its broker writes there."""
        disk = self.index.disk_resource(broker, path)
        self.when_in_sync.append(_known({disk: appended} if appended else {}))

    def add_end(self, led: Led, appended: float, consumed: float) -> None:
        """What removed replicas no longer take, and what a new leader sends."""
        changes: dict[int, float] = defaultdict(float)
        change, leader = led.change, led.leader

        def add(kind: ResourceKind, broker: BrokerId, amount: float) -> None:
            if kind < ResourceKind.OUT_THROTTLE or self.throttled:
                changes[self.index.resource(kind, broker)] += amount

        for broker in change.removed if appended or consumed else ():
            path = self.index.current_dir(PartitionReplica(*change.tp, broker))
            changes[self.index.disk_resource(broker, path)] -= appended
            add(ResourceKind.IN_LINK, broker, -appended)
            if leader in change.after:
                add(ResourceKind.OUT_LINK, leader, -appended)
                add(ResourceKind.OUT_THROTTLE, leader, -appended)
        if leader not in change.after and (appended or consumed):
            followers = len(change.before) - 1 + len(change.added)
            new, left = change.after[0], len(change.after) - 1
            add(ResourceKind.OUT_LINK, leader, -consumed - followers * appended)
            add(ResourceKind.OUT_THROTTLE, leader, -followers * appended)
            add(ResourceKind.OUT_LINK, new, consumed + left * appended)
            if new in change.before:  # the list of leaders has the replicas of before
                add(ResourceKind.OUT_THROTTLE, new, left * appended)
            else:
                add(ResourceKind.IN_THROTTLE, new, -appended)
        self.when_ended.append(_known(changes))


def traffic_of(
    changes: Sequence[Change],
    leaders: Mapping[TopicPartition, BrokerId | None],
    environment: Environment,
    index: ResourceIndex,
    *,
    throttled: bool,
) -> Traffic:
    """The traffic of the listed replicas before the first move, and what each move changes."""
    traffic = Traffic(index, throttled)
    listed = {change.tp.topic for change in changes if change.added}
    for change in changes:
        led = Led.of(change, leaders)
        appended = environment.appended.get(change.tp, 0.0)
        if throttled and appended and change.tp.topic in listed:
            place = index.resource(ResourceKind.OUT_THROTTLE, led.leader)
            traffic.before[place] += appended * (len(change.before) - 1)
        traffic.add_end(led, appended, environment.consumed.get(change.tp, 0.0))
    return traffic


def _known(changes: Mapping[int, float]) -> dict[int, float]:
    """Without resources that are unknown, and without changes of nothing."""
    return {place: amount for place, amount in changes.items() if place >= 0 and amount}
