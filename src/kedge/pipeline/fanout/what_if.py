"""Plans every what-if scenario in parallel on Spark, and returns the figures of each plan."""

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
from kedge.pipeline.fanout.map_rows import Row, map_rows
from kedge.pipeline.fanout.scenario_parsing import scenario_from_json, scenario_to_json
from kedge.pipeline.fanout.scenarios import Scenario, partitions_without_copy
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.sinks import MAP, Columns

if TYPE_CHECKING:
    from kedge.pipeline.jobs.context import SessionFactory

INPUT_COLUMNS: Columns = {"number": "int", "scenario": "string"}
OUTPUT_COLUMNS: Columns = {
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
class WhatIfRequest:
    """The snapshot, the scenarios, and the goals that scenarios may override."""

    snapshot: Path
    scenarios: list[Scenario]
    goals: Goals = field(default_factory=Goals)


def what_if(
    request: WhatIfRequest, session: SessionFactory, *, progress: Progress | None = None
) -> Table:
    """One row per scenario, in their order; all scenarios are validated before Spark starts."""
    path = os.path.abspath(request.snapshot)
    snapshot = read_snapshot(path)
    if not request.scenarios:
        raise InvalidRequest("no scenarios given")
    for scenario in request.scenarios:
        scenario.apply(snapshot, request.goals)
    rows = [
        {"number": number, "scenario": scenario_to_json(one)}
        for number, one in enumerate(request.scenarios)
    ]
    work = partial(
        _evaluate_row, path=path, sha256=sha256_of_snapshot(snapshot), goals=request.goals
    )
    reporter = progress or NoProgress()
    with session() as spark:
        reporter.attach(spark)
        reporter.stage("scenarios", len(rows), "scenarios")
        return map_rows(
            spark, rows, work, input_columns=INPUT_COLUMNS, output_columns=OUTPUT_COLUMNS
        )


# ---- on a worker --------------------------------------------------------------------------------


def _evaluate_row(row: Row, *, path: str, sha256: str, goals: Goals) -> list[Row]:
    scenario = scenario_from_json(row["scenario"])
    return [{"number": row["number"], **evaluate(_loaded(path, sha256), scenario, goals)}]


@lru_cache(maxsize=1)
def _loaded(path: str, sha256: str) -> Snapshot:
    """Read the snapshot, cached per worker; it must be the one that the driver validated."""
    snapshot = read_snapshot(path)
    if sha256_of_snapshot(snapshot) != sha256:
        raise Conflict(f"{path}: the snapshot has changed since the scenarios were validated")
    return snapshot


def evaluate(snapshot: Snapshot, scenario: Scenario, goals: Goals) -> Row:
    """The figures of a scenario's plan, or the reason why there is none."""
    columns = _scenario_columns(snapshot, scenario, goals)
    try:
        changed, wanted = scenario.apply(snapshot, goals)
        figures = figures_of(changed, wanted, scenario.seed)
    except KedgeError as error:
        return columns | {"feasible": False, "reason": str(error)}
    full = fullest_broker(task_of(changed, wanted), figures.imbalance_after)
    return columns | {"feasible": True, "fullest_after": full} | asdict(figures)


def _scenario_columns(snapshot: Snapshot, scenario: Scenario, goals: Goals) -> Row:
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
        "partitions_without_copy": partitions_without_copy(
            snapshot, scenario.lost_brokers(snapshot)
        ),
    }


def _tolerance(scenario: Scenario, goals: Goals) -> float:
    if scenario.tolerance is not None:
        return scenario.tolerance
    return float(scenario.goals.get("tolerance", goals.tolerance))


def fullest_broker(task: Task, imbalance: dict[str, float]) -> dict[str, float]:
    """The use of the fullest broker as a share of its capacity, for resources with capacities."""
    brokers = [broker for broker in task.snapshot.brokers if broker.state.stays]
    has_capacity = [any(each) for each in zip(*map(capacities_of, brokers), strict=True)]
    mean: dict[str, Any] = dict(zip(task.columns, mean_level(task.problem), strict=True))
    return {
        name: float(mean[name] * imbalance[name])
        for name, known in zip(RESOURCES, has_capacity, strict=True)
        if known and name in mean and name in imbalance
    }
