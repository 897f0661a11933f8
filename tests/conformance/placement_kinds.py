"""Vector kinds that placement answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kedge.model import Broker, BrokerId
from kedge.placement import (
    RackMode,
    Start,
    alternate_racks,
    choose_brokers,
    expand,
    parse_manual,
    place,
    place_striped,
)
from tests.conformance.compare import Case, Runner, assignment_answer, judged


def _create(case: Case) -> str | None:
    return judged(
        case,
        lambda: assignment_answer(
            case["expected"],
            place(
                _brokers(case["brokers"]),
                partitions=case["partitions"],
                replication_factor=case["rf"],
                start=Start(case["start"], case["shift"]),
                first_partition=case["startPartitionId"],
            ),
        ),
    )


def _alternate(case: Case) -> str | None:
    return judged(
        case, lambda: {"order": [b.id for b in alternate_racks(_brokers(case["brokers"]))]}
    )


def _expand(case: Case) -> str | None:
    existing = _lists(case["existing"])
    return judged(
        case,
        lambda: assignment_answer(
            case["expected"],
            expand(
                _brokers(case["brokers"]),
                existing=existing,
                total=case["total"],
                manual=None if case["manual"] is None else _lists(case["manual"]),
            ),
        ),
    )


def _striped(case: Case) -> str | None:
    return judged(
        case,
        lambda: assignment_answer(
            case["expected"],
            place_striped(
                _brokers(case["brokers"]),
                partitions=case["partitions"],
                replication_factor=case["rf"],
                draw=lambda bound: case["draw"] % bound,
                fenced=_fenced(case["brokers"]),
            ),
        ),
    )


def _manual(case: Case) -> str | None:
    return judged(case, lambda: assignment_answer(case["expected"], parse_manual(case["text"])))


def _rack_mode(case: Case) -> str | None:
    def answer() -> dict[str, Any]:
        only = None if case["only"] is None else frozenset(map(BrokerId, case["only"]))
        mode = RackMode[case["mode"].upper()]
        chosen = choose_brokers(_brokers(case["registered"]), mode, only)
        return {"brokers": [{"id": b.id, "rack": b.rack} for b in chosen]}

    return judged(case, answer)


def _brokers(rows: Collection[Mapping[str, Any]]) -> list[Broker]:
    return [Broker(BrokerId(row["id"]), row["rack"]) for row in rows]


def _fenced(rows: Collection[Mapping[str, Any]]) -> frozenset[BrokerId]:
    return frozenset(BrokerId(row["id"]) for row in rows if row["fenced"])


def _lists(lists: Mapping[str, list[int]]) -> dict[int, tuple[BrokerId, ...]]:
    return {int(p): tuple(map(BrokerId, ids)) for p, ids in lists.items()}


RUNNERS: dict[str, Runner] = {
    "create": _create,
    "rack": _create,
    "mixed": _create,
    "alternate": _alternate,
    "expand": _expand,
    "stripe": _striped,
    "manual": _manual,
    "rack_mode": _rack_mode,
}
