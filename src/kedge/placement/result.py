"""A placement: which brokers hold which partitions, as columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import orjson
from numpy.typing import NDArray

from kedge.model import BrokerId
from kedge.placement.brokers import id_column

_DIGEST_STEP = 50_000  # partitions turned to text at a time


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Replica lists of equal length, one row per partition, the preferred leader first.

    `ids` ascend. They are a range unless single partitions were placed by hand.
    """

    ids: Sequence[int]
    replicas: NDArray[np.int32]

    def __post_init__(self) -> None:
        assert self.replicas.ndim == 2
        assert len(self.ids) == len(self.replicas)
        self.replicas.flags.writeable = False

    @classmethod
    def from_lists(cls, lists: Mapping[int, Sequence[BrokerId]]) -> Placement:
        """A placement of lists that are known to have one length."""
        ids = sorted(lists)
        width = len(lists[ids[0]]) if ids else 0
        cells = id_column([broker for partition in ids for broker in lists[partition]])
        return cls(tuple(ids), cells.reshape(len(ids), width))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def replication_factor(self) -> int:
        """How many replicas each partition has."""
        return int(self.replicas.shape[1])

    def as_mapping(self) -> dict[int, tuple[BrokerId, ...]]:
        """Partition id to replica list, as plain values."""
        columns: list[list[BrokerId]] = self.replicas.T.tolist()
        rows = zip(*columns, strict=True) if columns else repeat((), len(self))
        return dict(zip(self.ids, rows, strict=True))

    def leaders_per_broker(self) -> dict[BrokerId, int]:
        """How many partitions each broker is the preferred leader of; brokers with none absent."""
        return _counts(self.replicas[:, :1])

    def replicas_per_broker(self) -> dict[BrokerId, int]:
        """How many replicas each broker holds; brokers with none are absent."""
        return _counts(self.replicas)

    def digest(self) -> str:
        """SHA-256 of the text `[[id,[broker,broker]],…]`, ascending ids and no spaces."""
        running = hashlib.sha256(b"[")
        for at in range(0, len(self), _DIGEST_STEP):
            rows = self.replicas[at : at + _DIGEST_STEP].tolist()
            ids = self.ids[at : at + _DIGEST_STEP]
            text = orjson.dumps(list(zip(ids, rows, strict=True)))
            running.update(b"," if at else b"")
            running.update(text[1:-1])
        running.update(b"]")
        return running.hexdigest()


def _counts(cells: NDArray[np.int32]) -> dict[BrokerId, int]:
    ids, counts = np.unique(cells, return_counts=True)
    return dict(zip(map(BrokerId, ids.tolist()), counts.tolist(), strict=True))
