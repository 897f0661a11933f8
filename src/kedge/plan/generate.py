"""`--generate`: a new assignment of some topics over some brokers.

It is not a minimal move. Every topic is placed anew as if it were created now, whatever its
replicas are; what it has stays only by chance. The rules (those of Kafka's tool):

- of the brokers asked for, those alive are used and the others are silently left out;
- rack awareness is all or nothing: some brokers with a rack and some without are refused, unless
  racks are to be ignored;
- the number of replicas is that of the topic's lowest partition;
- partitions are numbered from 0, also for a topic whose numbers have gaps.

Where replicas go is not known here: the placement, with its random start, arrives as a
function that is called once per topic, in the order of their names.

    topic t, partitions 0 and 1 on [1,2] and [2,1], brokers asked for 2,3,9, alive 1,2,3
    place((2, 3), partitions=2, replication_factor=2)  →  t-0 [2,3]   t-1 [3,2]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kedge.errors import InconsistentRacks, UnknownTopicOrPartition
from kedge.model import Broker, BrokerId, TopicPartition
from kedge.plan.kafka_json import Replicas
from kedge.plan.kafka_text import reassignment_text

Layout = Mapping[TopicPartition, Replicas]


class Place(Protocol):
    """Places the partitions of one new topic, numbered from 0."""

    def __call__(
        self, brokers: Sequence[Broker], *, partitions: int, replication_factor: int
    ) -> Mapping[int, Sequence[BrokerId]]: ...


@dataclass(frozen=True, slots=True)
class Proposal:
    """What `--generate` shows: the layout that is and the one that could be."""

    current: Layout
    proposed: Layout

    @property
    def lines(self) -> list[str]:
        """The report; both texts can be saved as reassignment files."""
        return [
            "Current partition replica assignment",
            reassignment_text(self.current),
            "",
            "Proposed partition reassignment configuration",
            reassignment_text(self.proposed),
        ]


def propose(
    topics: Iterable[str],
    *,
    current: Mapping[str, Mapping[int, Sequence[BrokerId]]],
    alive: Iterable[Broker],
    requested: Iterable[BrokerId],
    rack_aware: bool,
    place: Place,
) -> Proposal:
    """A fresh layout of `topics` on the requested brokers; `current` is by topic and partition."""
    wanted = sorted(topics)
    for topic in wanted:
        if topic not in current:
            raise UnknownTopicOrPartition(f"topic {topic} not found")
    brokers = usable_brokers(alive, requested, rack_aware=rack_aware)
    proposed: dict[TopicPartition, Replicas] = {}
    for topic in wanted:
        layout = fresh_layout(current[topic], brokers, place=place)
        proposed |= {TopicPartition(topic, p): tuple(ids) for p, ids in layout.items()}
    return Proposal(present_layout(wanted, current), proposed)


def present_layout(
    topics: Iterable[str], current: Mapping[str, Mapping[int, Sequence[BrokerId]]]
) -> dict[TopicPartition, Replicas]:
    """The replicas of some topics as they are."""
    return {
        TopicPartition(topic, partition): tuple(ids)
        for topic in topics
        for partition, ids in sorted(current[topic].items())
    }


def fresh_layout(
    partitions: Mapping[int, Sequence[BrokerId]], brokers: Sequence[Broker], *, place: Place
) -> Mapping[int, Sequence[BrokerId]]:
    """One topic placed anew, with as many partitions and replicas as it has."""
    rf = len(partitions[min(partitions)])
    return place(brokers, partitions=len(partitions), replication_factor=rf)


def usable_brokers(
    alive: Iterable[Broker], requested: Iterable[BrokerId], *, rack_aware: bool
) -> tuple[Broker, ...]:
    """The requested brokers that are alive, ascending; without racks unless these count."""
    asked = set(requested)
    brokers = sorted((b for b in alive if b.id in asked), key=lambda broker: broker.id)
    if not rack_aware:
        return tuple(replace(broker, rack=None) for broker in brokers)
    bare = [broker.id for broker in brokers if broker.rack is None]
    if 0 < len(bare) < len(brokers):
        raise InconsistentRacks(
            f"broker {bare[0]} has no rack and others have one",
            hint="give every broker a rack, or add --disable-rack-aware",
        )
    return tuple(brokers)
