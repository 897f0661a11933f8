"""Kafka's controller and Kedge's, in turns, on one ZooKeeper.

An interval begins and ends outside the controllers where that is possible: ZooKeeper itself notes
when a node came to be. Where brokers are told, the moment counts at which the last request is
handed over. After every round both must have left the same states.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from kazoo.client import KazooClient

from bench.controller.cluster import (
    BROKERS,
    Topic,
    create_topic,
    register_brokers,
    registration,
    remove_tree,
    reset_states,
    write_topic,
)
from bench.controller.measuring import now_ms, timing
from bench.controller.sides import Side
from bench.report import BenchRow
from kedge.model import BrokerId, Leadership
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.store.port import Delete, GetData, Node, Store
from kedge.store.znodes import CONTROLLER, broker_path, decode_state, state_path, topic_path
from kedge.store.zookeeper import ZooKeeperStore

NEW = Topic("new", 2_000, 3)
SMALL = Topic("small", 60, 3)
LARGE = (Topic("three", 2_000, 3), Topic("one", 8_000, 1))
WARMUPS = 3
ROUNDS = 4
LOST = BrokerId(BROKERS - 1)


@dataclass
class Observer:
    """What is seen from outside: when nodes came to be, and what states were left."""

    store: Store
    client: Any  # of kazoo, which has no types
    kept: dict[str, list[tuple[int, ...]]] = field(default_factory=dict[str, Any])

    def created_ms(self, paths: Iterable[str]) -> int:
        """When the last of these nodes was created, by the server's clock."""
        asked = [self.client.exists_async(path) for path in paths]
        return max(int(each.get().ctime) for each in asked)

    def compare(self, what: str, topics: Iterable[Topic]) -> None:
        """Every round of a row must leave the same leaders, ISRs and epochs."""
        paths = {tp: state_path(tp) for topic in topics for tp, _ in topic.states()}
        answers = self.store.batch([GetData(path) for path in paths.values()])
        left = [
            _decided(decode_state(tp, answer.data, 0))
            for tp, answer in zip(paths, answers, strict=True)
            if isinstance(answer, Node)
        ]
        if len(left) != len(paths) or self.kept.setdefault(what, left) != left:
            raise AssertionError(f"{what}: Kedge and Kafka left different states")


def _decided(state: Leadership) -> tuple[int, ...]:
    return state.leader, state.leader_epoch, *state.isr


# ---- rounds: seconds by what is measured ---------------------------------------------------------

Seconds = dict[str, float]
Round = Callable[[Observer, Side], Seconds]

STORED = "create 2,000 partitions × 3, until the last state is stored"
TOLD = "create 2,000 partitions × 3, until the brokers are told"
FAILOVER = "failover, 10,000 partitions"
BROKER_LOST = "broker failure, 10,000 partitions, one broker of 6"


def create(observer: Observer, side: Side) -> Seconds:
    """From the topic's node to its last state, and to the last broker told."""
    side.start()
    create_topic(observer.store, NEW)
    told = side.told(NEW.replicas_in_all)
    ordered = observer.created_ms([topic_path(NEW.name)])
    stored = observer.created_ms([state_path(tp) for tp, _ in NEW.states()])
    side.stop()
    observer.compare("creation", [NEW])
    remove_tree(observer.store, topic_path(NEW.name))
    return {STORED: (stored - ordered) / 1000, TOLD: (told.last_ms - ordered) / 1000}


def failover(observer: Observer, side: Side) -> Seconds:
    """From the claim of the role to the end of the take-over."""
    took_over = side.start()
    claimed = observer.created_ms([CONTROLLER])
    side.stop()
    if took_over.replicas != sum(topic.replicas_in_all for topic in (SMALL, *LARGE)):
        raise AssertionError(f"failover: {took_over.replicas} replicas were told")
    observer.compare("failover", LARGE)
    return {FAILOVER: (took_over.done_ms - claimed) / 1000}


def broker_failure(observer: Observer, side: Side) -> Seconds:
    """From the end of a registration to the last broker told of the new leaders."""
    side.start()
    began = now_ms()
    observer.store.batch([Delete(broker_path(LOST))])
    told = side.told(1)
    side.stop()
    observer.compare("broker failure", LARGE)
    observer.store.batch([registration(LOST)])
    for topic in (SMALL, *LARGE):
        reset_states(observer.store, topic)
    return {BROKER_LOST: (told.last_ms - began) / 1000}


# ---- all of them ---------------------------------------------------------------------------------


def rows(address: str, kafka: Side, kedge: Side) -> list[BenchRow]:
    """Every measurement on this ZooKeeper, which must be empty."""
    with _observer(address) as observer:
        create_persistent_nodes(observer.store)
        register_brokers(observer.store)
        write_topic(observer.store, SMALL)
        found = _in_turns(observer, kafka, kedge, create)
        for topic in LARGE:
            write_topic(observer.store, topic)
        found += _in_turns(observer, kafka, kedge, failover)
        found += _in_turns(observer, kafka, kedge, broker_failure)
        return found


def _in_turns(observer: Observer, kafka: Side, kedge: Side, one: Round) -> list[BenchRow]:
    """Kafka first warms up: its first rounds are the compiler's, and are not counted."""
    for _ in range(WARMUPS):
        one(observer, kafka)
    theirs, ours = zip(
        *((one(observer, kafka), one(observer, kedge)) for _ in range(ROUNDS)), strict=True
    )
    return [
        BenchRow(
            what,
            timing([each[what] for each in ours]),
            "Kafka's `KafkaController`",
            timing([each[what] for each in theirs]),
        )
        for what in theirs[0]
    ]


@contextlib.contextmanager
def _observer(address: str) -> Generator[Observer]:
    store = ZooKeeperStore(address)
    client = KazooClient(hosts=address)
    client.start()
    try:
        yield Observer(store, client)
    finally:
        client.stop()
        client.close()
        store.close()
