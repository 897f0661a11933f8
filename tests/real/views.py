"""What each broker knows of the partitions. All learn of a change, each at its own time."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.protocol.messages import MetadataRequest, MetadataResponse
from tests.endpoint.client import Client

VERSION = 9


@dataclass(frozen=True, slots=True)
class Seen:
    """A partition as one broker knows it."""

    leader: int
    replicas: tuple[int, ...]
    isr: frozenset[int]


@dataclass(frozen=True, slots=True)
class View:
    """What one broker knows: who is there, and the partitions."""

    brokers: frozenset[int]
    partitions: dict[tuple[str, int], Seen]

    @property
    def in_sync(self) -> bool:
        """Whether every replica on a broker that is there is in its ISR."""
        return all(
            self.brokers.intersection(seen.replicas) <= seen.isr
            for seen in self.partitions.values()
        )


def views(bootstrap: str) -> list[View]:
    """The view of each broker that answers."""
    found: list[View] = []
    for address in bootstrap.split(","):
        try:
            with Client(int(address.rpartition(":")[2])) as client:
                found.append(_view(client))
        except ConnectionError:
            continue  # it is stopped
    return found


def of_one_mind(bootstrap: str) -> bool:
    """Whether all brokers know the same."""
    return _shared(bootstrap) is not None


def at_rest(bootstrap: str) -> bool:
    """Whether all brokers know the same, and every replica that can be in sync is."""
    shared = _shared(bootstrap)
    return shared is not None and shared.in_sync


def _shared(bootstrap: str) -> View | None:
    """What all brokers know, if that is one thing."""
    first, *others = views(bootstrap)
    return first if all(other == first for other in others) else None


def _view(client: Client) -> View:
    answer = client.ask(MetadataRequest(topics=None), MetadataResponse, VERSION)
    return View(
        frozenset(broker.node_id for broker in answer.brokers),
        {
            (str(topic.name), p.partition_index): Seen(
                p.leader_id, tuple(p.replica_nodes), frozenset(p.isr_nodes)
            )
            for topic in answer.topics
            for p in topic.partitions
        },
    )
