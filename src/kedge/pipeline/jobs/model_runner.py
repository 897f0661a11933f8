"""Runs the functions of `kedge.pipeline.models`: in this process, or by Spark's workers.

To start a Spark job takes longer than to roll up a few million rows and to compute their models.
Larger tables Spark rolls up, and they are split by key into parts that its workers compute, each
with the same function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline import sinks
from kedge.pipeline.jobs.closed_days import BROKER_HISTORY, PARTITION_HISTORY, DaysToRead
from kedge.pipeline.jobs.context import SessionOnDemand
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.models import courses
from kedge.pipeline.models.history import (
    History,
    Subject,
    add_days,
    from_table,
    no_history,
    to_table,
    with_hourly_sizes,
    with_narrow_bands,
)
from kedge.pipeline.models.key_index import PARTITION_KEY, on_days
from kedge.pipeline.models.load_models import (
    BROKERS,
    PARTITIONS,
    broker_load,
    has_all_percentiles,
    partition_load,
)
from kedge.pipeline.session import LOCAL_ROWS_MAX
from kedge.pipeline.tables.staged_run import DAY, StagedRun
from kedge.pipeline.transforms import day_of, roll_up, roll_up_brokers

ROWS_PER_TASK: Final = 500_000
COURSE_COLUMNS: Final = (
    *(*PARTITION_KEY, "window_start", "bytes_in", "bytes_out", "samples", "size"),
    *("min_isr", "max_isr"),
)
VALUES: Final = (*PARTITION_KEY, "bytes_in", "bytes_out")
PART: Final = "part"  # the table that a row is of, where several go to one worker

Kernel = Callable[[dict[str, Table]], Table]


@dataclass(frozen=True, slots=True)
class ModelRunner:
    """The staged tables, and how many rows each day has."""

    session: SessionOnDemand
    staged: StagedRun
    manifest: Manifest
    local_rows_max: int = LOCAL_ROWS_MAX

    # ---- roll-up and time series ----------------------------------------------------------------

    def write_rollup(self, days: Sequence[str]) -> None:
        """Write the roll-up of these days."""
        table, window_s = "gold/rollup", self.manifest.settings.window_s
        if self._samples(days) <= self.local_rows_max:
            for day in days:
                samples = self.staged.read_rows("silver", courses.SAMPLE_INPUT, [day])
                rolled = courses.roll_up(samples, window_s=window_s)
                self._replace_days(table, rolled, [day])
            return
        silver = self._spark_table("silver", courses.SAMPLE_INPUT, days)
        rolled = roll_up(silver, window_s=window_s)
        dated = rolled.withColumn(DAY, day_of("window_start"))
        sinks.replace_days(self.staged, table, dated, days)

    def write_courses(self, days: Sequence[str]) -> None:
        """Write the time series of partitions and brokers on these days."""
        files = self.staged.files("gold/rollup", days)
        if sum(one.rows for one in files) > self.local_rows_max:
            self._write_courses_with_spark(days)
            return
        made = {
            "gold/partition_course": (courses.partition_course, courses.PARTITION_INPUT),
            "gold/broker_course": (courses.broker_course, courses.BROKER_INPUT),
        }
        names = dict.fromkeys((*courses.PARTITION_INPUT, *courses.BROKER_INPUT))
        rollup = self.staged.read_rows("gold/rollup", [*names], days)
        for table, (function, columns) in made.items():
            self._replace_days(table, function(rollup.select(list(columns))), days)

    def _write_courses_with_spark(self, days: Sequence[str]) -> None:
        """Partitions by workers, a part each; a broker has too many rows for one of them."""
        replicas = self._spark_table("gold/rollup", courses.PARTITION_INPUT, days)
        partitions = self._mapped(
            {"": replicas}, PARTITION_KEY, lambda parts: courses.partition_course(parts[""])
        )
        brokers = roll_up_brokers(self._spark_table("gold/rollup", courses.BROKER_INPUT, days))
        for table, rows in (
            ("gold/partition_course", partitions),
            ("gold/broker_course", brokers),
        ):
            sinks.replace_days(
                self.staged, table, rows.withColumn(DAY, day_of("window_start")), days
            )

    def _replace_days(self, table: str, rows: Table, days: Sequence[str]) -> None:
        for day in days:
            of_day = rows.filter(on_days(rows.column("window_start"), [day]))
            if len(of_day):
                self.staged.write_arrow(table, of_day, day)
            elif self.staged.has(table):
                self.staged.remove(table, self.staged.files(table, [day]))

    def _samples(self, days: Sequence[str]) -> int:
        return sum(self.manifest.days[day].rows for day in days)

    # ---- models ---------------------------------------------------------------------------------

    def write_partition_load(self, days: DaysToRead) -> None:
        """Write the models of partitions, and the history of the closed days."""
        read = (*days.to_close, *days.open)
        if self._samples(read) > self.local_rows_max:
            self._write_with_spark(days)
        else:
            history = self._closed(PARTITION_HISTORY, PARTITIONS, days, self._partition_days)
            grown = add_days(history, PARTITIONS, *self._partition_days(days.open))
            model = partition_load(grown)
            if days.valid and not has_all_percentiles(model):
                self.write_partition_load(days.anew())
                return
            self.staged.write_arrow("gold/partition_load", model)

    def write_broker_load(self, days: DaysToRead, disk_use: Table) -> None:
        """Write the models of brokers, and the history of the closed days."""
        history = self._closed(BROKER_HISTORY, BROKERS, days, self._broker_days)
        model = broker_load(add_days(history, BROKERS, *self._broker_days(days.open)), disk_use)
        if days.valid and not has_all_percentiles(model):
            self.write_broker_load(days.anew(), disk_use)
            return
        self.staged.write_arrow("gold/broker_load", model)

    def _closed(
        self, table: str, subject: Subject, days: DaysToRead, read: Callable[..., tuple[Table, ...]]
    ) -> History:
        """The history of the closed days, which is stored if it has changed."""
        added = read(days.to_close)
        if days.valid:
            history = from_table(self.staged.read_rows(table), subject)
        else:
            history = no_history(subject, added[0])
        if not days.to_close:
            return history
        history = with_hourly_sizes(add_days(history, subject, *added))
        stored = to_table(with_narrow_bands(history))
        self.staged.write_arrow(table, days.marked(stored))
        return history

    def _partition_days(self, days: Sequence[str]) -> tuple[Table, Table]:
        course = self.staged.read_rows("gold/partition_course", COURSE_COLUMNS, days)
        columns = [*VALUES, "is_leader"]
        samples = self.staged.read_rows("silver", columns, days)
        return course, samples.filter(samples.column("is_leader")).select(list(VALUES))

    def _broker_days(self, days: Sequence[str]) -> tuple[Table]:
        return (self.staged.read_rows("gold/broker_course", days=days),)

    # ---- models of many rows --------------------------------------------------------------------

    def _write_with_spark(self, days: DaysToRead) -> None:
        """The same by Spark's workers, a part of the partitions each.

        The history of the closed days may lack a percentile of all days: then these are read.
        """
        if days.to_close:
            self._write_history(days)
        columns = ["max", "p50", "p95", "out_p50", "out_p95"]
        if days.closed:
            self._write_models(days, days.open, history=True)
            if has_all_percentiles(self.staged.read("gold/partition_load", columns)):
                return
            if days.valid:
                self._write_history(days.anew())
        self._write_models(days, days.every, history=False)

    def _write_models(self, days: DaysToRead, read: Sequence[str], *, history: bool) -> None:
        model = self._mapped(self._parts(days, read, history=history), PARTITION_KEY, open_model)
        sinks.replace_table(self.staged, "gold/partition_load", model, files=0)

    def _write_history(self, days: DaysToRead) -> None:
        parts = self._parts(days, days.to_close, history=days.valid)
        closing = self._mapped(
            parts, PARTITION_KEY, lambda parts: days.marked(closed_history(parts))
        )
        sinks.replace_table(self.staged, PARTITION_HISTORY, closing, files=0)

    def _parts(
        self, days: DaysToRead, wanted: Sequence[str], *, history: bool = False
    ) -> dict[str, DataFrame]:
        silver = self._spark_table("silver", days=wanted)
        open_days = day_of("window_start").isin(list(days.open))
        course = self._spark_table("gold/partition_course", COURSE_COLUMNS, wanted)
        parts = {
            "samples": silver.where("is_leader").select(*VALUES),
            "open": course.where(open_days),
            "closed": course.where(~open_days),
        }
        if history:
            parts["history"] = self._spark_table(PARTITION_HISTORY)
        return parts

    def _spark_table(
        self, table: str, columns: Sequence[str] = (), days: Sequence[str] | None = None
    ) -> DataFrame:
        schema = sinks.stored_schema(self.staged, table)
        self.staged.rows_read += sum(one.rows for one in self.staged.files(table, days))
        rows = sinks.read(self.session(), self.staged, table, schema, days=days)
        return rows.select(*columns) if columns else rows

    def _mapped(self, parts: dict[str, DataFrame], key: Sequence[str], kernel: Kernel) -> DataFrame:
        """The rows that a function makes of all rows of some keys, for all keys."""
        types: Any = import_module("pyspark.sql.pandas.types")
        tagged = [_tagged(name, frame, key) for name, frame in parts.items()]
        rows = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tagged)
        count = max(2, self.manifest.accounts.kept // ROWS_PER_TASK)
        empty = kernel(
            {
                name: types.to_arrow_schema(one.schema, timezone="UTC").empty_table()
                for name, one in parts.items()
            }
        )
        names = {name: frame.columns for name, frame in parts.items()}
        work: Any = _part_function(names, tuple(key), kernel)
        spread = rows.repartition(count, *key)
        return spread.mapInArrow(work, types.from_arrow_schema(empty.schema))


def _tagged(name: str, frame: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows of a part with its name; parts have columns of the same name and other types."""
    columns = [F.col(each).alias(_stored(name, each, key)) for each in frame.columns]
    return frame.select(*columns, F.lit(name).alias(PART))


