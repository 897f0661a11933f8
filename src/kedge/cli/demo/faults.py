"""What brokers survive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.stage import Stage

VICTIM = 4


def a_broker_dies_and_returns(stage: Stage) -> None:
    """Others lead while it is gone; when it is back it catches up and leads again."""
    stage.act(f"Broker {VICTIM} is killed, and comes back")
    stage.tell(stage.lab.inject("broker-crash", VICTIM))
    stage.until("its session's end", lambda: stage.status()["under_replicated"] > 0)
    stage.kedge("topics", "describe", "--under-replicated-partitions")
    stage.tell(stage.lab.inject("broker-start", VICTIM))
    stage.until("a full ISR", stage.at_rest)
    stage.tell("Every replica is in sync again; the preferred leaders are elected.")
    stage.kedge("elect", "--election-type", "preferred", "--all-topic-partitions")
