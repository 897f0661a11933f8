"""Kedge's controller on the memory store: how much of the time is its own.

No Kafka here: its controller has no such store. The peer is a lower bound, the bare round of reads
or writes that the decision needs, on the same store in the same run. One thread works and nothing
is waited for, so times are the processor's: on a machine of one's own the clock shows the same.
"""

from __future__ import annotations

import gc

from bench.controller.cluster import Topic, register_brokers, write_topic
from bench.controller.measuring import cpu_seconds_of, timing
from bench.controller.sides import KedgeSide
from bench.report import BenchRow
from kedge.model import BrokerId, TopicPartition
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.store import MemoryStore
from kedge.store.port import Delete, GetData, SetData
from kedge.store.znodes import broker_path, encode_state, state_path

_ROUNDS = 3


def failover(*, topics: int = 2_000, partitions: int = 100, brokers: int = 100) -> BenchRow:
    """Take over a large cluster that has nothing wrong."""
    cluster = _cluster([Topic(f"t{n:05d}", partitions, 3, brokers) for n in range(topics)], brokers)
    paths = [
        state_path(TopicPartition(f"t{n:05d}", p)) for n in range(topics) for p in range(partitions)
    ]
    ours: list[float] = []
    bound: list[float] = []
    for _ in range(_ROUNDS):
        side = KedgeSide("")
        store = MemoryStore(cluster.ensemble)
        ours.append(cpu_seconds_of(lambda: side.take_over(store)))  # noqa: B023
        side.stop()
        bound.append(cpu_seconds_of(lambda: cluster.batch([GetData(path) for path in paths])))
    return BenchRow(
        f"failover, {topics * partitions:,} partitions × 3 on {brokers} brokers, in memory",
        timing(ours),
        "one batch that reads the states",
        timing(bound),
    )


def broker_failure(*, led: int = 20_000) -> BenchRow:
    """Lose a broker that leads everything: each partition goes offline and online again."""
    ours, bound = zip(*(_lose_broker(led) for _ in range(_ROUNDS)), strict=True)
    took = timing(list(ours))
    return BenchRow(
        f"broker failure, {led:,} led partitions × 3, in memory",
        took,
        "one batch that writes the states",
        timing(list(bound)),
        note=f"{2 * led / took.best:,.0f} partition transitions a second",
    )


def _lose_broker(led: int) -> tuple[float, float]:
    topic = Topic("led", led, 3, 3, step=0)
    cluster = _cluster([topic], 3)
    side = KedgeSide("")
    side.start_on(MemoryStore(cluster.ensemble))
    cluster.batch([Delete(broker_path(BrokerId(0)))])
    gc.collect()
    ours = cpu_seconds_of(side.loop.run_until_idle)
    leaders = {now.leader for now in side.loop.context.leaderships.values()}
    if leaders != {1}:
        raise AssertionError(f"the lost leader was replaced by {leaders}")
    side.stop()
    writes = [SetData(state_path(tp), encode_state(now)) for tp, now in topic.states()]
    return ours, cpu_seconds_of(lambda: cluster.batch(writes))


def _cluster(topics: list[Topic], brokers: int) -> MemoryStore:
    store = MemoryStore()
    create_persistent_nodes(store)
    register_brokers(store, brokers)
    for topic in topics:
        write_topic(store, topic)
    return store
