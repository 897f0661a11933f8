"""Replicas on the move."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.stage import Stage

GB = 10**9
Lists = dict[int, list[int]]


def _written(stage: Stage, topic: str, lists: Lists) -> str:
    """The moves as a file of Kafka's tool."""
    entries = [
        {"topic": topic, "partition": partition, "replicas": replicas}
        for partition, replicas in lists.items()
    ]
    path: Path = stage.directory / f"{topic}.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def _turned(stage: Stage, topic: str, partitions: range) -> Lists:
    """Each replica to the next broker of its own rack."""
    racks = stage.lab.settings.racks
    ids = stage.lab.settings.ids
    present = stage.topic(topic).replicas()
    return {
        number: [ids[(broker + racks - ids[0]) % len(ids)] for broker in present[number]]
        for number in partitions
    }


def _execute(stage: Stage, topic: str, lists: Lists, throttle: int) -> str:
    file = _written(stage, topic, lists)
    named = ("--reassignment-json-file", file)
    stage.kedge("reassign", "execute", *named, "--throttle", str(throttle), "--yes")
    return file


def moved_with_a_throttle(stage: Stage) -> None:
    """Data moves at the rate that is allowed, and the throttle goes at the end."""
    stage.act("A reassignment with a throttle, and its progress")
    stage.lab.fill("orders", 2 * GB)
    stage.tell("2 GB in each partition of orders; three of them move, at 100 MB/s per broker.")
    file = _execute(stage, "orders", _turned(stage, "orders", range(3)), 100_000_000)
    stage.watch_moves(["orders"])
    stage.kedge("reassign", "verify", "--reassignment-json-file", file)
    stage.grid("orders")


def cancelled(stage: Stage) -> None:
    """A move that is given up half-way leaves everything as it was."""
    stage.act("A reassignment that is cancelled")
    stage.lab.fill("clicks", 20 * GB, 0)
    file = _execute(stage, "clicks", _turned(stage, "clicks", range(1)), 10_000_000)
    stage.until("the move", lambda: bool(stage.status()["moves"]))
    stage.kedge("reassign", "list")
    stage.kedge("reassign", "cancel", "--reassignment-json-file", file)
    stage.until("rest", stage.at_rest)
    stage.kedge("reassign", "list")


def moved_through_a_failover(stage: Stage) -> None:
    """The controller dies while replicas move; its successor goes on where it was."""
    stage.act("The controller fails in the middle of a reassignment")
    stage.lab.fill("views", 2 * GB)
    file = _execute(stage, "views", _turned(stage, "views", range(3)), 50_000_000)
    stage.until("the moves", lambda: bool(stage.status()["moves"]))
    before = stage.status()
    stage.tell(stage.lab.inject("controller-failover"))
    stage.until(
        "a successor", lambda: stage.status()["controller"] not in (None, before["controller"])
    )
    after = stage.status()
    stage.tell(
        f"Broker {after['controller']} has taken over, in epoch {after['controller_epoch']} after "
        f"{before['controller_epoch']}; the moves go on."
    )
    stage.watch_moves(["views"])
    stage.kedge("reassign", "verify", "--reassignment-json-file", file)
    stage.grid("views")
