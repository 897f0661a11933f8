"""Small clusters for the tests of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kedge.model import Broker, BrokerId
from kedge.topics import ClusterView, at_rest
from kedge.topics.view import Partitions


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    """Broker ids."""
    return tuple(map(BrokerId, numbers))


def brokers(*racks: str | None) -> tuple[Broker, ...]:
    """Brokers 0, 1, 2, … with these racks."""
    return tuple(Broker(BrokerId(i), rack) for i, rack in enumerate(racks))


def topic(*replicas: Sequence[int]) -> Partitions:
    """A topic at rest: one list for each partition."""
    return at_rest({pid: ids(*numbers) for pid, numbers in enumerate(replicas)})


def view(topics: Mapping[str, Partitions] | None = None, count: int = 3) -> ClusterView:
    """So many brokers without racks, and these topics."""
    return ClusterView(brokers=brokers(*[None] * count), topics=topics or {})


def zero(size: int) -> int:
    """Always the first."""
    assert size > 0
    return 0


def draws(*numbers: int) -> Callable[[int], int]:
    """These numbers, one after the other."""
    left = list(numbers)
    return lambda size: left.pop(0) % size
