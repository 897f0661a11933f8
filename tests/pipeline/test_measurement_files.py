"""Files of measurements that workers write, and the packed groups that attribution reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kedge.files import parquet
from kedge.metrics.measurement import Series
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_metadata
from kedge.pipeline.jobs.parsed_days import ParsedDays
from kedge.pipeline.sources.measurement_writer import write_measurements
from kedge.pipeline.sources.metric_files import MetricFile, ParseSettings
from kedge.pipeline.sources.packed_measurements import (
    COLUMNS,
    DAY_MS,
    ROWS_PER_BUCKET,
    packed_measurements,
    unpacked,
)
from kedge.pipeline.tables.location import Location

pytestmark = pytest.mark.real  # Spark runs them

DAY = "2026-01-05"
START_MS = 20_458 * DAY_MS
METADATA = parse_metadata(b'{"cluster": "c", "brokers": [{"id": 1}]}')
TOPICS = [f"topic-{number}" for number in range(150)]


def values(topic: str, *seconds: int, cluster: str = "c") -> dict[str, list[Any]]:
    """Values of one series, so many seconds after midnight."""
    count = len(seconds)
    texts = {"cluster": cluster, "series": str(Series.BYTES_IN), "topic": topic, "group": ""}
    same = {**texts, "replica": "", "origin": "prometheus", "broker": 1, "partition": -1}
    columns = {name: [value] * count for name, value in same.items()}
    ts = [START_MS + 1000 * second for second in seconds]
    return {**columns, "ts_ms": ts, "value": [float(second) for second in seconds]}


def test_each_bucket_has_all_values_of_its_topics_around_a_day(
    spark: SparkSession, tmp_path: Path
) -> None:
    day = DAY_MS // 1000
    paths: list[str] = []
    for number, seconds in enumerate([(-901, -900, -60, 60), (120, day + 899, day + 900)]):
        made = [pa.table(values(topic, *seconds)) for topic in TOPICS]
        made.append(pa.table(values("topic-0", *seconds, cluster="other")))
        table = pa.concat_tables(made).select(list(COLUMNS))
        schema = pa.schema(
            [
                (f.name, pa.int32() if f.name in ("broker", "partition") else f.type)
                for f in table.schema
            ]
        )
        paths.append(str(tmp_path / f"{number}.parquet"))
        parquet().write_table(table.cast(schema), paths[-1])
    frame = packed_measurements(spark, paths, "c", days=[DAY], rows=3 * ROWS_PER_BUCKET)
    rows = frame.collect()
    assert {row.chunk for row in rows} == {START_MS // DAY_MS}
    assert {row.bucket for row in rows} == {0, 1, 2}
    of_topic: dict[str, set[int]] = {}
    found: dict[str, list[float]] = {}
    for row in rows:
        table = unpacked(pa.array([bytes(row.packed)]))
        assert set(table.column("cluster").to_pylist()) == {"c"}
        for topic, value in zip(
            *(table.column(n).to_pylist() for n in ("topic", "value")), strict=True
        ):
            of_topic.setdefault(topic, set()).add(row.bucket)
            found.setdefault(topic, []).append(value)
    assert set(of_topic) == set(TOPICS)
    assert all(len(buckets) == 1 for buckets in of_topic.values())
    near = [-900.0, -60.0, 60.0, 120.0, float(day + 899)]
    assert all(sorted(seconds) == near for seconds in found.values())


def test_only_files_that_tasks_have_returned_count(spark: SparkSession, tmp_path: Path) -> None:
    """A task that failed and was repeated leaves the files of its first attempt."""
    scrape = tmp_path / "1" / "1767571200.prom"
    scrape.parent.mkdir()
    scrape.write_text(
        'kafka_log_log_size{topic="a",partition="0"} 5\nno metric at all {\nother 1\n'
    )
    target = Location(str(tmp_path / "parsed"))
    settings = ParseSettings(Origin.SCRAPE, METADATA)
    file = MetricFile(scrape, "", scrape.stat().st_size, Origin.SCRAPE)
    paths = write_measurements(spark, [file], settings, target)
    again = write_measurements(spark, [file], settings, target)
    assert not set(paths) & set(again)
    parsed = ParsedDays.of(target, again)
    assert (parsed.days, parsed.found, parsed.unparsed) == ([DAY], True, 1)
    assert parsed.ignored == {"other": 1}
    assert {level: len(files) for level, files in parsed.files.items()} == dict.fromkeys(
        ("topics", "brokers", "unparsed", "ignored", "measured"), 1
    )
    assert not ParsedDays.of(target, []).found
