"""Leaders, replicas and ISR of partitions over time, kept beside the measurements.

`measurements/leaders` has one row for each partition and change, or for what was `observed` of a
live cluster at a moment and differs from what was known before. The newest row of each partition
is its assignment; partitions that no row names have that of their newest samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from kedge.metrics.measurement import NONE
from kedge.metrics.parsing.cluster_metadata import LeaderHistory
from kedge.metrics.replica_samples import StateRow
from kedge.model.arrow import arrow
from kedge.pipeline.tables.staged_run import StagedRun

LEADERS: Final = "measurements/leaders"
Row = dict[str, Any]


def leaders_schema() -> Any:
    """The columns of the table."""
    pa = arrow()
    ids = pa.list_(pa.int32())
    return pa.schema(
        [
            *(("cluster", pa.string()), ("topic", pa.string()), ("partition", pa.int32())),
            *(("since_ms", pa.int64()), ("leader", pa.int32()), ("replicas", ids), ("isr", ids)),
            ("observed", pa.bool_()),  # null in rows of before it was told apart: a change
        ]
    )


def history_rows(cluster: str, history: LeaderHistory) -> list[Row]:
    """The changes of each partition, one row each."""
    rows: list[Row] = []
    last: dict[tuple[str, int], Any] = {}
    for change in history:
        for topic, partitions in change.topics.items():
            for partition, state in partitions.items():
                if last.get((topic, partition)) == state:
                    continue
                last[topic, partition] = state
                rows.append(
                    {
                        "cluster": cluster,
                        "topic": topic,
                        "partition": partition,
                        "since_ms": change.ts_ms,
                        "leader": state.leader,
                        "replicas": list(state.replicas),
                        "isr": list(state.isr),
                        "observed": change.observed,
                    }
                )
    return rows


def stored_rows(staged: StagedRun) -> list[Row]:
    """The rows that earlier runs stored."""
    return staged.read(LEADERS).to_pylist() if staged.has(LEADERS) else []


def merged_rows(stored: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Both, sorted; a new row replaces a stored one of the same partition and moment.

    A row that repeats the one before is left out: each run on a live cluster brings the states of
    all partitions, and few have changed.
    """
    rows: dict[tuple[Any, ...], Row] = {}
    for row in (*stored, *new):
        rows[row["cluster"], row["topic"], row["partition"], row["since_ms"]] = row
    ordered = [rows[key] for key in sorted(rows)]
    return [row for before, row in pairwise([{}, *ordered]) if not _repeats(row, before)]


def _repeats(row: Row, before: Row) -> bool:
    names = ("cluster", "topic", "partition", "leader", "replicas", "isr")
    if bool(row.get("observed")) != bool(before.get("observed")):
        return False
    return all(name in before and before[name] == row[name] for name in names)


def write_rows(rows: list[Row], staged: StagedRun) -> None:
    """Store the rows; nothing without rows."""
    if rows:
        staged.write_arrow(LEADERS, arrow().Table.from_pylist(rows, schema=leaders_schema()))


def states_of(rows: Iterable[Row], cluster: str) -> dict[str, list[StateRow]]:
    """The states of a cluster's partitions over time, by topic."""
    states: dict[str, list[StateRow]] = {}
    for row in rows:
        if row["cluster"] == cluster:
            states.setdefault(row["topic"], []).append(
                StateRow(
                    row["partition"],
                    row["since_ms"],
                    row["leader"],
                    tuple(row["replicas"]),
                    tuple(row["isr"]),
                    bool(row.get("observed")),
                )
            )
    return states


def assignment_rows(states: Iterable[Row], seen: Iterable[Row]) -> list[Row]:
    """The assignment: the newest state of each partition, or else what its samples say.

    `seen` has cluster, topic, partition, replicas and leader.
    """
    newest: dict[tuple[str, str, int], Row] = {}
    for row in states:
        if row["replicas"]:
            newest[row["cluster"], row["topic"], row["partition"]] = row
    for row in seen:
        newest.setdefault((row["cluster"], row["topic"], row["partition"]), row)
    return [
        {
            "cluster": key[0],
            "topic": key[1],
            "partition": key[2],
            "replicas": row["replicas"],
            "leader": None if row["leader"] in (None, NONE) else row["leader"],
        }
        for key, row in sorted(newest.items())
    ]
