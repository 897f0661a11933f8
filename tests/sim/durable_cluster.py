"""A simulated cluster that outlives its process: the store in a journal, the logs in a file.

    python -m tests.sim.durable_cluster DIRECTORY

The first process makes a topic on brokers 1, 2 and 3, fills it, and begins to move it to 4, 5 and
6, slowly. Kill it in the middle of that (kill -9 will do) and start it again: it finds the journal
and the logs, finishes the move, and says which records are on which broker.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from kedge.brokers.log import Record
from kedge.errors import InvariantViolated
from kedge.model import BrokerId, TopicPartition
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_metadata import FileJournal
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.convergence import unmet_conditions
from kedge.topics import CreateRequest

MOVED = TopicPartition("orders", 0)
ORIGIN = tuple(map(BrokerId, (1, 2, 3)))
TARGET = tuple(map(BrokerId, (4, 5, 6)))
RECORDS = 40
RECORD_BYTES = 100 << 20
PAUSE_S = 0.02  # real time for each simulated second, so that there is time to be killed
SECONDS_MAX = 600


def main(arguments: list[str]) -> int:
    """Run until the move is done, however many processes that takes."""
    folder = Path(arguments[0])
    journal, logs = FileJournal(folder / "journal"), folder / "logs.json"
    cluster = ClusterUnderTest(1, ClusterShape(brokers=6, controllers=1), journal)
    is_first = MOVED.topic not in cluster.metadata.topics
    if not is_first:
        _load_logs(cluster, logs)
    # what the store says of a log must be true of the file, so the file is written first
    journal.before = lambda: _save_logs(cluster, logs)
    cluster.start()
    if is_first:
        _begin(cluster)
    now = cluster.metadata.assignment(MOVED)
    assert now is not None
    _say("moving" if is_first else f"found adding {list(now.adding)}")
    _finish(cluster)
    for broker in TARGET:
        log = cluster.machines[broker].disks.find(MOVED)
        held = [] if log is None else [record.identity for record in log.records]
        _say(f"broker {broker} has {len(set(held))} records")
    return 0


def _begin(cluster: ClusterUnderTest) -> None:
    cluster.run_until(2_000)
    cluster.workload.topics.create_topic(CreateRequest(MOVED.topic, assignments={0: ORIGIN}))
    cluster.run_until(4_000)
    for _ in range(RECORDS):
        cluster.workload.producers.produce_to(MOVED, RECORD_BYTES)
    _run_until_settled(cluster)
    cluster.workload.moves.request_moves({MOVED: TARGET})
    cluster.run_until(cluster.clock.now_ms + 2_000)


def _finish(cluster: ClusterUnderTest) -> None:
    for _ in range(SECONDS_MAX):
        if not unmet_conditions(cluster):
            _say("done")
            return
        cluster.run_until(cluster.clock.now_ms + 1_000)
        time.sleep(PAUSE_S)
    raise InvariantViolated(f"not settled: {unmet_conditions(cluster)}")


def _run_until_settled(cluster: ClusterUnderTest) -> None:
    for _ in range(SECONDS_MAX):
        cluster.run_until(cluster.clock.now_ms + 1_000)
        if not unmet_conditions(cluster):
            return
    raise InvariantViolated(f"not settled: {unmet_conditions(cluster)}")


def _save_logs(cluster: ClusterUnderTest, path: Path) -> None:
    """All or nothing: a file that is there is whole."""
    content = [
        [broker, directory, tp.topic, tp.partition, log.topic_id, log.records]
        for broker, machine in cluster.machines.items()
        for directory, held in machine.disks.logs.items()
        for tp, log in held.items()
    ]
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(content))
    os.replace(fresh, path)


def _load_logs(cluster: ClusterUnderTest, path: Path) -> None:
    if not path.exists():
        return
    for broker, directory, topic, partition, topic_id, records in json.loads(path.read_text()):
        disks = cluster.machines[BrokerId(broker)].disks
        log = disks.put(directory, TopicPartition(topic, partition), topic_id)
        log.append([Record(*record) for record in records])


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
