"""What changed between two images, in the values that brokers and caches take over.

A broker of Kafka 4 reads records and compares its image before and after: partitions that it leads
or follows now, replicas that are not its own any more, and metadata for its clients. The simulated
broker takes the same in the values of `kedge.model.broker_requests`.

Images share what did not change, so a topic is compared only if it is another object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from kedge.metadata import Image, Partition, Topic
from kedge.metadata.image import BrokerRegistration
from kedge.metadata.records import RECOVERED
from kedge.model import (
    NO_LEADER,
    Broker,
    BrokerId,
    Leadership,
    Recovery,
    ReplicaAssignment,
    TopicPartition,
)
from kedge.model import Endpoint as Address
from kedge.model.broker_requests import (
    DELETED_LEADER,
    LeaderAndIsrEntry,
    MetadataEntry,
)

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


@dataclass(frozen=True)
class ImageDelta:
    """The difference between two images; made once for all brokers that go this way."""

    before: Image
    after: Image

    @cached_property
    def topics(self) -> tuple[tuple[Topic | None, Topic | None], ...]:
        """Each topic that differs, before and after."""
        return tuple(self._topics())

    def _topics(self) -> Iterator[tuple[Topic | None, Topic | None]]:
        old, new = self.before.topics, self.after.topics
        if old is new:
            return
        for topic_id in old:
            now = new.get(topic_id)
            if now is not old[topic_id]:
                yield old[topic_id], now
        for topic_id in new:
            if topic_id not in old:
                yield None, new[topic_id]

    @cached_property
    def metadata(self) -> Mapping[TopicPartition, MetadataEntry]:
        """What clients see of the changed partitions."""
        active = {broker.id for broker in self.after.brokers.values() if not broker.fenced}
        changed: dict[TopicPartition, MetadataEntry] = {}
        for old, new in self.topics:
            for number, partition in _changed(old, new):
                name = _name(old, new)
                changed[TopicPartition(name, number)] = _entry(partition, active)
        if self._active_before() != active:
            changed.update(self._everywhere_else(active, changed))
        return changed

    def _active_before(self) -> set[int]:
        return {broker.id for broker in self.before.brokers.values() if not broker.fenced}

    def _everywhere_else(
        self, active: set[int], known: Mapping[TopicPartition, MetadataEntry]
    ) -> Iterator[tuple[TopicPartition, MetadataEntry]]:
        """Partitions with a replica that went offline or came back."""
        switched = self._active_before() ^ active
        for topic_id in self.after.topics:
            topic = self.after.topics[topic_id]
            for number, now in topic.partitions.items():
                tp = TopicPartition(topic.name, number)
                if tp not in known and not switched.isdisjoint(now.replicas):
                    yield tp, _entry(now, active)

    @cached_property
    def topic_ids(self) -> Mapping[str, str]:
        """The ids of all topics, by name."""
        names = {tp.topic for tp in self.metadata}
        ids = self.after.topic_ids
        return {name: ids[name] for name in names if name in ids}

    @cached_property
    def live_brokers(self) -> tuple[Broker, ...]:
        """The brokers that are not fenced."""
        found = sorted(self.after.brokers.items())
        return tuple(described(broker) for _, broker in found if not broker.fenced)

    def roles_of(self, broker: int) -> dict[TopicPartition, LeaderAndIsrEntry]:
        """The changed partitions that a broker leads or follows now."""
        return {
            TopicPartition(new.name, number): role_in(now, is_new=not _held(old, number, broker))
            for old, new in self.topics
            if new is not None
            for number, now in new.partitions.items()
            if broker in now.replicas and (old is None or old.partitions.get(number) is not now)
        }

    def stopped_on(self, broker: int) -> list[TopicPartition]:
        """Partitions that a broker has no replica of any more."""
        return [
            TopicPartition(old.name, number)
            for old, new in self.topics
            if old is not None
            for number, was in old.partitions.items()
            if broker in was.replicas and not _held(new, number, broker)
        ]


def role_in(now: Partition, *, is_new: bool) -> LeaderAndIsrEntry:
    """A partition as a replica takes it over."""
    return LeaderAndIsrEntry(leadership_of(now), assignment_of(now), is_new)


def leadership_of(now: Partition) -> Leadership:
    """Leader, ISR and epochs."""
    recovery = Recovery.RECOVERED if now.recovery == RECOVERED else Recovery.RECOVERING
    return Leadership(
        BrokerId(now.leader if now.has_leader else NO_LEADER),
        tuple(map(BrokerId, now.isr)),
        now.leader_epoch,
        now.epoch,
        0,
        recovery,
    )


def assignment_of(now: Partition) -> ReplicaAssignment:
    """Replicas, and those being added and removed."""
    return ReplicaAssignment(
        tuple(map(BrokerId, now.replicas)),
        tuple(map(BrokerId, now.adding)),
        tuple(map(BrokerId, now.removing)),
    )


def described(broker: BrokerRegistration) -> Broker:
    """A registered broker as clients see it."""
    endpoints = tuple(
        Address(at.name, at.host, at.port, SECURITY_PROTOCOLS[at.security_protocol])
        for at in broker.endpoints
    )
    return Broker(BrokerId(broker.id), broker.rack, endpoints=endpoints)


def _changed(old: Topic | None, new: Topic | None) -> Iterator[tuple[int, Partition | None]]:
    nothing: Mapping[int, Partition] = {}
    was = old.partitions if old else nothing
    now = new.partitions if new else nothing
    for number, partition in now.items():
        if was.get(number) is not partition:
            yield number, partition
    for number in was:
        if number not in now:
            yield number, None


def _name(old: Topic | None, new: Topic | None) -> str:
    found = old or new
    assert found is not None
    return found.name


def _entry(now: Partition | None, active: set[int]) -> MetadataEntry:
    if now is None:
        return MetadataEntry(Leadership(DELETED_LEADER, ()), (), ())
    offline = tuple(BrokerId(b) for b in now.replicas if b not in active)
    return MetadataEntry(leadership_of(now), tuple(map(BrokerId, now.replicas)), offline)


def _held(topic: Topic | None, number: int, broker: int) -> bool:
    at = None if topic is None else topic.partitions.get(number)
    return at is not None and broker in at.replicas
