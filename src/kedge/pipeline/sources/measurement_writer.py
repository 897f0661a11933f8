"""Parses files of metrics on Spark workers, which write the measurements to Parquet files.

Measurements of topics and of brokers go to different files (`level`), by day. What could not be
parsed, how often each name was ignored, and warnings of the source are rows too, so that nothing is
lost on the way: `unparsed` has the text in `raw`, `ignored` the name in `series` and the number in
`value`, `warnings` the text in `raw` and the number in `value`. `measured` has the ids of brokers
that have told series of Kafka in `series`, and the number of files in `value`.

The workers write the columns as they have them. Through the JVM each value would become a row and
then a column again, which takes ten times as long as to parse it. A task that is repeated writes
files again under other names: only those that tasks have returned count.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kedge.files import parquet
from kedge.metrics.measurement import NONE, PROCESS_SERIES
from kedge.metrics.origins import BY_BROKER, Origin
from kedge.metrics.parsing.collector import Collector
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.schemas import MEASUREMENT
from kedge.pipeline.sources.metric_files import MetricFile, ParseSettings, parse_metric_file
from kedge.pipeline.tables.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPICS, BROKERS = "topics", "brokers"
UNPARSED, IGNORED, WARNINGS, MEASURED = "unparsed", "ignored", "warnings", "measured"
NO_DAY: Final = "none"
BYTES_PER_TASK: Final = 64 << 20
TASKS_MIN, TASKS_MAX = 2, 512
DAY_MS: Final = 86_400_000
ROWS_IN_MEMORY: Final = 2_000_000  # of a task, before they are written
ROWS_PER_GROUP: Final = 256 << 10
Key = tuple[str, str]  # level and day
Other = tuple[str, str, float, str | None]  # level, series, value and raw


def write_measurements(
    session: SparkSession, files: Sequence[MetricFile], settings: ParseSettings, target: Location
) -> list[str]:
    """Write the measurements of these files; return the paths of the files that have them."""

    def parse(batches: Iterator[Any]) -> Iterator[Any]:
        written = _DayFiles(target)
        for batch in batches:
            for file in batch.to_pylist():
                path, origin = file["path"], Origin(file["origin"])
                for collected in parse_metric_file(Path(path), replace(settings, origin=origin)):
                    written.add(collected, origin, path)
        paths = arrow().array(written.close(), arrow().string())
        yield arrow().RecordBatch.from_arrays([paths], ["path"])

    size = sum(file.bytes for file in files)
    tasks = min(max(TASKS_MIN, size // BYTES_PER_TASK), TASKS_MAX, max(1, len(files)))
    table = arrow().table(
        {
            "path": [str(file.path.absolute()) for file in files],
            "origin": [str(file.origin) for file in files],
        }
    )
    frame: Any = session.createDataFrame(table)
    found = frame.repartition(int(tasks)).mapInArrow(parse, "path string").collect()
    return sorted(row["path"] for row in found)


@dataclass(slots=True)
class _DayFiles:
    """Collects the measurements of one task, and writes a file for each level and day."""

    target: Location
    parts: dict[Key, list[Table]] = field(default_factory=dict[Key, list[Table]])
    rows: int = 0
    paths: list[str] = field(default_factory=list[str])

    def add(self, collected: Collector, origin: str, path: str) -> None:
        """Take what a collector holds; the collector is empty afterwards."""
        table = collected.take()
        if table.num_rows:
            for key, part in _by_day(table, origin, path):
                self._add(key, part)
        others: list[Other] = [(UNPARSED, "", 0.0, one.text) for one in collected.malformed]
        others += [(IGNORED, name, float(n), None) for name, n in collected.ignored.items()]
        others += [(WARNINGS, "", float(n), text) for text, n in collected.warnings.items()]
        others += [(MEASURED, str(broker), 1.0, None) for broker in _brokers(table, origin)]
        for level in (UNPARSED, IGNORED, WARNINGS, MEASURED):
            rows = [one for one in others if one[0] == level]
            if rows:
                self._add((level, NO_DAY), _others(rows, collected.cluster, origin, path))
        for store in (collected.malformed, collected.ignored, collected.warnings):
            store.clear()
        if self.rows > ROWS_IN_MEMORY:
            self._write()

    def close(self) -> list[str]:
        """Write the rest; return the paths of all files, relative to the target."""
        self._write()
        return self.paths

    def _add(self, key: Key, part: Table) -> None:
        self.parts.setdefault(key, []).append(part)
        self.rows += part.num_rows

    def _write(self) -> None:
        for (level, day), parts in self.parts.items():
            rows = arrow().concat_tables(parts).unify_dictionaries()
            path = f"level={level}/dt={day}/part-{secrets.token_hex(8)}.parquet"
            with self.target.errors(path), self.target.open_output(path) as stream:
                parquet().write_table(
                    rows,
                    stream,
                    row_group_size=ROWS_PER_GROUP,
                    compression="zstd",
                    compression_level=1,
                    store_schema=False,  # columns of text are encoded here, and text to readers
                )
            self.paths.append(path)
        self.parts.clear()
        self.rows = 0


def _by_day(rows: Any, origin: str, path: str) -> Iterator[tuple[Key, Table]]:
    """The rows of each level and day, in the sequence in which they came."""
    pa, count = arrow(), rows.num_rows
    columns = [_encoded(column) for column in rows.columns]
    columns += [_repeated(text, count) for text in (str(origin), path)]
    columns.append(pa.nulls(count, pa.string()))
    table = pa.table(columns, names=[field.name for field in MEASUREMENT.fields])
    ts = np.asarray(rows.column("ts_ms"))
    no_topic = rows.column("topic").to_numpy(zero_copy_only=False) == ""
    keys, which = np.unique(ts // DAY_MS * 2 + no_topic, return_inverse=True)
    if len(keys) > 1:
        table = table.take(pa.array(np.argsort(which, kind="stable")))
    start = 0
    for key, length in zip(keys.tolist(), np.bincount(which).tolist(), strict=True):
        day = str(np.datetime64(key // 2, "D"))
        yield (BROKERS if key % 2 else TOPICS, day), table.slice(start, length)
        start += length


def _brokers(rows: Any, origin: str) -> list[int]:
    """The brokers that have told series of Kafka themselves."""
    if origin not in BY_BROKER:
        return []
    pc = compute()
    of_process = pc.is_in(rows.column("series"), arrow().array([*map(str, PROCESS_SERIES)]))
    ids = pc.unique(rows.column("broker").filter(pc.invert(of_process))).to_pylist()
    return [broker for broker in ids if broker != NONE]


def _encoded(column: Any) -> Any:
    is_text = column.type == arrow().string()
    return compute().dictionary_encode(column) if is_text else column


def _repeated(text: str, count: int) -> Any:
    codes = arrow().array(np.zeros(count, np.int32))
    return arrow().DictionaryArray.from_arrays(codes, [text])


def _others(rows: Sequence[Other], cluster: str, origin: str, path: str) -> Table:
    common = {"cluster": cluster, "origin": str(origin), "file": path}
    objects = [{**common, "series": one[1], "value": one[2], "raw": one[3]} for one in rows]
    return arrow().Table.from_pylist(objects, schema=_schema())


def _schema() -> Any:
    pa = arrow()
    kinds = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
    kinds["int"] = pa.int32()
    return pa.schema([(f.name, kinds[f.dataType.simpleString()]) for f in MEASUREMENT.fields])
