"""A cluster and its load at one moment: the input of every plan.

The rows of every column are the rows of `assignment` (P partitions, at most K replicas each).

    wanted_rf            int32[P]      the replication factor to reach
    leader               int32[P]      -1 no leader, -2 (`UNKNOWN`) not in the source
    isr                  int32[P, K]   padded with -1; a row that starts with -2 is unknown
    adding, removing     int32[P, M]   padded with -1; M is 0 when no partition is being moved
    size                 int64[P]      bytes of one replica; -1 unknown
    bytes_in, bytes_out  float64[P]    bytes per second at the leader; NaN unknown
    log_dir              int32[P, K]   index into `log_dir_paths`, beside `replicas`; -1 unknown

Brokers are sorted by id. Files of snapshots do not contain the brokers' endpoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from kedge.errors import InvalidRequest
from kedge.model.assignment import Assignment
from kedge.model.broker import Broker
from kedge.model.columns import (
    PAD,
    UNKNOWN,
    Floats,
    Int32s,
    Int64s,
    frozen,
    same_matrix,
    widened,
)

COLUMNS = (
    *("wanted_rf", "leader", "isr", "adding", "removing"),
    *("size", "bytes_in", "bytes_out", "log_dir"),
)


@dataclass(frozen=True, slots=True)
class CpuModel:
    """Percent of a broker's cpu for each byte per second of a replica."""

    leader_in: float
    leader_out: float
    follower_in: float


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A cluster and its load at one moment; the module docstring describes the columns.

    `Snapshot.of` fills in unknown columns; the plain constructor does not check its columns.
    """

    cluster_id: str | None
    taken_at: datetime | None  # always in UTC
    brokers: tuple[Broker, ...]
    assignment: Assignment
    wanted_rf: Int32s
    leader: Int32s
    isr: Int32s
    adding: Int32s
    removing: Int32s
    size: Int64s
    bytes_in: Floats
    bytes_out: Floats
    log_dir: Int32s
    log_dir_paths: tuple[str, ...]
    cpu_model: CpuModel | None

    def __post_init__(self) -> None:
        for name in COLUMNS:
            column: npt.NDArray[Any] = getattr(self, name)
            if len(column) != len(self.assignment):
                rows = f"{name} has {len(column)} rows"
                raise InvalidRequest(f"{rows}, the assignment has {len(self.assignment)}")
            object.__setattr__(self, name, frozen(column))

    @classmethod
    def of(
        cls,
        brokers: Iterable[Broker],
        assignment: Assignment,
        *,
        cluster_id: str | None = None,
        taken_at: datetime | None = None,
        wanted_rf: npt.NDArray[Any] | None = None,
        leader: npt.NDArray[Any] | None = None,
        isr: Int32s | None = None,
        adding: Int32s | None = None,
        removing: Int32s | None = None,
        size: npt.NDArray[Any] | None = None,
        bytes_in: npt.NDArray[Any] | None = None,
        bytes_out: npt.NDArray[Any] | None = None,
        log_dir: Int32s | None = None,
        log_dir_paths: Sequence[str] = (),
        cpu_model: CpuModel | None = None,
    ) -> Snapshot:
        """Build a snapshot of what is known; the wanted factor defaults to the current one."""
        rows, width = len(assignment), int(assignment.replicas.shape[1])
        log_dir, paths = _ordered_paths(log_dir, log_dir_paths, (rows, width))
        none = np.zeros((rows, 0), np.int32)
        return cls(
            cluster_id=cluster_id,
            taken_at=taken_at,
            brokers=tuple(sorted(brokers, key=lambda broker: broker.id)),
            assignment=assignment,
            wanted_rf=_column(wanted_rf, assignment.rf, np.int32),
            leader=_column(leader, np.full(rows, UNKNOWN, np.int32), np.int32),
            isr=widened(isr, width) if isr is not None else _unknown_lists(rows, width),
            adding=none if adding is None else adding,
            removing=none if removing is None else removing,
            size=_column(size, np.full(rows, -1, np.int64), np.int64),
            bytes_in=_column(bytes_in, np.full(rows, np.nan, np.float64), np.float64),
            bytes_out=_column(bytes_out, np.full(rows, np.nan, np.float64), np.float64),
            log_dir=log_dir,
            log_dir_paths=paths,
            cpu_model=cpu_model,
        )

    def __len__(self) -> int:
        return len(self.assignment)

    @property
    def broker_ids(self) -> Int32s:
        """The ids of the brokers, ascending."""
        return np.array([broker.id for broker in self.brokers], np.int32)

    def broker_index(self, ids: Int32s) -> Int32s:
        """Return the index of each id in `brokers`; -1 stays -1. Other ids must exist."""
        index = np.searchsorted(self.broker_ids, ids).astype(np.int32)
        return np.where(ids >= 0, index, np.int32(PAD))

    @property
    def acting_leader(self) -> Int32s:
        """The leader of each partition, or the preferred one if unknown or absent."""
        return np.where(self.leader >= 0, self.leader, self.assignment.replicas[:, 0])

    @property
    def isr_known(self) -> npt.NDArray[np.bool_]:
        """Whether the source lists the in-sync replicas (the list may be empty)."""
        return (self.isr != UNKNOWN).all(axis=1)

    def with_assignment(self, assignment: Assignment) -> Snapshot:
        """Return the same cluster with other replicas; what no longer holds becomes unknown.

        Loads and wanted factors stay. The preferred replica leads, and all replicas are in sync.
        """
        rows, width = assignment.replicas.shape
        none = np.zeros((rows, 0), np.int32)
        return replace(
            self,
            assignment=assignment,
            leader=assignment.replicas[:, 0],
            isr=assignment.replicas,
            adding=none,
            removing=none,
            log_dir=np.full((rows, width), PAD, np.int32),
            log_dir_paths=(),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        names = (field.name for field in fields(self))
        return all(_same(name, getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def _same(name: str, a: Any, b: Any) -> bool:
    if name in ("isr", "adding", "removing", "log_dir"):
        return same_matrix(a, b)
    if name in ("bytes_in", "bytes_out"):
        return np.array_equal(a, b, equal_nan=True)
    return np.array_equal(a, b) if name in COLUMNS else bool(a == b)


def _column(given: npt.NDArray[Any] | None, default: npt.NDArray[Any], kind: type) -> Any:
    column: Any = default if given is None else given
    return column.astype(kind)


def _unknown_lists(rows: int, width: int) -> Int32s:
    matrix = np.full((rows, width), PAD, np.int32)
    matrix[:, :1] = UNKNOWN
    return matrix


def _ordered_paths(
    log_dir: Int32s | None, paths: Sequence[str], shape: tuple[int, int]
) -> tuple[Int32s, tuple[str, ...]]:
    """Return the paths in use, ascending, and the matrix of their indexes: a canonical form."""
    if log_dir is None or not len(paths):
        return np.full(shape, PAD, np.int32), ()
    used = np.zeros(len(paths), np.bool_)
    used[log_dir[log_dir >= 0]] = True
    names = sorted({path for path, is_used in zip(paths, used.tolist(), strict=True) if is_used})
    rank = {name: place for place, name in enumerate(names)}
    # index -1 selects the last entry: padding stays padding
    new_index = np.array([*(rank.get(path, PAD) for path in paths), PAD], np.int32)
    return widened(new_index[log_dir], shape[1]), tuple(names)
