"""Malformed input and invalid requests are refused without Spark, and change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kedge.errors import (
    AccountsOpen,
    InvalidRequest,
    KedgeError,
    MalformedInput,
    OutputNotOurs,
)
from kedge.pipeline.generator import generate
from kedge.pipeline.jobs.ingest import IngestRequest, ingest
from kedge.pipeline.manifest import Accounts, Settings
from kedge.pipeline.reference import read_reference
from kedge.pipeline.sources.sample_files import Format, find_files, new_files
from tests.pipeline.without_spark import no_spark


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("made")
    generate(directory, size="XS", seed=5)
    return directory


def request_of(
    made: Path, source: Path, output: Path, form: Format = Format.PARQUET
) -> IngestRequest:
    return IngestRequest(
        source, form, made / "brokers.parquet", made / "assignment.parquet", output
    )


def sample_table(made: Path) -> pa.Table:
    first = sorted((made / "raw_parquet").rglob("*.parquet"))[0]
    return pq.ParquetFile(first).read().slice(0, 20)


def half_written(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path)
    path.write_bytes(path.read_bytes()[:-100])


def with_a_column_more(table: pa.Table, path: Path) -> None:
    pq.write_table(table.append_column("colour", pa.array(["red"] * len(table))), path)


def with_a_column_less(table: pa.Table, path: Path) -> None:
    pq.write_table(table.drop_columns(["seq"]), path)


def with_a_wrong_type(table: pa.Table, path: Path) -> None:
    at = table.schema.get_field_index("size_bytes")
    texts = table.column("size_bytes").cast(pa.string())
    pq.write_table(table.set_column(at, "size_bytes", texts), path)


def with_a_name_that_is_no_text(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path)
    path.write_bytes(path.read_bytes().replace(b"bytes_out", b"bytes\xe9out"))


BAD_FILES: list[tuple[Callable[[pa.Table, Path], None], str]] = [
    (half_written, "not a complete Parquet file"),
    (with_a_name_that_is_no_text, "not a complete Parquet file"),
    (with_a_column_more, "unknown column colour"),
    (with_a_column_less, "column seq is missing"),
    (with_a_wrong_type, "column size_bytes is string"),
]


@pytest.mark.parametrize(("spoil", "sentence"), BAD_FILES)
def test_a_malformed_file_is_refused_by_name_and_no_tables_are_written(
    spoil: Callable[[pa.Table, Path], None], sentence: str, made: Path, tmp_path: Path
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    spoil(sample_table(made), inbox / "bad.parquet")
    with pytest.raises(MalformedInput, match=r"bad\.parquet") as refused:
        ingest(request_of(made, inbox, tmp_path / "history"), no_spark)
    assert sentence in str(refused.value)
    assert not (tmp_path / "history").exists()


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("cluster,broker", "column topic is missing"),
        ("cluster,broker,topic,partition,ts,ingest_ts,seq,is_leader,size_bytes,bytes_in,bytes_out,"
         "isr,rf,colour", "unknown column colour"),
        ("\x80\x81", "column cluster is missing"),
    ],
)  # fmt: skip
def test_the_header_of_a_csv_file_is_validated(
    header: str, sentence: str, made: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.csv").write_text(header + "\n")
    with pytest.raises(MalformedInput) as refused:
        ingest(request_of(made, tmp_path, tmp_path / "history", Format.CSV), no_spark)
    assert sentence in str(refused.value)


def test_a_directory_without_files_of_the_format_is_refused(made: Path, tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("no samples")
    with pytest.raises(InvalidRequest, match="has no parquet file"):
        find_files(tmp_path, Format.PARQUET)
    with pytest.raises(InvalidRequest, match="no such directory"):
        find_files(tmp_path / "nowhere", Format.PARQUET)


def test_a_directory_with_other_content_is_refused_and_unchanged(
    made: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputNotOurs, match="has other content"):
        ingest(request_of(made, made / "raw_parquet", theirs), no_spark)
    assert [path.name for path in theirs.iterdir()] == ["thesis.txt"]
    with pytest.raises(OutputNotOurs, match="is a file"):
        ingest(request_of(made, made / "raw_parquet", theirs / "thesis.txt"), no_spark)


def test_row_counts_that_do_not_add_up_fail_the_run() -> None:
    Accounts(rows_read=3, kept=2, late=1).check()
    with pytest.raises(AccountsOpen, match="4 rows read"):
        Accounts(rows_read=4, kept=2, late=1).check()
    with pytest.raises(AccountsOpen, match="0 by reason"):
        Accounts(rows_read=1, quarantined=1).check()


def test_tables_with_other_settings_are_not_mixed() -> None:
    with pytest.raises(InvalidRequest, match="allowed lateness of 60 s"):
        Settings(allowed_lateness_s=60).check_unchanged(Settings())


def test_the_same_content_counts_once_whatever_its_name(made: Path, tmp_path: Path) -> None:
    table = sample_table(made)
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(table, tmp_path / name)
    pq.write_table(table.slice(1), tmp_path / "c.parquet")
    found = new_files(find_files(tmp_path, Format.PARQUET), Format.PARQUET, ())
    assert [file.path.name for file in found] == ["a.parquet", "c.parquet"]
    known = [file.sha256 for file in found[:1]]
    again = new_files(find_files(tmp_path, Format.PARQUET), Format.PARQUET, known)
    assert [file.path.name for file in again] == ["c.parquet"]


BROKER = {"cluster": "c", "broker": 1, "rack": "a", "disk_capacity_bytes": 10}
PARTITION = {"cluster": "c", "topic": "t", "partition": 0, "replicas": [1], "leader": 1}
BAD_REFERENCES: list[tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = [
    ([BROKER, BROKER], [PARTITION], "row 1 broker: the row is a duplicate"),
    ([{**BROKER, "broker": -1}], [PARTITION], "row 0 broker: not a valid broker id"),
    ([BROKER], [{**PARTITION, "replicas": [1, 7]}], "t-0 of c is on broker 7"),
    ([BROKER], [{**PARTITION, "replicas": [1, 1]}], "the row is a duplicate"),
    ([BROKER], [{**PARTITION, "replicas": []}], "row 0 replicas"),
    ([BROKER], [PARTITION, PARTITION], "row 1 partition: the row is a duplicate"),
    ([{"cluster": "c"}], [PARTITION], "broker: no such column"),
]


@pytest.mark.parametrize(("brokers", "assignment", "sentence"), BAD_REFERENCES)
def test_brokers_and_assignment_are_refused_with_table_row_and_column(
    brokers: list[dict[str, Any]],
    assignment: list[dict[str, Any]],
    sentence: str,
    tmp_path: Path,
) -> None:
    for name, rows in (("brokers", brokers), ("assignment", assignment)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    with pytest.raises(KedgeError) as refused:
        read_reference(tmp_path / "brokers.jsonl", tmp_path / "assignment.jsonl")
    assert sentence in str(refused.value)
