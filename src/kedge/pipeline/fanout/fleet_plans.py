"""Plans every cluster of gold in parallel on Spark; writes one plan file each and a summary.

    plans/
      fleet.parquet    one row per cluster: the figures of its plan, or why there is none
      c00.json         the plan of cluster c00, as `kedge plan --seed …` makes it
      c01.json

The directory is written under a temporary name and renamed when it is complete, so it never has
plans of two runs. The same tables, goals and seed give the same bytes on any machine: the files
have no time of creation.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from kedge.balance import Goals, plan_of
from kedge.errors import InvalidRequest, KedgeError, OutputNotOurs
from kedge.files import parquet, read_snapshot, with_path_context, write_atomically
from kedge.model import Snapshot, sha256_of_snapshot
from kedge.model.arrow import Table
from kedge.pipeline.derived_files import SNAPSHOTS
from kedge.pipeline.fanout.map_rows import Row, map_rows
from kedge.pipeline.jobs.context import NoProgress, Progress
from kedge.pipeline.sinks import MAP, Columns
from kedge.pipeline.tables.location import Location
from kedge.pipeline.warehouse import Place, published_run
from kedge.plan import Plan, plan_to_json

if TYPE_CHECKING:
    from kedge.pipeline.jobs.context import SessionFactory

SUMMARY = "fleet.parquet"
INPUT_COLUMNS: Columns = {"name": "string", "snapshot": "string"}
OUTPUT_COLUMNS: Columns = {
    "cluster": "string",
    "brokers": "bigint",
    "partitions": "bigint",
    "feasible": "boolean",
    "reason": "string",
    "plan": "string",
    "partitions_changed": "bigint",
    "replicas_moved": "bigint",
    "leaders_moved": "bigint",
    "bytes_moved": "bigint",
    "bytes_moved_lower_bound": "bigint",
    "eta_seconds": "double",
    "imbalance_before": MAP,
    "imbalance_after": MAP,
    "imbalance_lower_bound": MAP,
    "notes": "string",
}
FIGURES = (
    *("replicas_moved", "leaders_moved", "bytes_moved", "bytes_moved_lower_bound"),
    *("eta_seconds", "imbalance_before", "imbalance_after", "imbalance_lower_bound"),
)


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """The tables, the directory of the plans, and the goals of each plan."""

    tables: Place
    out: Path
    goals: Goals = field(default_factory=Goals)
    seed: int = 0


def fleet(
    request: FleetRequest, session: SessionFactory, *, progress: Progress | None = None
) -> Table:
    """Plan every cluster; return the summary, which is also written to the directory."""
    _check_output(request.out)
    rows = clusters_of(request.tables)
    reporter = progress or NoProgress()
    with _replaced_directory(request.out) as staged:
        work = partial(_plan_cluster, directory=str(staged), goals=request.goals, seed=request.seed)
        with session() as spark:
            reporter.attach(spark)
            reporter.stage("clusters", len(rows), "clusters")
            table = map_rows(
                spark, rows, work, input_columns=INPUT_COLUMNS, output_columns=OUTPUT_COLUMNS
            )
        parquet().write_table(table, staged / SUMMARY, compression="zstd")
    return table


def clusters_of(tables: Place) -> list[Row]:
    """One row per cluster of the published tables: its file name and its snapshot."""
    published_run(tables)
    location = Location.of(tables)
    if not location.is_local:
        hint = "copy gold/snapshot, and use `kedge plan --snapshot`"
        raise InvalidRequest(f"{tables}: not a directory of this machine", hint=hint)
    found = sorted(path for path in (location.path / SNAPSHOTS).glob("*") if path.is_dir())
    if not found:
        raise InvalidRequest(f"{tables}: no snapshots yet", hint="run `kedge pipeline ingest`")
    return [{"name": path.name, "snapshot": str(path)} for path in found]


# ---- on a worker --------------------------------------------------------------------------------


def _plan_cluster(row: Row, *, directory: str, goals: Goals, seed: int) -> list[Row]:
    snapshot = read_snapshot(row["snapshot"])
    columns = {
        "cluster": row["name"] if snapshot.cluster_id is None else snapshot.cluster_id,
        "brokers": len(snapshot.brokers),
        "partitions": len(snapshot),
    }
    try:
        plan = reproducible_plan(snapshot, goals, seed)
    except KedgeError as error:
        return [columns | {"feasible": False, "reason": str(error)}]
    name = f"{row['name']}.json"  # the file name of the cluster, which may differ from its id
    # A task that Spark retries writes the same bytes to the same file.
    write_atomically(Path(directory) / name, plan_to_json(plan))
    return [columns | {"feasible": True, "plan": name} | _figures(plan)]


def reproducible_plan(snapshot: Snapshot, goals: Goals, seed: int) -> Plan:
    """The plan that `kedge plan` makes, without the time of creation."""
    plan = plan_of(snapshot, goals, seed)
    return replace(plan, snapshot_sha256=sha256_of_snapshot(snapshot))


def _figures(plan: Plan) -> Row:
    columns: Row = {"partitions_changed": len(plan.partitions), "notes": "; ".join(plan.notes)}
    if plan.summary is None:
        return columns
    return columns | {name: getattr(plan.summary, name) for name in FIGURES}


# ---- the directory ------------------------------------------------------------------------------


def _check_output(out: Path) -> None:
    with with_path_context(out):
        if out.exists() and not out.is_dir():
            raise OutputNotOurs(f"{out}: is a file", hint="--out is a directory")
        if out.is_dir() and any(out.iterdir()) and not (out / SUMMARY).is_file():
            hint = "use a new or empty directory, or one with plans of a fleet"
            raise OutputNotOurs(f"{out}: the directory has other content", hint=hint)


@contextmanager
def _replaced_directory(out: Path) -> Generator[Path]:
    """A temporary directory that replaces `out` at the end of the block, or is removed."""
    target = Path(os.path.realpath(out))
    name = f".{target.name}-{token_hex(6)}"
    staged, before = target.parent / f"{name}.partial", target.parent / f"{name}.before"
    with with_path_context(out):
        staged.mkdir(parents=True)
    try:
        yield staged
        with with_path_context(out):
            if target.exists():
                target.rename(before)
            staged.rename(target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)
