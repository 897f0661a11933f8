"""Rows in columns, as they are made: names are still numbers, and nulls still marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# what a malformed row suffers from; a row's `fault` is its place here plus one, 0 for none
KINDS = (
    *("null_ts", "null_broker", "negative_size", "negative_bytes"),
    *("unknown_broker", "future_ts", "isr_gt_rf", "empty_topic"),
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Samples by column; times are microseconds, cluster and topic are indices."""

    cluster: Integers
    broker: Integers
    topic: Integers
    partition: Integers
    ts: Integers
    ingest_ts: Integers
    seq: Integers
    is_leader: NDArray[np.bool_]
    size_bytes: Integers
    bytes_in: Integers
    bytes_out: Integers
    isr: Integers
    fault: Integers

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Those rows, by index or by mask."""
        return Rows(**{field.name: getattr(self, field.name)[chosen] for field in fields(Rows)})

    def but(self, **columns: NDArray[Any]) -> Rows:
        """The rows with other values in some columns."""
        return replace(self, **columns)

    def has(self, kind: str) -> NDArray[np.bool_]:
        """Which rows suffer from that."""
        return self.fault == KINDS.index(kind) + 1


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, in their order."""
    names = [field.name for field in fields(Rows)]
    return Rows(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
