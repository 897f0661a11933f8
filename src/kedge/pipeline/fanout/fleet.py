"""A plan for every cluster of gold, each as a file; and one table of what they come to.

    plans/
      fleet.parquet    one row for each cluster: what its plan comes to, or why there is none
      c00.json         the plan of cluster c00, as `kedge plan --seed …` makes it
      c01.json

The directory is made beside its place and takes it when all plans are there, so that it never
holds plans of two runs. The same tables, goals and seed give the same files, byte for byte,
wherever they are made: the time of the run is left out of them.
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
from kedge.pipeline.fanout.spread import MAP, Columns, Row, spread
from kedge.pipeline.jobs.progress import Progress, Silent
from kedge.pipeline.warehouse import published
from kedge.plan import Plan, plan_to_json

if TYPE_CHECKING:
    from kedge.pipeline.jobs.ingest import OpenSession

SUMMARY = "fleet.parquet"
ASKED: Columns = {"name": "string", "snapshot": "string"}
ANSWERED: Columns = {
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
class FleetOrder:
    """Which tables, where plans go, and what is asked of each."""

    history: Path
    out: Path
    goals: Goals = field(default_factory=Goals)
    seed: int = 0


def fleet(order: FleetOrder, session: OpenSession, *, progress: Progress | None = None) -> Table:
    """Plan every cluster; the table of what came of it, which is also in the directory."""
    _check_place(order.out)
    rows = clusters_of(order.history)
    told = progress or Silent()
    with _beside(order.out) as staged:
        work = partial(_planned, directory=str(staged), goals=order.goals, seed=order.seed)
        with session() as spark:
            told.attach(spark)
            told.stage("clusters", len(rows))
            table = spread(spark, rows, work, takes=ASKED, gives=ANSWERED)
        parquet().write_table(table, staged / SUMMARY, compression="zstd")
    return table


def clusters_of(history: Path) -> list[Row]:
    """Each cluster of the current tables: what its files are called, where its snapshot is."""
    snapshots = published(history) / "gold" / "snapshot"
    found = sorted(path for path in snapshots.glob("*") if path.is_dir())
    if not found:
        raise InvalidRequest(f"{history}: there are no snapshots yet", hint="ingest something")
    return [{"name": path.name, "snapshot": str(path)} for path in found]


# ---- on a worker --------------------------------------------------------------------------------


def _planned(row: Row, *, directory: str, goals: Goals, seed: int) -> list[Row]:
    snapshot = read_snapshot(row["snapshot"])
    told = {
        "cluster": row["name"] if snapshot.cluster_id is None else snapshot.cluster_id,
        "brokers": len(snapshot.brokers),
        "partitions": len(snapshot),
    }
    try:
        plan = plan_for(snapshot, goals, seed)
    except KedgeError as refused:
        return [told | {"feasible": False, "reason": str(refused)}]
    name = f"{row['name']}.json"  # a name of a file already: it may differ from the cluster's
    # A task that is tried again writes the same bytes to the same place.
    write_atomically(Path(directory) / name, plan_to_json(plan))
    return [told | {"feasible": True, "plan": name} | _figures(plan)]


def plan_for(snapshot: Snapshot, goals: Goals, seed: int) -> Plan:
    """The plan that `kedge plan` makes, without the times of its making."""
    plan = plan_of(snapshot, goals, seed)
    return replace(plan, snapshot_sha256=sha256_of_snapshot(snapshot))


def _figures(plan: Plan) -> Row:
    told: Row = {"partitions_changed": len(plan.partitions), "notes": "; ".join(plan.notes)}
    if plan.summary is None:
        return told
    return told | {name: getattr(plan.summary, name) for name in FIGURES}


# ---- the directory ------------------------------------------------------------------------------


def _check_place(out: Path) -> None:
    with with_path_context(out):
        if out.exists() and not out.is_dir():
            raise OutputNotOurs(f"{out}: this is a file", hint="--out names a directory")
        if out.is_dir() and any(out.iterdir()) and not (out / SUMMARY).is_file():
            hint = "name a new or empty directory, or one of plans of a fleet"
            raise OutputNotOurs(f"{out}: this directory holds something else", hint=hint)


@contextmanager
def _beside(out: Path) -> Generator[Path]:
    """A directory that takes the place of `out` at the end of the block, or else is gone."""
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
