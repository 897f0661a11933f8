"""The commands of `kedge pipeline`, and reading the tables without Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kedge.cli.app import run
from kedge.errors import InvalidRequest
from kedge.files import read_snapshot, write_snapshot
from kedge.pipeline.compaction import apply_retention, compact
from kedge.pipeline.load_snapshots import parse_load_statistic
from kedge.pipeline.manifest import Day, Manifest
from kedge.pipeline.tables.data_files import DataFile
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.staged_run import StagedRun
from kedge.report.findings import sparkline
from tests.balance.snapshots import lopsided
from tests.pipeline.oracle import query, scan, state

NOWHERE = ["--input", "nowhere", "--brokers", "b", "--assignment", "a", "--tables", "o"]

Captured = pytest.CaptureFixture[str]


@pytest.mark.real
def test_findings_have_their_time_series_and_need_no_spark(tables: Path) -> None:
    words = f"['pipeline', 'findings', '--tables', {str(tables)!r}, '--output', 'json']"
    probe = (
        f"import sys; from kedge.cli.app import run; code = run({words}); "
        "print('pyspark' in sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert done.stderr.splitlines()[-1] == "False"
    assert {one["kind"] for one in found} >= {"hot_broker", "isr_flapping", "growing"}
    assert all(one["course"] and one["change"] == "new" for one in found)
    growing = next(one for one in found if one["kind"] == "growing")
    assert growing["course"] == sorted(growing["course"])


@pytest.mark.real
@pytest.mark.parametrize("at", ["p50", "p95", "max", "mean", "ewma", "forecast+7d"])
def test_a_snapshot_has_the_requested_load(at: str, tables: Path, tmp_path: Path) -> None:
    requested = ("pipeline", "loads", "--tables", str(tables), "--cluster", "c01", "--at", at)
    assert run([*requested, "--out", str(tmp_path / "made")]) == 0
    made = read_snapshot(tmp_path / "made")
    figure = {"mean": '"sum" / n', "forecast+7d": '"sum" / n'}.get(at, f'"{at}"')
    wanted = query(
        f"select {figure} / 60, last_size, growth_bytes_per_day "
        f"from {scan(tables, 'gold/partition_load')} where cluster = 'c01' "
        "order by topic, partition"
    )
    assert made.bytes_in.tolist() == pytest.approx([row[0] for row in wanted])
    days = 7 if at.startswith("forecast") else 0
    assert made.size.tolist() == [max(0, size + growth * days) for _, size, growth in wanted]


@pytest.mark.real
def test_compaction_changes_the_files_and_not_the_rows(
    tables: Path, tmp_path: Path, opened: Callable[[], AbstractContextManager[SparkSession]]
) -> None:
    output = tmp_path / "history"
    shutil.copytree(tables, output)
    before = state(output)
    done = compact(output, "compacting", keep_days=30, session=opened)
    assert done.files_after < done.files_before
    assert done.days_removed == ()
    assert state(output) == before


def test_retention_removes_old_days_and_the_runs_with_only_such_rows(tmp_path: Path) -> None:
    days = ["2026-01-01", "2026-01-02", "2026-01-03"]
    staged = StagedRun(Location.of(tmp_path), "run", None)
    for table, column in (
        *(("silver", "dt"), ("gold/rollup", "dt")),
        *(("bronze", "arrival_dt"), ("late", "arrival_dt")),
    ):
        files = [DataFile(f"{day}.parquet", 1, 1, {column: day}) for day in days]
        staged.append(table, [*files, DataFile("x.parquet", 1, 1, {column: None})], "{}")
    manifest = Manifest(days={day: Day(10, 11) for day in days}, rows_read=33)
    after, removed = apply_retention(staged, manifest, 2)
    assert list(removed) == days[:1]
    for table in ("silver", "gold/rollup", "bronze", "late"):
        kept = [one.path for one in staged.files(table)]
        assert kept == ["2026-01-02.parquet", "2026-01-03.parquet", "x.parquet"]
    assert after.accounts == manifest.accounts


def test_days_that_retention_removes_stay_in_the_accounts() -> None:
    days = {"2026-01-01": Day(10, 12), "2026-01-02": Day(5, 5)}
    whole = Manifest(days=days, rows_read=17)
    less = Manifest(days={"2026-01-02": Day(5, 5)}, retired=Day(10, 12), rows_read=17)
    assert whole.accounts == less.accounts


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["findings", "--tables", "nowhere"], "not a directory of pipeline tables"),
        (["findings", "--tables", "x", "--kind", "odd"], "no kind 'odd'"),
        (["compact", "--tables", "x", "--keep", "soon"], "write it in days, like 30d"),
        (["loads", "--tables", "x", "--cluster", "c", "--out", "y", "--at", "p42"], "'p42'"),
        (["ingest", *NOWHERE], "no such directory"),
        (["what-if", "--snapshot", "s"], "No scenarios given"),
        (["what-if", "--snapshot", "s", "--grid", "colour=1"], "unknown axis 'colour'"),
        (["what-if", "--snapshot", "s", "--grid", "traffic"], "has no values"),
        (["what-if", "--snapshot", "s", "--grid", "traffic=1;traffic=2"], "'traffic=2'"),
        (["what-if", "--snapshot", "s", "--grid", "traffic=fast"], "traffic=fast is not a number"),
        (["what-if", "--snapshot", "s", "--grid", "traffic=-1"], "factor of traffic -1"),
        (["what-if", "--snapshot", "s", "--grid", ";"], "no axis given"),
        (["what-if", "--snapshot", "no", "--grid", "traffic=2"], "no such file or directory"),
        (["what-if", "--snapshot", "s", "--grid", "lose-rack=z"], "unknown rack z"),
        (["what-if", "--snapshot", "s", "--grid", "tolerance=-1"], "numbers from 0"),
        (["what-if", "--snapshot", "s", "--grid", "tolerance=5"], "tolerance 5 is more than 1"),
        (["what-if", "--snapshot", "s", "--scenarios", "no"], "no such file or directory"),
        (["what-if", "--snapshot", "s", "--grid", "seed=1", "--out", "no/x"], "to write to"),
        (["fleet", "--tables", "no", "--out", "o"], "not a directory of pipeline tables"),
        (["fleet", "--tables", "no", "--out", "o", "--tolerance", "x"], "not a number from 0"),
        (["verify-plans", "--plans", "no", "--snapshots", "s"], "no such file or directory"),
        (["verify-plans", "--plans", "s", "--snapshots", "s"], "has no plans"),
        (["verify-plans", "--plans", "s", "--snapshots", "s", "--out", "no/x"], "to write to"),
        (["verify-plans", "--plans", "s", "--snapshots", "s", "--driver-memory", "x"], "like 2g"),
    ],
)
def test_a_bad_request_is_one_sentence_and_starts_no_spark(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_snapshot(lopsided(), "s")
    assert run(["pipeline", *words]) == 2
    last_line = capsys.readouterr().err.strip().splitlines()[-1]
    assert last_line.startswith("kedge: ")
    assert sentence in last_line
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize(
    "command", ["ingest", "findings", "loads", "compact", "fleet", "what-if", "verify-plans"]
)
def test_every_command_explains_itself_with_an_example(command: str, capsys: Captured) -> None:
    assert run(["pipeline", command, "--help"]) == 0
    assert f"Example: kedge pipeline {command}" in " ".join(capsys.readouterr().out.split())


def test_forecasts_are_in_days() -> None:
    assert (parse_load_statistic("forecast+30d").days, parse_load_statistic("p95").name) == (
        30,
        "p95",
    )
    with pytest.raises(InvalidRequest, match="forecast"):
        parse_load_statistic("forecast+1w")


def test_a_sparkline_goes_from_the_least_to_the_greatest() -> None:
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5]) == "▄▄"
    assert sparkline([]) == ""
    assert len(sparkline(list(range(1000)))) == 24
