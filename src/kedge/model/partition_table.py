"""The partitions of a snapshot file as unchecked columns, in the file's row order.

The readers of JSON and of Arrow both produce this table, and `snapshot_checks` checks it, so that
an error names the row and field of the file. Integers are 64 bits wide, as in the source; an
optional column has a mask of the rows where it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from kedge.model.assignment import Assignment, ordered_topics, row_order
from kedge.model.broker import Broker
from kedge.model.columns import (
    PAD,
    UNKNOWN,
    FloatColumn,
    Int32s,
    Int64s,
    IntColumn,
    ListColumn,
    Ragged,
)
from kedge.model.snapshot import CpuModel, Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class PartitionTable:
    """Columns of one row per partition; `log_dirs` has indexes into `paths`, -1 for none."""

    topics: Sequence[str]
    topic: Int64s
    partition: Int64s
    replicas: Ragged
    wanted_rf: Int64s
    leader: IntColumn
    isr: ListColumn
    adding: Ragged
    removing: Ragged
    size: IntColumn
    bytes_in: FloatColumn
    bytes_out: FloatColumn
    log_dirs: ListColumn
    paths: Sequence[str]

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a file that describe the snapshot as a whole."""

    cluster_id: str | None = None
    taken_at: datetime | None = None
    cpu_model: CpuModel | None = None


def snapshot_of_table(header: Header, brokers: Iterable[Broker], table: PartitionTable) -> Snapshot:
    """Build the snapshot of a checked table, with sorted rows."""
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
        leader=np.where(table.leader.known, table.leader.values, UNKNOWN)[rows],
        isr=_padded_or_unknown(table.isr, width)[rows],
        adding=table.adding.padded()[rows],
        removing=table.removing.padded()[rows],
        size=np.where(table.size.known, table.size.values, -1)[rows],
        bytes_in=np.where(table.bytes_in.known, table.bytes_in.values, np.nan)[rows],
        bytes_out=np.where(table.bytes_out.known, table.bytes_out.values, np.nan)[rows],
        log_dir=table.log_dirs.lists.padded(width)[rows],
        log_dir_paths=table.paths,
        cpu_model=header.cpu_model,
    )


def _padded_or_unknown(column: ListColumn, width: int) -> Int32s:
    matrix = column.lists.padded(width)
    matrix[~column.known, :1] = UNKNOWN
    return matrix


def indexed(names: Iterable[str | None]) -> tuple[list[str], list[int]]:
    """Return distinct names in order of appearance, and the index of each name; -1 for None."""
    index: dict[str | None, int] = {}
    places = [PAD if name is None else index.setdefault(name, len(index)) for name in names]
    return [name for name in index if name is not None], places
