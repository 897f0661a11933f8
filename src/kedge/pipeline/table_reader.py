"""Reads the tables of a run with delta-rs and Arrow, without Spark.

A reader names a table by its path below `--tables` (`gold/findings`) and gets Arrow columns. All
reads of one `Tables` are of the same run, also if another run is published meanwhile.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from kedge.errors import InvalidRequest, MalformedInput
from kedge.files import parquet
from kedge.model.arrow import Table, arrow, compute
from kedge.model.columns import Floats
from kedge.pipeline.manifest import Settings
from kedge.pipeline.reference import Reference, stored_reference
from kedge.pipeline.tables.delta_log import open_version
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.staged_run import ARRIVAL, DAY
from kedge.pipeline.tables.store_errors import error_line
from kedge.pipeline.warehouse import Place, published_run

Condition = tuple[str, str, Any]  # as ("cluster", "=", "c00")


class Tables:
    """The tables of one run: the last one, or one by its id or number."""

    def __init__(self, root: Place, run: str = "") -> None:
        self.root = root
        self.location = Location.of(root)
        self.run = published_run(root, run)

    @cached_property
    def reference(self) -> Reference:
        """Brokers, partitions and replicas, as the run was given them."""
        return stored_reference(self.read)

    @property
    def settings(self) -> Settings:
        """Windows and sampling intervals, in seconds."""
        return self.run.manifest.settings

    def has(self, name: str) -> bool:
        """Whether the run has this table."""
        return name in self.run.versions

    def days(self, name: str) -> list[str]:
        """The days of a table that is kept by day, ascending."""
        if not self.has(name):
            return []
        days = {part[DAY] for part in self.open(name).partitions()}
        return sorted(day for day in days if day)

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
        conditions = [*where, *([(DAY, "=", day)] if day is not None else [])]
        with _damage(self.location.child(name)), self.location.errors(name):
            dataset = self._dataset(name)
            chosen = self._columns(dataset, columns)
            if self.location.is_local:
                return dataset.to_table(columns=chosen, filter=_all_hold(conditions))
            files = dataset.get_fragments(filter=_all_hold(conditions))
            return _read_one_by_one(files, dataset.schema, chosen, where)

    def _dataset(self, name: str) -> Any:
        """A table as Arrow's dataset; local files are read without Python, by threads of Arrow."""
        if not self.location.is_local:
            return self.open(name).to_pyarrow_dataset()
        fs: Any = import_module("pyarrow.fs")
        files = fs.SubTreeFileSystem(self.location.child(name), fs.LocalFileSystem())
        return self.open(name).to_pyarrow_dataset(filesystem=files)

    def open(self, name: str) -> Any:
        """The table as delta-rs opens it, at the version of this run."""
        return open_version(self.location, name, self.run.versions[name])

    def _columns(self, dataset: Any, columns: Sequence[str] | None) -> list[str]:
        """The columns without those that only say where a file is."""
        if columns is not None:
            return list(columns)
        return [name for name in dataset.schema.names if name not in (DAY, ARRIVAL)]

    def chosen_clusters(self, cluster: str | None) -> list[str]:
        """This cluster, or all of them; refused if the tables do not know it."""
        known = self.reference.clusters
        if cluster is None:
            return known
        if cluster not in known:
            hint = f"clusters: {', '.join(known[:10])}"
            raise InvalidRequest(f"{self.root}: unknown cluster {cluster}", hint=hint)
        return [cluster]


def _all_hold(conditions: Sequence[Condition]) -> Any:
    """The conditions as an expression of Arrow; None without any."""
    return parquet().filters_to_expression(list(conditions)) if conditions else None


def _read_one_by_one(
    files: Iterable[Any], schema: Any, columns: Sequence[str], where: Sequence[Condition]
) -> Table:
    """The rows of remote files for which all conditions hold.

    Arrow's scanner closes files in threads of its own, some of them when its result is there
    already. Remote files are Python objects: to close one while Python exits aborts the process.
    """
    wanted = _all_hold(where)
    names = [*columns, *(name for name, _, _ in where if name not in columns)]
    parts: list[Table] = [schema.empty_table().select(columns)]
    for one in files:
        file = parquet().ParquetFile(one.path, filesystem=one.filesystem)
        present = [name for name in names if name in file.schema_arrow.names]
        if any(name not in present for name, _, _ in where):
            continue  # a column that the file lacks is null
        for batch in file.iter_batches(columns=present):
            rows = arrow().Table.from_batches([batch])
            rows = rows if wanted is None else rows.filter(wanted)
            parts.append(rows.select([name for name in columns if name in present]))
    return arrow().concat_tables(parts, promote_options="permissive")


@contextmanager
def _damage(place: str) -> Generator[None]:
    """Raise errors of Arrow about damaged files as refusals."""
    try:
        yield
    except arrow().ArrowException as error:
        what = f"a file of the table is damaged ({error_line(error)})"
        raise MalformedInput(what, place=place) from error


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
