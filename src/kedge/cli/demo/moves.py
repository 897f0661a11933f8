"""The section of the demonstration about moves: throttled, cancelled, through a failover."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.demo_lab import Demo

GB = 10**9
Lists = dict[int, list[int]]


def _written(demo: Demo, topic: str, lists: Lists) -> str:
    """The moves as a file of Kafka's tool."""
    entries = [
        {"topic": topic, "partition": partition, "replicas": replicas}
        for partition, replicas in lists.items()
    ]
    path: Path = demo.directory / f"{topic}.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def _turned(demo: Demo, topic: str, partitions: range) -> Lists:
    """Each replica to the next broker of its own rack."""
    racks = demo.lab.settings.racks
    ids = demo.lab.settings.ids
    present = demo.topic(topic).replicas()
    return {
        number: [ids[(broker + racks - ids[0]) % len(ids)] for broker in present[number]]
        for number in partitions
    }


def _execute(demo: Demo, topic: str, lists: Lists, throttle: int) -> str:
    file = _written(demo, topic, lists)
    named = ("--reassignment-json-file", file)
    demo.kedge("reassign", "execute", *named, "--throttle", str(throttle), "--yes")
    return file


def moved_with_a_throttle(demo: Demo) -> None:
    """Data moves at the rate that is allowed, and the throttle goes at the end."""
    demo.section("A reassignment with a throttle, and its progress")
    demo.lab.fill("orders", 2 * GB)
    demo.explain("2 GB in each partition of orders; three of them move, at 100 MB/s per broker.")
    file = _execute(demo, "orders", _turned(demo, "orders", range(3)), 100_000_000)
    demo.watch_moves(["orders"])
    demo.kedge("reassign", "verify", "--reassignment-json-file", file)
    demo.grid("orders")


def cancelled(demo: Demo) -> None:
    """A move that is given up half-way leaves everything as it was."""
    demo.section("A reassignment that is cancelled")
    demo.lab.fill("clicks", 20 * GB, 0)
    file = _execute(demo, "clicks", _turned(demo, "clicks", range(1)), 10_000_000)
    demo.until("the move", lambda: bool(demo.status()["moves"]))
    demo.kedge("reassign", "list")
    demo.kedge("reassign", "cancel", "--reassignment-json-file", file)
    demo.until("rest", demo.at_rest)
    demo.kedge("reassign", "list")


def moved_through_a_failover(demo: Demo) -> None:
    """The controller dies while replicas move; its successor goes on where it was."""
    demo.section("The controller fails in the middle of a reassignment")
    demo.lab.fill("views", 2 * GB)
    file = _execute(demo, "views", _turned(demo, "views", range(3)), 50_000_000)
    demo.until("the moves", lambda: bool(demo.status()["moves"]))
    before = demo.status()
    demo.explain(demo.lab.inject("controller-failover"))
    demo.until(
        "a successor", lambda: demo.status()["controller"] not in (None, before["controller"])
    )
    after = demo.status()
    demo.explain(
        f"Broker {after['controller']} has taken over, in epoch {after['controller_epoch']} after "
        f"{before['controller_epoch']}; the moves go on."
    )
    demo.watch_moves(["views"])
    demo.kedge("reassign", "verify", "--reassignment-json-file", file)
    demo.grid("views")
