"""The cluster that both controllers are given, and where it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from secrets import token_bytes

from kedge.model import Broker, BrokerId, Endpoint, Leadership, ReplicaAssignment, TopicPartition
from kedge.store.port import Children, Create, Delete, GetChildren, Request, SetData, Store
from kedge.store.znodes import (
    BrokerRegistration,
    TopicAssignment,
    broker_path,
    encode_broker,
    encode_state,
    encode_topic,
    partition_path,
    partitions_path,
    state_path,
    topic_path,
)
from kedge.topics import new_topic_id

BROKERS = 6
_TOGETHER = 10_000


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic whose replicas go round the brokers."""

    name: str
    partitions: int
    replication_factor: int
    brokers: int = BROKERS
    step: int = 1  # how far the leader of the next partition is; 0 if one leads them all

    @property
    def replicas_in_all(self) -> int:
        return self.partitions * self.replication_factor

    def replicas(self, partition: int) -> tuple[BrokerId, ...]:
        """The brokers of one partition; the first leads it."""
        first = partition * self.step
        places = range(first, first + self.replication_factor)
        return tuple(BrokerId(place % self.brokers) for place in places)

    def record(self) -> bytes:
        """The topic's node."""
        assigned = {p: ReplicaAssignment(self.replicas(p)) for p in range(self.partitions)}
        return encode_topic(TopicAssignment(assigned, new_topic_id(token_bytes)))

    def states(self) -> Iterator[tuple[TopicPartition, Leadership]]:
        """What a controller has decided about it before: every first replica leads."""
        for partition in range(self.partitions):
            replicas = self.replicas(partition)
            yield TopicPartition(self.name, partition), Leadership(replicas[0], replicas, 0, 0, 1)


def register_brokers(store: Store, count: int = BROKERS) -> None:
    """Registrations that live as long as this session."""
    store.batch([registration(BrokerId(broker)) for broker in range(count)])


def registration(broker: BrokerId) -> Create:
    """The node by which a broker is known."""
    endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092, "PLAINTEXT")
    known = BrokerRegistration(Broker(broker, endpoints=(endpoint,)), timestamp_ms=0)
    return Create(broker_path(broker), encode_broker(known), ephemeral=True)


def create_topic(store: Store, topic: Topic) -> None:
    """The order to create it: what is left to do is the controller's."""
    store.batch([Create(topic_path(topic.name), topic.record())])


def reset_states(store: Store, topic: Topic) -> None:
    """Every first replica leads again, as if nothing had happened."""
    requests = [SetData(state_path(tp), encode_state(now)) for tp, now in topic.states()]
    store.batch(requests)


def write_topic(store: Store, topic: Topic) -> None:
    """A topic that is there already, with all its states."""
    create_topic(store, topic)
    store.batch([Create(partitions_path(topic.name))])
    requests = _state_requests(topic)
    while some := list(islice(requests, _TOGETHER)):
        store.batch(some)


def _state_requests(topic: Topic) -> Iterator[Request]:
    for tp, leadership in topic.states():
        yield Create(partition_path(tp))
        yield Create(state_path(tp), encode_state(leadership))


def remove_tree(store: Store, root: str) -> None:
    """Remove a node with everything below it."""
    levels = [[root]]
    while levels[-1]:
        levels.append(_children(store, levels[-1]))
    store.batch([Delete(path) for level in reversed(levels) for path in level])


def _children(store: Store, parents: list[str]) -> list[str]:
    answers = store.batch([GetChildren(path) for path in parents])
    return [
        f"{path}/{name}"
        for path, answer in zip(parents, answers, strict=True)
        if isinstance(answer, Children)
        for name in answer.names
    ]
