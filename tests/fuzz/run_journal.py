"""Journals of runs: `read_journal` refuses what it cannot read, and says so in one sentence."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from kedge.execution.journal import read_journal
from kedge.execution.requests import read_requests
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes, mutated_json

RATE = {"leader.replication.throttled.rate": "50000000"}
NAMED = {"cluster_id": "prod-eu", "kind": "apply", "undoes": None, "plan_file": "plan.json"}
STEERING = {
    "log_dir_rate": 2000,
    "adaptive": [1000, 2000],
    "windows": ["22:00-02:00[Europe/Berlin]"],
    "hard_window": True,
    "until": 1e9,
    "stuck_after_s": 900.0,
    "cancel_stuck": False,
}
REQUEST = {"id": "9f3c", "at": 1e9, "kind": "rate", "rate": 80000000, "adaptive": [1000, 2000]}
EVENTS: list[dict[str, Any]] = [
    {"event": "begun", "at": 1e9, **NAMED, "rate": 50000000, "each_way": 2, "steering": STEERING},
    {"event": "directories", "replicas": [["orders", 0, 1, "/data/0"]]},
    {"event": "state", "at": 1e9, "state": "throttling"},
    {"event": "leased", "brokers": {"1": RATE, "2": RATE}, "topics": {"orders": {"x": "0:1"}}},
    {"event": "state", "at": 1e9, "state": "moving"},
    {"event": "settings", "rate": None, "each_way": 3},
    {"event": "started", "partitions": [["orders", 0], ["orders", 1]]},
    {"event": "skipped", "partitions": [["orders", 2]]},
    {"event": "request", "at": 1e9, "request": REQUEST},
    {"event": "rates", "brokers": {"1": RATE}},
    {"event": "answered", "id": "9f3c", "unconfirmed": ["2"], "refused": ""},
    {"event": "rate", "at": 1e9, "rate": 40000000, "why": "the cluster copes"},
    {"event": "aside", "at": 1e9, "partitions": [["orders", 1]], "why": "stuck"},
    {"event": "released", "brokers": {}, "topics": {}},
    {"event": "state", "at": 1e9, "state": "done", "moved": 1},
]


def fuzz(seed: int) -> None:
    """Read a journal with damaged lines, lines in another order, or damaged bytes."""
    random = Random(seed)
    events = EVENTS[: random.randint(1, len(EVENTS))]
    if random.random() < 0.3:
        events = [events[0], *random.sample(events, len(events))]
    lines = [json.dumps(event).encode() for event in events]
    place = random.randrange(len(lines))
    lines[place] = mutated_json(events[place], random, 2)
    data = b"\n".join(lines) + b"\n"
    read_requests(mutated_json(REQUEST, random, 2).split(b"\n"))  # leaves out what it cannot read
    with only_refusals():
        read_journal(mutated_bytes(data, random, most=3) if random.random() < 0.4 else data)


if __name__ == "__main__":
    start(fuzz)
