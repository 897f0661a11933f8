"""--generate: which brokers, how many replicas, which numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from kedge.errors import InconsistentRacks, UnknownTopicOrPartition
from kedge.model import Broker, BrokerId
from kedge.plan import Proposal, propose

ALIVE = [Broker(BrokerId(number)) for number in (3, 1, 2)]
RACKED = [Broker(BrokerId(number), rack="r") for number in (1, 2)]


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


CURRENT = {
    "gaps": {40: ids(9, 1, 2), 10: ids(1, 2), 21: ids(2, 1)},
    "plain": {0: ids(1)},
}


@dataclass
class Ring:
    """Places round and round, and remembers what it was asked."""

    asked: list[tuple[Sequence[Broker], int, int]] = field(
        default_factory=list[tuple[Sequence[Broker], int, int]]
    )

    def __call__(
        self, brokers: Sequence[Broker], *, partitions: int, replication_factor: int
    ) -> Mapping[int, Sequence[BrokerId]]:
        self.asked.append((brokers, partitions, replication_factor))
        return {
            p: [brokers[(p + r) % len(brokers)].id for r in range(replication_factor)]
            for p in range(partitions)
        }


def proposal(
    ring: Ring,
    *topics: str,
    alive: Sequence[Broker] = ALIVE,
    requested: Sequence[BrokerId] = ids(1, 2, 3),
    rack_aware: bool = True,
) -> Proposal:
    return propose(
        topics,
        current=CURRENT,
        alive=alive,
        requested=requested,
        rack_aware=rack_aware,
        place=ring,
    )


def test_brokers_that_are_not_alive_are_left_out_silently() -> None:
    ring = Ring()
    proposal(ring, "plain", requested=ids(77, 3, 1))
    assert [broker.id for broker in ring.asked[0][0]] == [1, 3]


def test_a_topic_with_gaps_is_numbered_from_0_with_the_factor_of_its_lowest_partition() -> None:
    ring = Ring()
    found = proposal(ring, "gaps")
    assert ring.asked[0][1:] == (3, 2)
    assert [tp.partition for tp in found.proposed] == [0, 1, 2]
    assert [tp.partition for tp in found.current] == [10, 21, 40]


def test_the_report_has_both_layouts_as_files() -> None:
    assert proposal(Ring(), "plain").lines == [
        "Current partition replica assignment",
        '{"version":1,"partitions":'
        '[{"topic":"plain","partition":0,"replicas":[1],"log_dirs":["any"]}]}',
        "",
        "Proposed partition reassignment configuration",
        '{"version":1,"partitions":'
        '[{"topic":"plain","partition":0,"replicas":[1],"log_dirs":["any"]}]}',
    ]


def test_no_topics_are_an_empty_proposal() -> None:
    assert proposal(Ring()) == Proposal({}, {})


def test_an_unknown_topic_is_refused_before_the_racks_are_looked_at() -> None:
    with pytest.raises(UnknownTopicOrPartition, match="topic gone not found"):
        proposal(Ring(), "plain", "gone", alive=[*RACKED, ALIVE[0]])


def test_racks_on_some_brokers_only_are_refused_unless_ignored() -> None:
    mixed = [*RACKED, ALIVE[0]]
    with pytest.raises(InconsistentRacks, match="broker 3 has no rack"):
        proposal(Ring(), "plain", alive=mixed)
    ring = Ring()
    proposal(ring, "plain", alive=mixed, rack_aware=False)
    assert {broker.rack for broker in ring.asked[0][0]} == {None}


def test_only_the_racks_of_requested_brokers_count() -> None:
    ring = Ring()
    proposal(ring, "plain", alive=[*RACKED, ALIVE[0]], requested=ids(1, 2))
    assert {broker.rack for broker in ring.asked[0][0]} == {"r"}
