"""Plans held against the snapshots that they were made from, many at a time.

A plan finds its snapshot by name: `c00.json` is held against `c00` (a directory of Parquet),
`c00.json` or `c00.json.gz` of the directory of snapshots, and else against the one that has the
name of the plan's cluster. Each plan gets one row for each finding; one that has none gets a row
that says `ok`, so that the table tells what was looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.balance import findings_of
from kedge.errors import InvalidRequest, KedgeError
from kedge.files import path_component, read_bytes, read_snapshot, with_path_context
from kedge.model.arrow import Table
from kedge.pipeline.fanout.spread import Columns, Row, spread
from kedge.pipeline.jobs.progress import Progress, Silent
from kedge.plan import Finding, adopt, is_plan, parse_execute, parse_plan

if TYPE_CHECKING:
    from kedge.pipeline.jobs.ingest import OpenSession

OK, ERROR = "ok", "error"
ENDINGS = (".json.gz", ".json", ".snapshot")
ASKED: Columns = {"plan": "string"}
ANSWERED: Columns = {
    "plan": "string",
    "snapshot": "string",
    "partitions": "bigint",
    "severity": "string",
    "kind": "string",
    "place": "string",
    "what": "string",
}


@dataclass(frozen=True, slots=True)
class Verification:
    """Where plans and snapshots are."""

    plans: Path
    snapshots: Path


def verify_plans(
    asked: Verification, session: OpenSession, *, progress: Progress | None = None
) -> Table:
    """The findings of every plan, in the order of their names."""
    rows: list[Row] = [{"plan": str(path)} for path in plan_files(asked.plans)]
    work = partial(_verified, snapshots=snapshots_in(asked.snapshots))
    told = progress or Silent()
    with session() as spark:
        told.attach(spark)
        told.stage("plans", len(rows))
        return spread(spark, rows, work, takes=ASKED, gives=ANSWERED)


def plan_files(directory: Path) -> list[Path]:
    """The files of plans in a directory, in order."""
    found = [p for p in _entries(directory) if _bare(p.name) != p.name and p.is_file()]
    if not found:
        raise InvalidRequest(f"{directory}: there are no plans here", hint="plans are *.json files")
    return found


def snapshots_in(directory: Path) -> dict[str, str]:
    """Where the snapshot of each name is."""
    listed = [path for path in _entries(directory) if _may_be_snapshot(path)]
    if not listed:
        raise InvalidRequest(f"{directory}: there are no snapshots here")
    by_bare_name = {_bare(path.name): str(path) for path in listed}
    # A directory is found by its whole name too: a cluster may be called x.json.
    return by_bare_name | {path.name: str(path) for path in listed if path.is_dir()}


def _entries(directory: Path) -> list[Path]:
    with with_path_context(directory):
        every = sorted(directory.resolve().iterdir())
    return [path for path in every if not path.name.startswith(".")]


def _may_be_snapshot(path: Path) -> bool:
    return path.is_dir() or path.name.endswith((".json", ".json.gz"))


def _bare(name: str) -> str:
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


# ---- on a worker --------------------------------------------------------------------------------


def _verified(row: Row, *, snapshots: dict[str, str]) -> list[Row]:
    path = Path(row["plan"])
    told: Row = {"plan": path.name, "snapshot": "", "partitions": 0}
    try:
        found = _findings_of_file(path, snapshots, told)
    except KedgeError as fault:
        found = [Finding("unreadable", "", str(fault))]
    rows = [
        told | {"severity": str(f.severity), "kind": f.kind, "place": f.place, "what": f.what}
        for f in found
    ]
    return rows or [told | {"severity": OK, "kind": "", "place": "", "what": ""}]


def _findings_of_file(path: Path, snapshots: dict[str, str], told: Row) -> list[Finding]:
    data = read_bytes(path)
    with with_path_context(path):
        plan = parse_plan(data) if is_plan(data) else None
    names = [path.name.removesuffix(".gz").removesuffix(".json"), _bare(path.name)]
    if plan is not None and plan.cluster_id is not None:
        names.append(path_component(plan.cluster_id))
    name = next((each for each in names if each in snapshots), None)
    if name is None:
        return [Finding("snapshot", "", "there is no snapshot to hold it against")]
    told["snapshot"] = Path(snapshots[name]).name
    snapshot = read_snapshot(snapshots[name])
    with with_path_context(path):
        plan = plan or adopt(parse_execute(data.decode(errors="replace")), snapshot)
    told["partitions"] = len(plan.partitions)
    return findings_of(plan, snapshot)
