"""Verifies many plans against their snapshots, in parallel on Spark.

The snapshot of the plan `c00.json` is `c00` (a directory of Parquet), `c00.json` or `c00.json.gz`
in the directory of snapshots, or else the one with the name of the plan's cluster. The result has
one row per finding; a plan without findings has one row with severity `ok`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.balance import verify_against
from kedge.errors import InvalidRequest, KedgeError
from kedge.files import path_component, read_bytes, read_snapshot, with_path_context
from kedge.model.arrow import Table
from kedge.pipeline.fanout.map_rows import Row, map_rows
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.sinks import Columns
from kedge.plan import Finding, from_kafka_file, is_plan, parse_execute, parse_plan

if TYPE_CHECKING:
    from kedge.pipeline.jobs.context import SessionFactory

OK, ERROR = "ok", "error"
ENDINGS = (".json.gz", ".json", ".snapshot")
INPUT_COLUMNS: Columns = {"plan": "string"}
OUTPUT_COLUMNS: Columns = {
    "plan": "string",
    "snapshot": "string",
    "partitions": "bigint",
    "severity": "string",
    "kind": "string",
    "place": "string",
    "what": "string",
}


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """The directories of plans and snapshots."""

    plans: Path
    snapshots: Path


def verify_plans(
    request: VerifyRequest, session: SessionFactory, *, progress: Progress | None = None
) -> Table:
    """The findings of all plans, sorted by plan."""
    rows: list[Row] = [{"plan": str(path)} for path in plan_files(request.plans)]
    work = partial(_verify_file, snapshots=snapshots_in(request.snapshots))
    reporter = progress or NoProgress()
    with session() as spark:
        reporter.attach(spark)
        reporter.stage("plans", len(rows), "plans")
        return map_rows(
            spark, rows, work, input_columns=INPUT_COLUMNS, output_columns=OUTPUT_COLUMNS
        )


def plan_files(directory: Path) -> list[Path]:
    """The plan files in a directory, sorted."""
    found = [p for p in _entries(directory) if _without_suffix(p.name) != p.name and p.is_file()]
    if not found:
        raise InvalidRequest(f"{directory}: has no plans", hint="plans are *.json files")
    return found


def snapshots_in(directory: Path) -> dict[str, str]:
    """The path of each snapshot by name."""
    listed = [path for path in _entries(directory) if _may_be_snapshot(path)]
    if not listed:
        raise InvalidRequest(f"{directory}: has no snapshots")
    by_name = {_without_suffix(path.name): str(path) for path in listed}
    # A directory is also found by its full name: a cluster may be called x.json.
    return by_name | {path.name: str(path) for path in listed if path.is_dir()}


def _entries(directory: Path) -> list[Path]:
    with with_path_context(directory):
        every = sorted(directory.resolve().iterdir())
    return [path for path in every if not path.name.startswith(".")]


def _may_be_snapshot(path: Path) -> bool:
    return path.is_dir() or path.name.endswith((".json", ".json.gz"))


def _without_suffix(name: str) -> str:
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


# ---- on a worker --------------------------------------------------------------------------------


def _verify_file(row: Row, *, snapshots: dict[str, str]) -> list[Row]:
    path = Path(row["plan"])
    columns: Row = {"plan": path.name, "snapshot": "", "partitions": 0}
    try:
        found = _findings_of_file(path, snapshots, columns)
    except KedgeError as error:
        found = [Finding("unreadable", "", str(error))]
    rows = [
        columns | {"severity": str(f.severity), "kind": f.kind, "place": f.place, "what": f.what}
        for f in found
    ]
    return rows or [columns | {"severity": OK, "kind": "", "place": "", "what": ""}]


def _findings_of_file(path: Path, snapshots: dict[str, str], columns: Row) -> list[Finding]:
    data = read_bytes(path)
    with with_path_context(path):
        plan = parse_plan(data) if is_plan(data) else None
    names = [path.name.removesuffix(".gz").removesuffix(".json"), _without_suffix(path.name)]
    if plan is not None and plan.cluster_id is not None:
        names.append(path_component(plan.cluster_id))
    name = next((each for each in names if each in snapshots), None)
    if name is None:
        return [Finding("snapshot", "", "the plan has no snapshot")]
    columns["snapshot"] = Path(snapshots[name]).name
    snapshot = read_snapshot(snapshots[name])
    with with_path_context(path):
        plan = plan or from_kafka_file(parse_execute(data.decode(errors="replace")), snapshot)
    columns["partitions"] = len(plan.partitions)
    return verify_against(plan, snapshot)
