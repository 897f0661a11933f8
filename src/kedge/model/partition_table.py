"""What a file says of its partitions: unchecked, and in the file's own order of rows.

The readers of JSON and of Arrow both end here, and the checks start here (`snapshot_checks`),
so that a fault is named by the row and field of the file that has it. Numbers are as wide as
the source may hold them; a column that may be silent says for each row whether it was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from kedge.model.assignment import Assignment, ordered_topics, row_order
from kedge.model.broker import Broker
from kedge.model.columns import NOT_TOLD, PAD, Bools, Floats, Int32s, Int64s, Ragged
from kedge.model.snapshot import CpuModel, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """Whole numbers, some of which may not be told."""

    values: Int64s
    told: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """Numbers, some of which may not be told."""

    values: Floats
    told: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Lists of whole numbers, some of which may not be told (and are empty here)."""

    lists: Ragged
    told: Bools


@dataclass(frozen=True, slots=True, eq=False)
class PartitionTable:
    """Columns of one row per partition; `log_dirs` has indexes into `paths`, -1 for none."""

    topics: Sequence[str]
    topic: Int64s
    partition: Int64s
    replicas: Ragged
    wanted_rf: Int64s
    leader: Whole
    isr: Lists
    adding: Ragged
    removing: Ragged
    size: Whole
    bytes_in: Real
    bytes_out: Real
    log_dirs: Lists
    paths: Sequence[str]

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of the snapshot as a whole."""

    cluster_id: str | None = None
    taken_at: datetime | None = None
    cpu_model: CpuModel | None = None


def snapshot_of_table(header: Header, brokers: Iterable[Broker], table: PartitionTable) -> Snapshot:
    """The snapshot that a checked table says, its rows brought in order."""
    names, topic = ordered_topics(table.topics, table.topic)
    order = row_order(topic, table.partition)
    rows = slice(None) if order is None else order
    replicas = table.replicas.padded()[rows]
    width = replicas.shape[1]
    assignment = Assignment(
        names, topic[rows].astype(np.int32), table.partition[rows].astype(np.int32), replicas
    )
    return Snapshot.of(
        brokers,
        assignment,
        cluster_id=header.cluster_id,
        taken_at=header.taken_at,
        wanted_rf=table.wanted_rf[rows],
        leader=np.where(table.leader.told, table.leader.values, NOT_TOLD)[rows],
        isr=_told_matrix(table.isr, width)[rows],
        adding=table.adding.padded()[rows],
        removing=table.removing.padded()[rows],
        size=np.where(table.size.told, table.size.values, -1)[rows],
        bytes_in=np.where(table.bytes_in.told, table.bytes_in.values, np.nan)[rows],
        bytes_out=np.where(table.bytes_out.told, table.bytes_out.values, np.nan)[rows],
        log_dir=table.log_dirs.lists.padded(width)[rows],
        log_dir_paths=table.paths,
        cpu_model=header.cpu_model,
    )


def _told_matrix(column: Lists, width: int) -> Int32s:
    matrix = column.lists.padded(width)
    matrix[~column.told, :1] = NOT_TOLD
    return matrix


def indexed(names: Iterable[str | None]) -> tuple[list[str], list[int]]:
    """Distinct names in order of appearance, and for each name its index; -1 for None."""
    index: dict[str | None, int] = {}
    places = [PAD if name is None else index.setdefault(name, len(index)) for name in names]
    return [name for name in index if name is not None], places
