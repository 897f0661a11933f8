"""`python -m tests.real.kill_rounds --rounds 20`: brokers killed one after the other under a
producer that wants every record kept; how soon others lead, and whether every record is there once.

The clock starts when ZooKeeper has given the killed broker up (its registration is gone). It is
read when the last new leader is stored, by ZooKeeper's own time, which is the controller's work;
and again when every other broker has taken its part and makes it known, which is the brokers'.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from kazoo.client import KazooClient

from jvm import memory_directory
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import Election, TopicCreation
from kedge.protocol.messages import MetadataRequest, MetadataResponse
from tests.endpoint.client import Client
from tests.real.identified import IdentifiedProducer, lost_and_doubled
from tests.real.kedge_cluster import Run, kedge_cluster, until

BROKERS = (1, 2, 3)
STREAM, WIDE = "stream", "wide"
PARTITIONS = 6  # of the topic that is written to
RECORDS_BEFORE = 500
REST_S = 180.0
KEEP = {"min.insync.replicas": "2"}
# small indexes: a broker that was killed looks through all of them when it comes back
SETTINGS = {"log.index.size.max.bytes": "65536"}


@dataclass
class Outcome:
    """What came of some rounds."""

    acked: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    elected_ms: list[float] = field(default_factory=list[float])
    known_ms: list[float] = field(default_factory=list[float])

    @property
    def is_clean(self) -> bool:
        return self.acked > 0 and not (self.failed or self.lost or self.doubled)


def kill_rounds(cluster: Run, rounds: int, *, wide: int = 0) -> Outcome:
    """Kill brokers in turn, with so many partitions besides those that are written to."""
    stream = f"{STREAM}-{time.monotonic_ns()}"
    sizes = {stream: PARTITIONS} | ({WIDE: wide} if wide else {})
    make_topics(cluster, sizes)
    outcome = Outcome()
    producer = IdentifiedProducer(cluster.fleet.bootstrap, stream, name="p").start()
    for number in range(rounds):
        enough = len(producer.acked) + RECORDS_BEFORE
        until(lambda enough=enough: len(producer.acked) > enough, REST_S)
        victim = BROKERS[number % len(BROKERS)]
        led = led_by(cluster, victim, sizes)
        cluster.fleet.kill(victim)
        elected, known = await_leaders(cluster, victim, sizes, led)
        outcome.elected_ms.append(elected)
        outcome.known_ms.append(known)
        words = f"elected after {elected:.0f} ms, known after {known:.0f}"
        print(f"round {number + 1}: {words}", file=sys.stderr, flush=True)
        cluster.fleet.start_broker(victim)
        until(lambda: is_whole(cluster, sizes), REST_S, 0.2)
        elect_preferred(cluster)
    producer.stop()
    outcome.acked, outcome.failed = len(producer.acked), producer.failed
    found = cluster.read_all(stream, PARTITIONS)
    outcome.lost, outcome.doubled = lost_and_doubled(producer.acked, found)
    return outcome


def make_topics(cluster: Run, sizes: dict[str, int]) -> None:
    admin = KafkaAdmin(cluster.fleet.bootstrap)
    orders = [TopicCreation(name, size, len(BROKERS), configs=KEEP) for name, size in sizes.items()]
    until(lambda: len(admin.describe().brokers) == len(BROKERS) + 1)
    refusals = [refusal for refusal in admin.create_topics(orders).values() if refusal is not None]
    admin.close()
    assert not refusals, refusals
    until(lambda: is_whole(cluster, sizes), REST_S, 0.2)


def elect_preferred(cluster: Run) -> None:
    """Every broker leads a third again."""
    admin = KafkaAdmin(cluster.fleet.bootstrap)
    admin.elect_leaders(Election.PREFERRED)
    admin.close()


def led_by(cluster: Run, broker: int, sizes: dict[str, int]) -> list[str]:
    """The nodes of what a broker leads."""
    return [
        f"/brokers/topics/{topic}/partitions/{partition}/state"
        for topic, size in sizes.items()
        for partition, state in enumerate(cluster.states(topic, size))
        if state["leader"] == broker
    ]


def await_leaders(
    cluster: Run, victim: int, sizes: dict[str, int], led: list[str]
) -> tuple[float, float]:
    """Milliseconds from the end of a killed broker's session until its partitions have other
    leaders, as stored and as the other brokers tell."""
    until(lambda: cluster.node(f"/brokers/ids/{victim}") is None, pause_s=0.002)
    ended, began = time.time() * 1000, time.monotonic()
    for broker in BROKERS:
        if broker != victim:
            with Client(cluster.fleet.ports[broker], timeout_s=REST_S) as line:
                until(lambda line=line: victim not in leaders(line, sizes), REST_S, 0.005)
    known = (time.monotonic() - began) * 1000
    return max(written_ms(cluster, led)) - ended, known


def written_ms(cluster: Run, paths: list[str]) -> list[int]:
    """When nodes were written last, by the clock of ZooKeeper, which is this machine's."""
    client = KazooClient(cluster.fleet.zookeeper)
    client.start()
    try:
        stats = [asked.get() for asked in [client.exists_async(path) for path in paths]]
        return [stat.mtime for stat in stats if stat is not None]
    finally:
        client.stop()
        client.close()


def leaders(line: Client, sizes: dict[str, int]) -> set[int]:
    """Who leads, as a broker tells; the killed one where nobody does."""
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in sizes]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    answer = line.ask(request, MetadataResponse, 4)
    return {p.leader_id for topic in answer.topics for p in topic.partitions}


def is_whole(cluster: Run, sizes: dict[str, int]) -> bool:
    return all(
        len(state.get("isr", ())) == len(BROKERS)
        for topic, size in sizes.items()
        for state in cluster.states(topic, size)
    )


def spread(times_ms: list[float]) -> str:
    times = sorted(times_ms)
    return f"{times[0]:.0f} to {times[-1]:.0f} ms, median {times[len(times) // 2]:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=1000)
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kedge-kill-", dir=memory_directory()) as directory,
        kedge_cluster(Path(directory), apart=True, with_tools=False, settings=SETTINGS) as cluster,
    ):
        outcome = kill_rounds(cluster, chosen.rounds, wide=chosen.partitions)
    print(
        f"{chosen.rounds} rounds, {chosen.partitions} partitions: {outcome.acked} acknowledged, "
        f"{len(outcome.lost)} lost, {len(outcome.doubled)} twice, {dict(outcome.failed)} failed; "
        f"elected after {spread(outcome.elected_ms)}, known after {spread(outcome.known_ms)}"
    )
    return 0 if outcome.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
