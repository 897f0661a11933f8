"""Reads the published tables with pyarrow, without Spark: the only module that knows their storage.

A reader names a table by its path below `--tables` (`gold/findings`) and gets Arrow columns. All
reads of one `Tables` are of the same run, also if another run is published meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kedge.errors import InvalidRequest
from kedge.files import read_table
from kedge.model.arrow import Table, arrow, compute
from kedge.model.columns import Floats
from kedge.pipeline.manifest import Settings, read_manifest
from kedge.pipeline.reference import Reference, stored_reference
from kedge.pipeline.warehouse import published_version

Condition = tuple[str, str, Any]  # as ("cluster", "=", "c00")
DAY_PREFIX = "dt="


class Tables:
    """The tables of one published run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._version = published_version(root)

    @cached_property
    def reference(self) -> Reference:
        """Brokers, partitions and replicas, as the run was given them."""
        return stored_reference(self._version / "reference")

    @cached_property
    def settings(self) -> Settings:
        """Windows and sampling intervals, in seconds."""
        return read_manifest(self._version).settings

    def has(self, name: str) -> bool:
        """Whether the run has this table."""
        return (self._version / name).is_dir()

    def days(self, name: str) -> list[str]:
        """The days of a table that is kept by day, ascending."""
        found = (self._version / name).glob(f"{DAY_PREFIX}*")
        return sorted(path.name.removeprefix(DAY_PREFIX) for path in found)

    def read(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        *,
        where: Sequence[Condition] = (),
        day: str | None = None,
    ) -> Table:
        """The rows of a table, or of one of its days, for which all conditions hold."""
        if not self.has(name):
            hint = "run `kedge pipeline ingest`"
            raise InvalidRequest(f"{self.root}: no table {name} yet", hint=hint)
        path = self._version / name
        return read_table(
            path if day is None else path / f"{DAY_PREFIX}{day}",
            columns=None if columns is None else list(columns),
            filters=list(where) or None,
            partitioning=None,
        )

    def chosen_clusters(self, cluster: str | None) -> list[str]:
        """This cluster, or all of them; refused if the tables do not know it."""
        known = self.reference.clusters
        if cluster is None:
            return known
        if cluster not in known:
            hint = f"clusters: {', '.join(known[:10])}"
            raise InvalidRequest(f"{self.root}: unknown cluster {cluster}", hint=hint)
        return [cluster]


def seconds_of(column: Any) -> Floats:
    """Timestamps as seconds since the epoch."""
    micros = column.cast(arrow().timestamp("us"), safe=False).cast(arrow().int64())
    return floats_of(micros) / 1e6


def floats_of(column: Any) -> Floats:
    """Numbers as floating point; NaN for null."""
    values = compute().cast(column, arrow().float64(), safe=False)
    return _numpy(compute().fill_null(values, float("nan"))).astype(np.float64)


def integers_of(column: Any) -> Any:
    """Whole numbers; 0 for null."""
    values = compute().cast(column, arrow().int64())
    return _numpy(compute().fill_null(values, 0)).astype(np.int64)


def _numpy(column: Any) -> Any:
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return whole.to_numpy(zero_copy_only=False)
