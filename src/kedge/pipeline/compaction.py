"""Compaction merges the small files of each day; retention removes old days.

Compaction is Delta's OPTIMIZE and VACUUM, by delta-rs: it needs no Spark. Retention removes days
older than the given number of days before the last one, and the bronze, late and quarantine rows of
runs whose last row arrived before the first day that stays. The counts of removed rows stay in the
accounts. Gold is then rebuilt from the days that remain. Files are deleted when no run of the last
days needs them, so that readers and time travel keep what they have open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from kedge.errors import InvalidRequest
from kedge.pipeline.derived_files import write_derived_files
from kedge.pipeline.jobs.context import NoProgress, SessionFactory, on_demand
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.tables.delta_log import files_of, open_version
from kedge.pipeline.tables.runs import Run
from kedge.pipeline.tables.staged_run import ARRIVAL, BY_ARRIVAL, BY_DAY, DAY, StagedRun
from kedge.pipeline.tables.vacuum import delete_unused
from kedge.pipeline.warehouse import Place, Warehouse, open_warehouse, published_run

UNUSED_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """Files before and after, the days and rows removed, and the files deleted."""

    files_before: int
    files_after: int
    days_removed: tuple[str, ...]
    rows_removed: int
    files_deleted: int = 0


def compact(
    tables: Place,
    run_id: str,
    *,
    keep_days: int | None,
    session: SessionFactory,
    unused_days: float = UNUSED_DAYS,
) -> CompactionResult:
    """Merge the files of each day, and remove days beyond `keep_days` (None keeps all).

    Files that the last two runs do not have are deleted `unused_days` after they were replaced.
    """
    if keep_days is not None and keep_days < 1:
        raise InvalidRequest(f"retention of {keep_days} days", hint="keep at least one day")
    first = published_run(tables)
    with open_warehouse(tables, run_id) as warehouse, warehouse.stage() as staged:
        before = replace(warehouse.manifest, run_id=run_id)
        after, removed = apply_retention(staged, before, keep_days)
        if removed:
            _rebuild_gold(staged, after, session)
        after.accounts.check()
        run = warehouse.publish(staged, after, "compact", optimised=True)
        write_derived_files(warehouse)
        deleted = delete_unused(warehouse.location, (first, run), unused_days)
    rows = sum(before.days[day].rows for day in removed)
    count_before, count_after = (_count_files(warehouse, one) for one in (first, run))
    return CompactionResult(count_before, count_after, tuple(removed), rows, deleted)


def apply_retention(
    staged: StagedRun, manifest: Manifest, keep_days: int | None
) -> tuple[Manifest, Sequence[str]]:
    """Remove old days from the tables; return the manifest without them, and the days."""
    if keep_days is None or not manifest.days:
        return manifest, ()
    last = date.fromisoformat(max(manifest.days))
    first = (last - timedelta(days=keep_days - 1)).isoformat()
    old = sorted(day for day in manifest.days if day < first)
    for table in (*BY_DAY, *BY_ARRIVAL):
        column = ARRIVAL if table in BY_ARRIVAL else DAY
        gone = [one for one in staged.files(table) if (one.partition.get(column) or first) < first]
        if gone:
            staged.remove(table, gone)
    days = {day: counts for day, counts in manifest.days.items() if day not in old}
    retired = sum((manifest.days[day] for day in old), manifest.retired)
    return replace(manifest, days=days, retired=Day(retired.rows, retired.copies)), old


def _rebuild_gold(staged: StagedRun, manifest: Manifest, session: SessionFactory) -> None:
    from kedge.pipeline.jobs.gold import refresh_gold

    with on_demand(session, NoProgress()) as spark:
        refresh_gold(spark, staged, manifest=manifest, changed=())


def _count_files(warehouse: Warehouse, run: Run) -> int:
    opened = (open_version(warehouse.location, *pinned) for pinned in run.versions.items())
    return sum(len(files_of(one)) for one in opened)
