"""Ingest of generated metrics in every format, order and split into runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.files import read_snapshot
from kedge.model import TopicPartition
from kedge.pipeline.sources.sample_files import Format
from tests.pipeline.conftest import Ingesting, Metrics
from tests.pipeline.oracle import accounts, check_all, query, rows, scan, state

pytestmark = pytest.mark.real
MakeMetrics = Callable[[str, int], Metrics]


@pytest.mark.parametrize(
    ("size", "seed", "form"),
    [("XS", 8, Format.JSONL), ("XS", 7, Format.CSV), ("S", 11, Format.PARQUET)],
)
def test_every_account_sum_percentile_and_planted_finding_is_as_expected(
    size: str,
    seed: int,
    form: Format,
    metrics: MakeMetrics,
    ingesting: Ingesting,
    tmp_path: Path,
) -> None:
    made = metrics(size, seed)
    ingesting(made.request(form, tmp_path / "history"))
    check_all(made, tmp_path / "history", form)


def test_runs_over_parts_give_the_tables_of_one_run_over_all(
    metrics: MakeMetrics, ingesting: Ingesting, tables: Path, tmp_path: Path
) -> None:
    made, output, inbox = metrics("XS", 7), tmp_path / "history", tmp_path / "inbox"
    files = sorted((made.directory / "raw_parquet").rglob("*.parquet"))
    inbox.mkdir()
    for batch in (files[2:], files[:2]):  # later files first: corrections before what they correct
        for file in batch:
            shutil.copy(file, inbox / file.name)
        ingesting(made.request(Format.PARQUET, output, inbox))
    assert state(output) == state(tables)


def test_rows_in_any_order_and_duplicated_give_the_same_silver_and_gold(
    metrics: MakeMetrics, ingesting: Ingesting, tables: Path, tmp_path: Path
) -> None:
    made, output = metrics("XS", 7), tmp_path / "history"
    files = sorted((made.directory / "raw_parquet").rglob("*.parquet"))
    table = pa.concat_tables([pq.ParquetFile(file).read() for file in files])
    twice = pa.concat_tables([table, table])
    order = np.random.default_rng(3).permutation(len(twice))
    (tmp_path / "inbox").mkdir()
    pq.write_table(twice.take(order), tmp_path / "inbox" / "shuffled.parquet")
    ingesting(made.request(Format.PARQUET, output, tmp_path / "inbox"))
    once = accounts(tables)
    assert accounts(output)["rows_read"] == 2 * once["rows_read"]
    assert accounts(output)["kept"] == once["kept"]
    assert accounts(output)["superseded"] == 2 * once["superseded"]
    for name in ("broker_load", "window_load", "partition_load", "rollup", "findings"):
        assert rows(output, f"gold/{name}") == rows(tables, f"gold/{name}")


def test_a_second_run_over_the_same_files_changes_nothing(
    metrics: MakeMetrics, ingesting: Ingesting, tables: Path, tmp_path: Path
) -> None:
    made, output = metrics("XS", 7), tmp_path / "history"
    shutil.copytree(tables, output)
    again = ingesting(made.request(Format.PARQUET, output))
    assert (again.files, again.rows) == (0, 0)
    assert again.files_skipped == made.expected["files"]
    assert state(output) == state(tables)


def test_the_snapshot_of_gold_is_readable_and_has_the_expected_loads(
    metrics: MakeMetrics, tables: Path
) -> None:
    made = metrics("XS", 7)
    tracked = query(
        "select cluster, topic, partition, p95 "
        f"from '{made.directory}/expected_tracked.parquet' order by all"
    )
    snapshots = {c: read_snapshot(tables / "gold/snapshot" / c) for c in ("c00", "c01")}
    for cluster, topic, partition, p95 in tracked:
        held = snapshots[cluster]
        row = held.assignment.row(TopicPartition(topic, partition))
        assert held.bytes_in[row] == p95 / 60
    for each in snapshots.values():
        assert (each.size >= 0).all()
        assert not (np.isnan(each.bytes_in) | np.isnan(each.bytes_out)).any()


def test_bronze_keeps_every_row_with_its_source_and_quarantine_every_raw_text(
    metrics: MakeMetrics, tables: Path
) -> None:
    made = metrics("XS", 7)
    assert query(
        "select count(*), count(distinct file), min(source), count(distinct run_id) "
        f"from {scan(tables, 'bronze')}"
    ) == [(made.expected["rows_total"], made.expected["files"], "parquet", 1)]
    refused = rows(tables, "quarantine", "reason, raw, source, file")
    assert len(refused) == made.expected["malformed"]
    assert all(raw.startswith("{") and source == "parquet" for _, raw, source, _ in refused)
