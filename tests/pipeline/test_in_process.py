"""Few rows are merged without Spark, and the tables are those that Spark makes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.cli.app import run
from kedge.errors import MalformedInput
from kedge.model.arrow import compute
from kedge.pipeline.jobs.ingest import IngestRequest, ingest
from kedge.pipeline.sources.sample_files import Format
from tests.pipeline.conftest import Ingesting, Metrics
from tests.pipeline.oracle import check_all, rows, state
from tests.pipeline.without_spark import no_spark

MANY = 10**6
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
NAMES = ["t", "", 'tab\tquote"back\\slash/', "\x01\x1f\x7f", "日本 é 🙂", None]
STATE = ("silver", "late", "quarantine", "gold/rollup", "gold/partition_load", "gold/findings")


def drawn_row(dice: random.Random) -> dict[str, Any]:
    """A row with few distinct keys, so that many are copies; some have faults."""
    ts = NOON + timedelta(
        hours=dice.choice([0, 0, 0, 13]), minutes=dice.randrange(3), microseconds=dice.randrange(2)
    )
    row: dict[str, Any] = {
        "cluster": dice.choice(["c", "c", "d", None]) if dice.random() < 0.1 else "c",
        "broker": dice.choice([1, 2, 3, -1]) if dice.random() < 0.1 else 1,
        "topic": dice.choice(NAMES) if dice.random() < 0.2 else "t",
        "partition": dice.randrange(2),
        "ts": ts,
        "ingest_ts": ts + timedelta(seconds=dice.choice([5, 6, -300, -301, 1800, 1801])),
        "seq": dice.randrange(3),
        "is_leader": dice.random() < 0.7,
        **{name: dice.randrange(3) for name in ("size_bytes", "bytes_in", "bytes_out")},
        "isr": dice.randrange(1, 3),
        "rf": 2,
    }
    if dice.random() < 0.1:
        row[dice.choice([*row])] = None
    if dice.random() < 0.1:
        row[dice.choice(["size_bytes", "bytes_in", "bytes_out"])] = -1
    if dice.random() < 0.05:
        row["isr"] = 3
    return row


def types_of(dice: random.Random) -> pa.Schema:
    """One of the layouts that files of samples have."""
    time = pa.timestamp(dice.choice(["us", "ns"]), tz=dice.choice([None, "UTC"]))
    text = dice.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
    whole = dice.choice([pa.int32(), pa.int64()])
    kinds = {
        **dict.fromkeys(("cluster", "topic"), text),
        **dict.fromkeys(("broker", "partition", "isr", "rf"), whole),
        **dict.fromkeys(("ts", "ingest_ts"), time),
        **dict.fromkeys(("seq", "size_bytes", "bytes_in", "bytes_out"), pa.int64()),
        "is_leader": pa.bool_(),
    }
    return pa.schema(list(kinds.items()))


def write_file(dice: random.Random, path: Path, made: Sequence[dict[str, Any]]) -> None:
    schema = types_of(dice)
    table = pa.Table.from_pylist(list(made), schema=schema)
    if schema.field("ts").type.unit == "ns":  # digits that a sample does not have
        exact = table.column("ts").cast(pa.int64())
        shifted = compute().add(exact, dice.choice([1, 999]))
        at = table.column_names.index("ts")
        table = table.set_column(at, "ts", shifted.cast(schema.field("ts").type))
    if schema.field("broker").type == pa.int64() and dice.random() < 0.5:  # no broker has this id
        wide = pa.array([2**40 + 1, *table.column("broker").to_pylist()[1:]], pa.int64())
        table = table.set_column(table.column_names.index("broker"), "broker", wide)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def request_in(directory: Path, source: Path, tables: str) -> IngestRequest:
    brokers = pa.table({"cluster": ["c", "c", "d"], "broker": pa.array([1, 2, 1], pa.int32())})
    replicas = {"cluster": ["c"], "topic": ["t"], "partition": pa.array([0], pa.int32())}
    placed = pa.table({**replicas, "replicas": pa.array([[1, 2]], pa.list_(pa.int32()))})
    directory.mkdir(exist_ok=True)
    for name, table in (("brokers", brokers), ("assignment", placed)):
        pq.write_table(table, directory / f"{name}.parquet")
    return IngestRequest(
        source,
        Format.PARQUET,
        directory / "brokers.parquet",
        directory / "assignment.parquet",
        directory / tables,
    )


def test_the_generated_answers_are_found_without_spark(
    metrics: Callable[[str, int], Metrics], tmp_path: Path
) -> None:
    made = metrics("XS", 7)
    request = made.request(Format.PARQUET, tmp_path / "history")
    ingest(request, no_spark, rows_here_max=MANY)
    check_all(made, tmp_path / "history", Format.PARQUET)


def test_the_command_ingests_and_lists_its_run_as_json(
    metrics: Callable[[str, int], Metrics], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = metrics("XS", 7).directory
    references = [f"--{name}={made / name}.parquet" for name in ("brokers", "assignment")]
    tables = f"--tables={tmp_path / 'history'}"
    ingested = ["pipeline", "ingest", f"--input={made / 'raw_parquet'}", *references, tables]
    assert run([*ingested, "--output=json"]) == 0
    accounts = json.loads(capsys.readouterr().out)
    assert run(["pipeline", "runs", tables, "--output=json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["number"], listed["run_id"]) == (1, accounts["run_id"])
    assert listed["rows_written"] == accounts["rows_written"]
    assert datetime.fromisoformat(listed["finished_at"]).tzinfo


@pytest.mark.real
def test_the_tables_are_those_of_spark(
    metrics: Callable[[str, int], Metrics], tables: Path, tmp_path: Path
) -> None:
    request = metrics("XS", 7).request(Format.PARQUET, tmp_path / "history")
    ingest(request, no_spark, rows_here_max=MANY)
    assert state(tmp_path / "history") == state(tables)
    for table in ("late", "quarantine"):
        columns = "* exclude (run_id)"
        assert rows(tmp_path / "history", table, columns) == rows(tables, table, columns)


@pytest.mark.real
@pytest.mark.parametrize(
    "seed", [1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 20))]
)
def test_drawn_rows_with_faults_and_copies_get_the_same_verdicts(
    seed: int, ingesting: Ingesting, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    here = request_in(tmp_path, tmp_path / "input", "here")
    spark = request_in(tmp_path, tmp_path / "input", "spark")
    workers = request_in(tmp_path, tmp_path / "input", "workers")
    for number in range(3):
        count = dice.randrange(1, 60)
        write_file(
            dice,
            tmp_path / "input" / f"{number} é=%20[#+].parquet",
            [drawn_row(dice) for _ in range(count)],
        )
        done = ingest(here, no_spark, rows_here_max=MANY)
        assert done.accounts == ingesting(spark).accounts
        assert done.accounts == ingesting(workers, rows_for_workers=0).accounts
    for table in STATE:
        columns = "* exclude (run_id)" if table in ("late", "quarantine") else "*"
        wanted = rows(tmp_path / "spark", table, columns)
        assert rows(tmp_path / "here", table, columns) == wanted
        assert rows(tmp_path / "workers", table, columns) == wanted


def test_a_damaged_part_of_a_file_is_named_and_nothing_is_published(tmp_path: Path) -> None:
    dice, file = random.Random(8), tmp_path / "input" / "rows.parquet"
    write_file(dice, file, [drawn_row(dice) for _ in range(500)])
    whole = file.read_bytes()
    at = pq.read_metadata(file).row_group(0).column(6).data_page_offset
    file.write_bytes(whole[: at + 40] + bytes(40) + whole[at + 80 :])
    request = request_in(tmp_path, file.parent, "history")
    with pytest.raises(MalformedInput, match=r"rows\.parquet: a part of the file is damaged"):
        ingest(request, no_spark, rows_here_max=MANY)
    file.write_bytes(whole)
    assert ingest(request, no_spark, rows_here_max=MANY).rows == 500


@pytest.mark.parametrize("ts", [2**62, -(2**62)])
def test_times_outside_of_the_calendar_are_left_to_spark(ts: int, tmp_path: Path) -> None:
    dice = random.Random(5)
    made = [drawn_row(dice) for _ in range(3)]
    file = tmp_path / "input" / "rows.parquet"
    write_file(dice, file, made)
    table = pq.ParquetFile(file).read()
    at = table.column_names.index("ts")
    odd = pa.array([ts] * 3, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    pq.write_table(table.set_column(at, "ts", odd), file)
    with pytest.raises(AssertionError, match="Spark was started"):
        ingest(request_in(tmp_path, file.parent, "history"), no_spark, rows_here_max=MANY)


def test_more_rows_than_allowed_are_left_to_spark(tmp_path: Path) -> None:
    dice = random.Random(6)
    started: list[int] = []

    def noted(count: int) -> AbstractContextManager[Any]:
        started.append(count)
        return no_spark(count)

    write_file(dice, tmp_path / "input" / "1.parquet", [drawn_row(dice) for _ in range(40)])
    request = request_in(tmp_path, tmp_path / "input", "history")
    kept = ingest(request, noted, rows_here_max=40).accounts.kept
    assert not started
    write_file(dice, tmp_path / "input" / "2.parquet", [drawn_row(dice) for _ in range(40)])
    with pytest.raises(AssertionError, match="Spark was started"):
        ingest(request, noted, rows_here_max=40)
    assert started == [kept + 40]
