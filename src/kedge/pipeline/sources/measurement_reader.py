"""Parses files of metrics on Spark workers, each file in one task.

Measurements of topics and of brokers go to different tables (`level`), partitioned by day. What
could not be parsed, and how often each name was ignored, are rows too, so that nothing is lost on
the way: `unparsed` has the text in `raw`, `ignored` the name in `series` and the number in `value`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kedge.metrics.origins import Origin
from kedge.metrics.parsing.collector import Collector
from kedge.model.arrow import arrow
from kedge.pipeline.schemas import MEASUREMENT
from kedge.pipeline.sources.metric_files import MetricFile, ParseSettings, parse_metric_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPICS, BROKERS, UNPARSED, IGNORED = "topics", "brokers", "unparsed", "ignored"
NO_DAY: Final = "none"
BYTES_PER_TASK: Final = 32 << 20
TASKS_MIN, TASKS_MAX = 2, 512
DAY_MS: Final = 86_400_000

DDL: Final = (
    ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in MEASUREMENT.fields)
    + ", level string, dt string"
)


def read_measurements(
    session: SparkSession, files: Sequence[MetricFile], settings: ParseSettings
) -> DataFrame:
    """The measurements of these files, with `level` and `dt`."""

    def parse(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for file in batch.to_pylist():
                path, origin = file["path"], Origin(file["origin"])
                for collected in parse_metric_file(Path(path), replace(settings, origin=origin)):
                    yield from collected_batches(collected, origin, path)

    size = sum(file.bytes for file in files)
    tasks = min(max(TASKS_MIN, size // BYTES_PER_TASK), TASKS_MAX, max(1, len(files)))
    table = arrow().table(
        {
            "path": [str(file.path.absolute()) for file in files],
            "origin": [str(file.origin) for file in files],
        }
    )
    frame: Any = session.createDataFrame(table)
    return frame.repartition(int(tasks)).mapInArrow(parse, DDL)


def collected_batches(collected: Collector, origin: str, path: str) -> Iterator[Any]:
    """What a collector holds as record batches; the collector is empty afterwards."""
    rows = collected.take()
    if rows.num_rows:
        yield _measured(rows, origin, path)
    others: list[Other] = [(UNPARSED, "", 0.0, one.text) for one in collected.malformed]
    others += [(IGNORED, name, float(count), None) for name, count in collected.ignored.items()]
    if others:
        yield _others(others, collected.cluster, origin, path)
    collected.malformed.clear()
    collected.ignored.clear()


def _schema() -> Any:
    pa = arrow()
    kinds = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
    kinds["int"] = pa.int32()
    fields = [(f.name, kinds[f.dataType.simpleString()]) for f in MEASUREMENT.fields]
    return pa.schema([*fields, ("level", pa.string()), ("dt", pa.string())])


def _measured(rows: Any, origin: str, path: str) -> Any:
    pa, count = arrow(), rows.num_rows
    ts = np.asarray(rows.column("ts_ms"))
    days, index = np.unique(ts // DAY_MS, return_inverse=True)
    names = pa.array([str(np.datetime64(int(day), "D")) for day in days])
    no_topic = np.asarray(rows.column("topic").to_numpy(zero_copy_only=False) == "")
    levels = pa.array([TOPICS, BROKERS]).take(pa.array(no_topic.astype(np.int32)))
    columns = [
        *rows.columns,
        pa.repeat(pa.scalar(str(origin)), count),
        pa.repeat(pa.scalar(path), count),
        pa.nulls(count, pa.string()),
        levels,
        names.take(pa.array(index)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_schema())


Other = tuple[str, str, float, str | None]  # level, series, value and raw


def _others(rows: list[Other], cluster: str, origin: str, path: str) -> Any:
    common = {"cluster": cluster, "origin": str(origin), "file": path, "dt": NO_DAY}
    objects = [
        {**common, "level": level, "series": series, "value": value, "raw": raw}
        for level, series, value, raw in rows
    ]
    return arrow().RecordBatch.from_pylist(objects, schema=_schema())
