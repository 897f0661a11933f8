"""The controller beside Kafka 3.9.1's own, on the same ZooKeeper in the same run.

Both controllers run without brokers around them, in turns, and see the same nodes:

| file                      | what it is                                                       |
|---------------------------|------------------------------------------------------------------|
| `KafkaControllerAlone.java` | starts the real `kafka.controller.KafkaController` in a JVM    |
| `sides`                   | both controllers behind the same three calls                     |
| `cluster`                 | the brokers and topics that both are given                       |
| `side_by_side`            | the rounds on ZooKeeper, and the check that both decide alike    |
| `in_memory`               | Kedge on the memory store, beside the bare reads and writes      |

What is inside an interval, on both sides: being told by ZooKeeper, reading, deciding, writing,
and building the requests to brokers. Outside: starting a process or a session, encoding requests
and sending them (brokers answer at once, in the process), and logging, which is off.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.controller import in_memory, side_by_side
from bench.controller.sides import KedgeSide, kafka_side
from bench.report import BenchRow, BenchSection
from jvm.zookeeper import zookeeper


def run() -> BenchSection:
    """Measure both controllers on ZooKeeper, then Kedge's alone in memory."""
    with (
        tempfile.TemporaryDirectory() as directory,
        zookeeper(Path(directory)) as address,
        kafka_side(address) as kafka,
    ):
        compared = side_by_side.rows(address, kafka, KedgeSide(address))
    alone = [in_memory.failover(), in_memory.broker_failure()]
    return BenchSection(
        "controller",
        "Controller",
        "Six brokers. Rows on ZooKeeper compare with the real controller of Kafka 3.9.1, in a "
        "JVM that has been warmed up, on the same server in the same run, in turns; both left the "
        "same leaders, ISRs and epochs in every round. Rows in memory compare with the least that "
        "the store alone takes. The ratio is the peer's time over Kedge's: above 1, Kedge is "
        "faster.",
        (*compared, *alone),
        notes=(
            "Rows in memory are processor time: one thread, nothing to wait for.",
            "The cluster that fails over on ZooKeeper has 2,000 partitions with three replicas and "
            "8,000 with one.",
            f"Kedge's time over Kafka's, lower is better: {_inverse(compared)}.",
            "Inside the intervals: watches, reads, decisions, writes, building the requests to "
            "brokers. Outside: starting processes and sessions, encoding and sending requests, "
            "logs. Brokers answer with success at once, on both sides.",
        ),
    )


def _inverse(rows: list[BenchRow]) -> str:
    return ", ".join(f"{row.what}: {row.ours.best / row.theirs.best:.2f}" for row in rows)
