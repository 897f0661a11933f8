"""Delta tables without Spark: runs are atomic, killed ones unseen, rivals refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from kedge.cli.app import run as run_command
from kedge.errors import InvalidRequest, KedgeError, MalformedInput, OutputInUse, OutputNotOurs
from kedge.pipeline.compaction import compact
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.migration import migrate
from kedge.pipeline.table_reader import Tables
from kedge.pipeline.tables.delta_log import commit
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import all_runs
from kedge.pipeline.tables.staged_run import delta_schema
from kedge.pipeline.tables.store_errors import error_line, without_secrets
from kedge.pipeline.warehouse import open_warehouse
from tests.pipeline.answer_tables import write_run
from tests.pipeline.numbered_runs import DAYS, NAMES, after, contents, no_spark, publish, stage


def test_each_run_is_seen_whole_and_the_run_before_is_still_there(tmp_path: Path) -> None:
    for value in (1, 2, 3):
        publish(tmp_path, value)
    assert contents(tmp_path) == after(1, 2, 3)
    assert contents(tmp_path, "run-2") == contents(tmp_path, "2") == after(1, 2)
    assert contents(tmp_path, "1") == after(1)
    assert [run["run_id"] for run in all_runs(Location.of(tmp_path))] == ["run-1", "run-2", "run-3"]
    with pytest.raises(InvalidRequest, match="no run 9"):
        Tables(tmp_path, "9")
    assert DeltaTable(str(tmp_path / "runs")).transaction_version("kedge.pipeline") == 3


@pytest.mark.parametrize("committed", [0, 1, 2, 3])
def test_a_run_that_dies_between_commits_is_unseen_and_the_next_one_is_right(
    committed: int, tmp_path: Path
) -> None:
    publish(tmp_path, 1)
    with open_warehouse(tmp_path, "dead") as warehouse:
        staged = stage(warehouse, 8)
        for name in NAMES[:committed]:
            commit(staged.location, name, staged.versions[name], staged.changes[name], {})
    assert contents(tmp_path) == after(1)
    publish(tmp_path, 2)
    assert contents(tmp_path) == after(1, 2)
    # readers that know nothing of runs see the newest version
    newest = DeltaTable(str(tmp_path / "silver")).to_pyarrow_table().column("value").to_pylist()
    assert sorted(newest) == [1, 2]


@pytest.mark.parametrize("committed", [0, 1, 2, 3])
def test_a_first_run_that_dies_leaves_no_tables(committed: int, tmp_path: Path) -> None:
    with open_warehouse(tmp_path, "dead") as warehouse:
        staged = stage(warehouse, 8)
        for name in NAMES[:committed]:
            commit(staged.location, name, None, staged.changes[name], {})
    with pytest.raises(InvalidRequest, match="no run has finished yet"):
        Tables(tmp_path)
    publish(tmp_path, 1)
    assert contents(tmp_path) == after(1)


@pytest.mark.parametrize("first", [(), (1,)])
def test_of_two_runs_after_the_same_one_the_second_is_refused_and_can_be_repeated(
    first: tuple[int, ...], tmp_path: Path
) -> None:
    for value in first:
        publish(tmp_path, value)
    with (
        open_warehouse(tmp_path, "run-2") as one,
        open_warehouse(tmp_path, "run-3") as other,
    ):
        slow, fast = stage(one, 2), stage(other, 3)
        other.publish(fast, Manifest(run_id="run-3"))
        with pytest.raises(OutputInUse, match="another run has changed the tables") as refused:
            one.publish(slow, Manifest(run_id="run-2"))
    assert "run the command again" in str(refused.value)
    assert contents(tmp_path) == after(*first, 3)
    publish(tmp_path, 2)
    assert contents(tmp_path) == after(*first, 3, 2)


def test_runs_whose_commits_interleave_are_not_mixed(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    with (
        open_warehouse(tmp_path, "run-2") as one,
        open_warehouse(tmp_path, "run-3") as other,
    ):
        slow, fast = stage(one, 2), stage(other, 3)
        # the slow run has committed a table when the fast one commits all of its own
        commit(slow.location, "silver", slow.versions["silver"], slow.changes["silver"], {})
        other.publish(fast, Manifest(run_id="run-3"))
        with pytest.raises(OutputInUse):
            one.publish(slow, Manifest(run_id="run-2"))
    assert contents(tmp_path) == after(1, 3)


def test_delta_rs_and_duckdb_see_the_rows_of_the_same_version(tmp_path: Path) -> None:
    for value in (1, 2):
        publish(tmp_path, value)
    for number, expected in ((1, [1]), (2, [1, 2])):
        version = all_runs(Location.of(tmp_path))[number - 1]["versions"]["silver"]
        opened = DeltaTable(str(tmp_path / "silver"), version=version)
        silver = opened.to_pyarrow_dataset()
        with duckdb.connect() as database:
            database.register("silver", silver)
            rows = database.sql("select value from silver order by value").fetchall()
        assert [value for (value,) in rows] == expected
        assert sorted(opened.to_pyarrow_table().column("value").to_pylist()) == expected


def test_conditions_on_any_column_find_their_rows(tmp_path: Path) -> None:
    rows = pa.table({"cluster": ["c", "d"], "is_leader": [True, False], "value": [1, 2]})
    with open_warehouse(tmp_path, "run") as warehouse, warehouse.stage() as staged:
        staged.write_arrow("silver", rows, DAYS[0])
        warehouse.publish(staged, Manifest())
    for column in rows.column_names:
        for value in rows.column(column).to_pylist():
            where = [(column, "=", value), ("dt", "=", DAYS[0])]
            assert Tables(tmp_path).read("silver", where=where).num_rows == 1


def test_a_damaged_entry_of_the_log_is_named_and_its_removal_mends_it(tmp_path: Path) -> None:
    for value in (1, 2):
        publish(tmp_path, value)
    entry = tmp_path / "silver" / "_delta_log" / f"{1:020d}.json"
    entry.write_text("{broken")
    with pytest.raises(MalformedInput, match=f"{1:020d}.json: the entry of the log") as refused:
        contents(tmp_path)
    assert "remove it to return to the run before" in str(refused.value)
    with pytest.raises(MalformedInput):
        publish(tmp_path, 3)
    assert contents(tmp_path, "run-1") == after(1)
    (tmp_path / "runs" / "_delta_log" / f"{1:020d}.json").unlink()
    entry.unlink()
    publish(tmp_path, 3)
    assert contents(tmp_path) == after(3)


def test_compaction_merges_files_and_deletes_those_of_dead_runs(tmp_path: Path) -> None:
    for value in range(6):
        publish(tmp_path, value)
    with open_warehouse(tmp_path, "dead") as warehouse:
        dead = stage(warehouse, 8)
        files = [tmp_path / name / dead.changes[name].added[0].path for name in NAMES]
        commit(dead.location, "silver", dead.versions["silver"], dead.changes["silver"], {})
    compact(tmp_path, "compacting", keep_days=None, session=no_spark)
    assert all(file.exists() for file in files), "a run of the last days may still need them"
    done = compact(tmp_path, "again", keep_days=None, session=no_spark, unused_days=0)
    assert done.files_deleted > 0
    assert not any(file.exists() for file in files)
    assert contents(tmp_path) == contents(tmp_path, "compacting") == after(*range(6))
    publish(tmp_path, 6)
    assert contents(tmp_path) == after(*range(7))


def test_tables_of_the_former_layout_are_refused_and_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    former, at = tmp_path / "former", datetime(2026, 1, 5, 12, tzinfo=UTC)
    version = former / ".versions" / "000007"
    manifest = Manifest("r7", days={DAYS[0]: Day(2, 2)}, rows_read=3, late=1)
    for path, columns in {
        "silver/dt=2026-01-05/a.parquet": {"ts": [at, at], "copies": [1, 1]},
        "late/run_id=r7/a.parquet": {"ts": [at], "ingest_ts": [at]},
        "gold/findings/a.parquet": {"kind": ["growing"]},
        "reference/brokers.parquet": {"cluster": ["c"], "broker": [1]},
    }.items():
        (version / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), version / path)
    (version / "manifest.json").write_text(json.dumps(asdict(manifest)))
    (former / "kedge-pipeline.json").write_text('{"format":"kedge.pipeline/1"}')
    (former / "current").symlink_to(Path(".versions", "000007"))
    with pytest.raises(OutputNotOurs, match="kedge pipeline migrate"):
        publish(former, 1)
    new = tmp_path / "new"
    assert run_command(["pipeline", "migrate", str(former), str(new)]) == 0
    assert "4 tables with 5 rows" in capsys.readouterr().out
    tables = Tables(new)
    assert tables.run.manifest.accounts == manifest.accounts
    assert tables.read("late").column("run_id").to_pylist() == ["r7"]
    assert tables.days("silver") == [DAYS[0]]
    assert json.loads((new / "accounts.json").read_text())["rows_read"] == 3
    with pytest.raises(InvalidRequest, match="has runs already"):
        migrate(former, new, "again")
    with pytest.raises(InvalidRequest, match="not tables of the former layout"):
        migrate(new, tmp_path / "third", "x")


def test_runs_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "h")
    assert run_command(["pipeline", "runs", "--tables", str(tmp_path / "h")]) == 0
    assert "1  run  ingest" in capsys.readouterr().out
    assert run_command(["pipeline", "runs", "--tables", str(tmp_path), "--output", "json"]) == 2


@pytest.mark.parametrize(
    ("place", "uri"),
    [
        ("file:///data/h", "/data/h"),
        ("file:/data/h", "/data/h"),
        ("/data/h/", "/data/h"),
        ("s3a://bucket/h/", "s3a://bucket/h"),
        ("hdfs://namenode:8020/h", "hdfs://namenode:8020/h"),
    ],
)
def test_a_location_is_a_path_or_a_uri(place: str, uri: str) -> None:
    assert Location.of(place).uri == uri
    assert Location.of(place).is_local == uri.startswith("/")


def test_secrets_are_not_part_of_locations_and_errors() -> None:
    with pytest.raises(KedgeError, match="credentials come from the environment"):
        Location.of("s3a://key:secret@bucket/h")
    text = "AWS_SECRET_ACCESS_KEY=abc x?X-Amz-Signature=def&y token: ghi"
    assert not any(secret in without_secrets(text) for secret in ("abc", "def", "ghi"))
    assert "hunter" not in error_line(OSError("no access\n ↳ password=hunter2"))


def every_kind_of_column() -> pa.Table:
    """Two rows, with more columns than delta-rs keeps statistics of, and long and missing texts."""
    at = datetime(2026, 1, 5, tzinfo=UTC)
    columns: dict[str, Any] = {
        "cluster": ["c", "d"],
        "is_leader": [True, False],
        "bytes": [1.5, -0.5],
        "ts": [at, at.replace(hour=23, microsecond=999_999)],
        "rack": pa.array([None, "r"], pa.string()),
        "topic": ["a" * 300, "b" * 300],
    }
    columns |= {f"count_{number:02d}": [number, -number] for number in range(40)}
    return pa.table(columns)


def test_statistics_of_merged_files_skip_no_row(tmp_path: Path) -> None:
    rows = every_kind_of_column()
    for number in range(3):
        with open_warehouse(tmp_path, f"run-{number}") as warehouse, warehouse.stage() as staged:
            path = f"silver/{number}/dt={DAYS[0]}/part-0.parquet"
            with staged.location.open_output(path) as stream:
                pq.write_table(rows, stream)
            schema = delta_schema(rows.schema, "silver")
            staged.append("silver", staged.written("silver", str(number)), schema)
            warehouse.publish(staged, Manifest())
    done = compact(tmp_path, "compacting", keep_days=None, session=no_spark)
    assert (done.files_before, done.files_after) == (3, 1)
    for column in rows.column_names:
        for value in rows.column(column).drop_null().to_pylist():
            wanted = sum(value == other for other in rows.column(column).to_pylist()) * 3
            found = Tables(tmp_path).read("silver", where=[(column, "=", value)])
            assert found.num_rows == wanted, f"{column} = {value}"
    missing = Tables(tmp_path).open("silver").to_pyarrow_dataset()
    assert missing.to_table(filter=pc.field("rack").is_null()).num_rows == 3


def test_columns_are_added_and_files_without_them_have_null(tmp_path: Path) -> None:
    for number, rows in enumerate(({"value": [1]}, {"value": [2], "origin": ["scrape"]})):
        with open_warehouse(tmp_path, f"run-{number}") as warehouse, warehouse.stage() as staged:
            staged.write_arrow("silver", pa.table(rows), DAYS[number])
            warehouse.publish(staged, Manifest())
    read = Tables(tmp_path).read("silver").sort_by("value")
    assert read.to_pydict() == {"value": [1, 2], "origin": [None, "scrape"]}
    assert Tables(tmp_path, "1").read("silver").column_names == ["value"]
    compact(tmp_path, "compacting", keep_days=None, session=no_spark)
    assert Tables(tmp_path).read("silver").sort_by("value").to_pydict() == read.to_pydict()


def test_a_column_does_not_become_another_type(tmp_path: Path) -> None:
    publish(tmp_path, 1)
    with open_warehouse(tmp_path, "other") as warehouse, warehouse.stage() as staged:
        staged.write_arrow("silver", pa.table({"value": ["text"]}), DAYS[0])
        with pytest.raises(InvalidRequest, match="column value has another type") as refused:
            warehouse.publish(staged, Manifest())
    assert "\n" not in str(refused.value)
    assert contents(tmp_path) == after(1)
    publish(tmp_path, 2)
    assert contents(tmp_path) == after(1, 2)
