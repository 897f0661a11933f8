"""What if: every scenario through the planner, and what each would come to."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.balance import Goals, figures_of
from kedge.balance.bounds.levels import mean_level
from kedge.balance.goals.capacity import capacities_of
from kedge.balance.goals.goals import RESOURCES
from kedge.balance.goals.task import Task, task_of
from kedge.errors import Conflict, InvalidRequest, KedgeError
from kedge.files import read_snapshot
from kedge.model import Snapshot, sha256_of_snapshot
from kedge.model.arrow import Table
from kedge.pipeline.fanout.asking import scenario_from_json, scenario_to_json
from kedge.pipeline.fanout.scenarios import Scenario, without_copy
from kedge.pipeline.fanout.spread import MAP, Columns, Row, spread
from kedge.pipeline.jobs.progress import Progress, Silent

if TYPE_CHECKING:
    from kedge.pipeline.jobs.ingest import OpenSession

ASKED: Columns = {"number": "int", "scenario": "string"}
ANSWERED: Columns = {
    "number": "int",
    "name": "string",
    "traffic": "double",
    "size": "double",
    "lose_racks": "string",
    "add_brokers": "int",
    "replication_factor": "string",
    "tolerance": "double",
    "seed": "bigint",
    "feasible": "boolean",
    "reason": "string",
    "balanced": "boolean",
    "replicas_moved": "bigint",
    "leaders_moved": "bigint",
    "bytes_moved": "bigint",
    "bytes_moved_lower_bound": "bigint",
    "partitions_without_copy": "bigint",
    "imbalance_before": MAP,
    "imbalance_after": MAP,
    "imbalance_lower_bound": MAP,
    "fullest_after": MAP,
}


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What to ask, of which cluster; `goals` are those of every scenario that says nothing else."""

    snapshot: Path
    scenarios: list[Scenario]
    goals: Goals = field(default_factory=Goals)


def what_if(asked: WhatIf, session: OpenSession, *, progress: Progress | None = None) -> Table:
    """One row for each scenario, in their order; everything is checked before Spark is started."""
    path = os.path.abspath(asked.snapshot)
    snapshot = read_snapshot(path)
    if not asked.scenarios:
        raise InvalidRequest("no scenario is asked for")
    for scenario in asked.scenarios:
        scenario.of(snapshot, asked.goals)
    rows = [
        {"number": number, "scenario": scenario_to_json(one)}
        for number, one in enumerate(asked.scenarios)
    ]
    work = partial(_answer, path=path, sha256=sha256_of_snapshot(snapshot), goals=asked.goals)
    told = progress or Silent()
    with session() as spark:
        told.attach(spark)
        told.stage("scenarios", len(rows))
        return spread(spark, rows, work, takes=ASKED, gives=ANSWERED)


# ---- on a worker --------------------------------------------------------------------------------


def _answer(row: Row, *, path: str, sha256: str, goals: Goals) -> list[Row]:
    scenario = scenario_from_json(row["scenario"])
    return [{"number": row["number"], **answer(_loaded(path, sha256), scenario, goals)}]


@lru_cache(maxsize=1)
def _loaded(path: str, sha256: str) -> Snapshot:
    """The snapshot, read once for all rows of a worker; it must be the one that was checked."""
    snapshot = read_snapshot(path)
    if sha256_of_snapshot(snapshot) != sha256:
        raise Conflict(f"{path}: the snapshot has changed since the scenarios were checked")
    return snapshot


def answer(snapshot: Snapshot, scenario: Scenario, goals: Goals) -> Row:
    """What a scenario's plan would come to, or in one sentence why there is none."""
    told = _question(snapshot, scenario, goals)
    try:
        changed, wanted = scenario.of(snapshot, goals)
        figures = figures_of(changed, wanted, scenario.seed)
    except KedgeError as refused:
        return told | {"feasible": False, "reason": str(refused)}
    full = fullest(task_of(changed, wanted), figures.imbalance_after)
    return told | {"feasible": True, "fullest_after": full} | asdict(figures)


def _question(snapshot: Snapshot, scenario: Scenario, goals: Goals) -> Row:
    factors = scenario.replication_factor.items()
    return {
        "name": scenario.label,
        "traffic": scenario.traffic,
        "size": scenario.size,
        "lose_racks": "+".join(scenario.lose_racks),
        "add_brokers": scenario.add_brokers,
        "replication_factor": ",".join(f"{pattern}:{factor}" for pattern, factor in factors),
        "tolerance": _tolerance(scenario, goals),
        "seed": scenario.seed,
        "partitions_without_copy": without_copy(snapshot, scenario.lost_brokers(snapshot)),
    }


def _tolerance(scenario: Scenario, goals: Goals) -> float:
    if scenario.tolerance is not None:
        return scenario.tolerance
    return float(scenario.goals.get("tolerance", goals.tolerance))


def fullest(task: Task, imbalance: dict[str, float]) -> dict[str, float]:
    """The share of its capacity that the fullest broker uses, where brokers tell capacities."""
    brokers = [broker for broker in task.snapshot.brokers if broker.state.stays]
    told = [any(each) for each in zip(*map(capacities_of, brokers), strict=True)]
    mean: dict[str, Any] = dict(zip(task.columns, mean_level(task.problem), strict=True))
    return {
        name: float(mean[name] * imbalance[name])
        for name, is_told in zip(RESOURCES, told, strict=True)
        if is_told and name in mean and name in imbalance
    }
