"""The health of a cluster outside of a run, as phrases."""

from __future__ import annotations

from kedge.execution.health import PartitionHealth, health_of
from kedge.model import BrokerId, TopicPartition

ONE, TWO = BrokerId(1), BrokerId(2)


def short(topic: str, partition: int = 0) -> PartitionHealth:
    return PartitionHealth(TopicPartition(topic, partition), (ONE, TWO), (ONE,))


def test_topics_of_users_are_named_before_internal_ones() -> None:
    found = [short("__transaction_state", number) for number in range(5)]
    health = health_of([*found, short("orders")], frozenset({ONE}), {}, ())
    assert health.problems == [
        "broker 2 is down",
        "6 under-replicated partitions (orders-0, __transaction_state-0, __transaction_state-1, …)",
    ]
