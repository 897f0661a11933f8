"""The section of the demonstration about a broker that is killed and comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.demo_lab import Demo

VICTIM = 4


def a_broker_dies_and_returns(demo: Demo) -> None:
    """Others lead while it is gone; when it is back it catches up and leads again."""
    demo.section(f"Broker {VICTIM} is killed, and comes back")
    demo.explain(demo.lab.inject("broker-crash", VICTIM))
    demo.until("its session's end", lambda: demo.status()["under_replicated"] > 0)
    demo.kedge("topics", "describe", "--under-replicated-partitions")
    demo.explain(demo.lab.inject("broker-start", VICTIM))
    demo.until("a full ISR", demo.at_rest)
    demo.explain("Every replica is in sync again; the preferred leaders are elected.")
    demo.kedge("elect", "--election-type", "preferred", "--all-topic-partitions")