def _stored(part: str, column: str, key: Sequence[str]) -> str:
    return column if column in key else f"{part}:{column}"


def _part_function(
    names: dict[str, list[str]], key: tuple[str, ...], kernel: Kernel
) -> Callable[..., Any]:
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        found: dict[str, list[Any]] = {name: [] for name in names}
        for batch in batches:
            for name, columns in names.items():
                rows = _of_part(batch, name, columns, key)
                if rows.num_rows or not found[name]:
                    found[name].append(rows)
        if any(found.values()):  # not a task without keys
            tables = {name: arrow().concat_tables(parts) for name, parts in found.items()}
            found.clear()
            yield from kernel(tables).to_batches()

    return work


def _of_part(batch: Any, name: str, columns: Sequence[str], key: Sequence[str]) -> Table:
    """The rows of one part in a batch, with its columns; texts, which repeat, are encoded."""
    pa = arrow()
    wanted = pa.array(np.flatnonzero(compute().equal(batch.column(PART), name)))
    taken = [batch.column(_stored(name, column, key)).take(wanted) for column in columns]
    encoded = [one.dictionary_encode() if one.type == pa.string() else one for one in taken]
    return pa.table(encoded, names=list(columns))


def _base(parts: dict[str, Table]) -> History:
    if "history" in parts:
        return from_table(parts["history"], PARTITIONS)
    return no_history(PARTITIONS, parts["closed"])


def closed_history(parts: dict[str, Table]) -> Table:
    """The history of some partitions, as it is kept."""
    course = arrow().concat_tables([parts["closed"], parts["open"]])
    grown = add_days(_base(parts), PARTITIONS, course, parts["samples"])
    return to_table(with_narrow_bands(with_hourly_sizes(grown)))


def open_model(parts: dict[str, Table]) -> Table:
    """The load models of some partitions, with the open days."""
    none = parts["samples"].slice(0, 0)
    base = with_hourly_sizes(add_days(_base(parts), PARTITIONS, parts["closed"], none))
    return partition_load(add_days(base, PARTITIONS, parts["open"], parts["samples"]))
