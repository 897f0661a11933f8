"""Generated samples as numpy arrays: names are indices, and nulls are marked in `fault`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# kinds of malformed rows; `fault` is the index of the kind plus one, 0 for none
KINDS = (
    *("null_ts", "null_broker", "negative_size", "negative_bytes"),
    *("unknown_broker", "future_ts", "isr_gt_rf", "empty_topic"),
)


@dataclass(frozen=True, slots=True)
class SampleArrays:
    """One array per column; times are microseconds, cluster and topic are indices."""

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

    def take(self, chosen: NDArray[Any]) -> SampleArrays:
        """Select rows by index or mask."""
        return SampleArrays(
            **{field.name: getattr(self, field.name)[chosen] for field in fields(SampleArrays)}
        )

    def with_columns(self, **columns: NDArray[Any]) -> SampleArrays:
        """The rows with some columns replaced."""
        return replace(self, **columns)

    def has(self, kind: str) -> NDArray[np.bool_]:
        """Which rows have this kind of error."""
        return self.fault == KINDS.index(kind) + 1


def concatenate(parts: Sequence[SampleArrays]) -> SampleArrays:
    """Concatenate rows."""
    names = [field.name for field in fields(SampleArrays)]
    return SampleArrays(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )
