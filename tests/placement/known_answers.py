"""Cases of placement with the answers of Kafka itself, and what this code answers to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedge import errors
from kedge.model import Broker, BrokerId
from kedge.placement import (
    Placement,
    RackMode,
    Start,
    alternate_racks,
    choose_brokers,
    expand,
    parse_manual,
    place,
    place_striped,
)
from tests.placement.laws import check_laws

VECTORS = Path(__file__).parent.parent / "vectors"
FILES = ("placement-examples.json", "admin-examples.json")

KAFKA_NAMES: dict[type[errors.KedgeError], str] = {
    errors.InconsistentRacks: "AdminOperation",
    errors.MissingPartitionZero: "AdminOperation",
    errors.MalformedInput: "AdminOperation",
    errors.RefusedCommand: "AdminCommandFailed",
    errors.MalformedNumber: "NumberFormat",
    errors.UnknownBroker: "BrokerNotAvailable",
}

Case = dict[str, Any]


def brokers_in(case: Case, key: str = "brokers") -> list[Broker]:
    return [Broker(BrokerId(b["id"]), b["rack"]) for b in case[key]]


def run_ring(case: Case) -> Placement:
    brokers = brokers_in(case)
    placement = place(
        brokers,
        partitions=case["partitions"],
        replication_factor=case["rf"],
        start=Start(case["start"], case["shift"]),
        first_partition=case["startPartitionId"],
    )
    check_laws(placement, brokers)
    return placement


def run_expand(case: Case) -> Placement:
    manual = case["manual"]
    return expand(
        brokers_in(case),
        existing={int(p): r for p, r in case["existing"].items()},
        total=case["total"],
        manual=None if manual is None else {int(p): r for p, r in manual.items()},
    )


def run_stripe(case: Case) -> Placement:
    brokers = brokers_in(case)
    placement = place_striped(
        brokers,
        partitions=case["partitions"],
        replication_factor=case["rf"],
        draw=lambda bound: case["draw"] % bound,
        fenced={b["id"] for b in case["brokers"] if b["fenced"]},
    )
    check_laws(placement, [Broker(b.id) for b in brokers], leaders_even=False)
    return placement


def run_rack_mode(case: Case) -> list[Case]:
    chosen = choose_brokers(brokers_in(case, "registered"), RackMode(case["mode"]), case["only"])
    return [{"id": b.id, "rack": b.rack} for b in chosen]


RUNNERS = {
    "create": run_ring,
    "rack": run_ring,
    "mixed": run_ring,
    "expand": run_expand,
    "stripe": run_stripe,
    "manual": lambda case: parse_manual(case["text"]),
    "alternate": lambda case: [b.id for b in alternate_racks(brokers_in(case))],
    "rack_mode": run_rack_mode,
}


def observed(case: Case) -> Case:
    """What the code says to a case, in the form of the case's own expectation."""
    try:
        answer = RUNNERS[case["kind"]](case)
    except errors.KedgeError as refusal:
        return {"error": KAFKA_NAMES.get(type(refusal), type(refusal).__name__)}
    if not isinstance(answer, Placement):
        return {"order" if case["kind"] == "alternate" else "brokers": answer}
    return described(answer, case["expected"])


def described(answer: Placement, expected: Case) -> Case:
    rows = {str(p): list(r) for p, r in answer.as_mapping().items()}
    if "sha256" not in expected:
        return {"assignment": rows}
    return {
        "sha256": answer.digest(),
        "count": len(answer),
        "sample": {p: rows[p] for p in expected["sample"]},
        "leaders_per_broker": {str(b): n for b, n in answer.leaders_per_broker().items()},
        "replicas_per_broker": {str(b): n for b, n in answer.replicas_per_broker().items()},
    }


def cases() -> list[Any]:
    read = [c for name in FILES for c in json.loads((VECTORS / name).read_text())["cases"]]
    return [pytest.param(c, id=f"{c['kind']}-{c['id']}") for c in read if c["kind"] in RUNNERS]
