"""A simulated cluster that outlives its process: the store in a journal, the logs in a file.

    python -m kedge.sim.durable DIRECTORY

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
from kedge.sim.rest import complaints
from kedge.sim.truth import FileLedger
from kedge.sim.world import Shape, World
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
    ledger, logs = FileLedger(folder / "journal"), folder / "logs.json"
    world = World(1, Shape(brokers=6, controllers=1), ledger)
    is_first = MOVED.topic not in world.truth.topics
    if not is_first:
        _load_logs(world, logs)
    # what the store says of a log must be true of the file, so the file is written first
    ledger.before = lambda: _save_logs(world, logs)
    world.start()
    if is_first:
        _begin(world)
    now = world.truth.assignment(MOVED)
    assert now is not None
    _say("moving" if is_first else f"found adding {list(now.adding)}")
    _finish(world)
    for broker in TARGET:
        log = world.machines[broker].disks.find(MOVED)
        held = [] if log is None else [record.identity for record in log.records]
        _say(f"broker {broker} has {len(set(held))} records")
    return 0


def _begin(world: World) -> None:
    world.run_until(2_000)
    world.operator.topics.create_topic(CreateRequest(MOVED.topic, assignments={0: ORIGIN}))
    world.run_until(4_000)
    for _ in range(RECORDS):
        world.operator.producers.produce_to(MOVED, RECORD_BYTES)
    _run_until_settled(world)
    world.operator.moves.ask_to_move({MOVED: TARGET})
    world.run_until(world.clock.now_ms + 2_000)


def _finish(world: World) -> None:
    for _ in range(SECONDS_MAX):
        if not complaints(world):
            _say("done")
            return
        world.run_until(world.clock.now_ms + 1_000)
        time.sleep(PAUSE_S)
    raise InvariantViolated(f"not settled: {complaints(world)}")


def _run_until_settled(world: World) -> None:
    for _ in range(SECONDS_MAX):
        world.run_until(world.clock.now_ms + 1_000)
        if not complaints(world):
            return
    raise InvariantViolated(f"not settled: {complaints(world)}")


def _save_logs(world: World, path: Path) -> None:
    """All or nothing: a file that is there is whole."""
    content = [
        [broker, directory, tp.topic, tp.partition, log.topic_id, log.records]
        for broker, machine in world.machines.items()
        for directory, held in machine.disks.logs.items()
        for tp, log in held.items()
    ]
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(content))
    os.replace(fresh, path)


def _load_logs(world: World, path: Path) -> None:
    if not path.exists():
        return
    for broker, directory, topic, partition, topic_id, records in json.loads(path.read_text()):
        disks = world.machines[BrokerId(broker)].disks
        log = disks.put(directory, TopicPartition(topic, partition), topic_id)
        log.append([Record(*record) for record in records])


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
