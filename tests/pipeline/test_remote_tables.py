"""Runs on a real HDFS and a real S3 server, without Spark: commits, races, faults."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jvm.s3 import s3_server
from kedge.cli.app import run as run_command
from kedge.errors import InvalidRequest, OutputInUse
from kedge.pipeline.compaction import compact
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.tables.delta_log import commit
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import all_runs
from kedge.pipeline.warehouse import open_warehouse
from tests.pipeline.file_systems import PLACES
from tests.pipeline.numbered_runs import NAMES, after, contents, no_spark, publish, stage
from tests.pipeline.streaming import quick_spark

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(900)]
RIVALS = 8


@pytest.fixture(scope="module", params=sorted(PLACES))
def root(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[str]:
    """A directory of the file system."""
    directory = tmp_path_factory.mktemp(request.param)
    with PLACES[request.param](directory) as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", place.environment["SPARK_CONF_DIR"])
        yield place.root


def test_runs_are_whole_and_stopped_ones_unseen(root: str) -> None:
    tables = f"{root}/runs"
    publish(tables, 1)
    with open_warehouse(tables, "dead") as warehouse:
        dead = stage(warehouse, 8)
        for name in NAMES[:2]:
            commit(dead.location, name, dead.versions[name], dead.changes[name], {})
    assert contents(tables) == after(1)
    publish(tables, 2)
    assert contents(tables) == after(1, 2)
    assert contents(tables, "1") == after(1)


def test_the_second_of_two_runs_is_refused(root: str) -> None:
    tables = f"{root}/two"
    with open_warehouse(tables, "run-2") as one, open_warehouse(tables, "run-3") as other:
        slow, fast = stage(one, 2), stage(other, 3)
        other.publish(fast, Manifest(run_id="run-3"))
        with pytest.raises(OutputInUse, match="another run has changed the tables"):
            one.publish(slow, Manifest(run_id="run-2"))
    assert contents(tables) == after(3)


def test_of_many_runs_at_once_each_is_complete_or_refused(root: str) -> None:
    tables = f"{root}/race"
    publish(tables, 0)

    def publish_or_refuse(value: int) -> int | None:
        try:
            publish(tables, value)
        except OutputInUse:
            return None
        return value

    with ThreadPoolExecutor(RIVALS) as rivals:
        ended = list(rivals.map(publish_or_refuse, range(1, RIVALS + 1)))
    complete = [value for value in ended if value is not None]
    runs = [run["run_id"] for run in all_runs(Location.of(tables))]
    assert sorted(runs) == sorted(f"run-{value}" for value in (0, *complete))
    in_order = [int(run.removeprefix("run-")) for run in runs]
    assert contents(tables) == after(*in_order)
    publish(tables, 99)
    assert contents(tables) == after(*in_order, 99)


def test_compaction_merges_and_deletes(root: str) -> None:
    tables = f"{root}/compacted"
    for value in range(4):
        publish(tables, value)
    done = compact(tables, "compacting", keep_days=None, session=no_spark, unused_days=0)
    assert done.files_deleted > 0
    assert contents(tables) == after(*range(4))
    publish(tables, 4)
    assert contents(tables) == after(*range(5))


def test_lost_credentials_and_missing_buckets_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with s3_server(tmp_path / "s3") as server:
        tables = f"{server.create_bucket('metrics')}/history"
        settings = {
            name: value for name, value in server.spark_settings().items() if "hadoop" in name
        }
        good, lost = tmp_path / "good", tmp_path / "lost"
        secret = "spark.hadoop.fs.s3a.secret.key"
        quick_spark(lost, {**settings, secret: "other-secret-0815"})
        quick_spark(good, settings)
        monkeypatch.setenv("SPARK_CONF_DIR", str(good / "spark-conf"))
        publish(tables, 1)
        monkeypatch.setenv("SPARK_CONF_DIR", str(lost / "spark-conf"))
        with pytest.raises(InvalidRequest, match="access denied"):
            publish(tables, 2)
        assert run_command(["pipeline", "runs", "--tables", tables]) == 2
        shown = capsys.readouterr().err
        assert "access denied" in shown
        assert "other-secret-0815" not in shown
        assert len(shown.splitlines()) <= 2
        monkeypatch.setenv("SPARK_CONF_DIR", str(good / "spark-conf"))
        with pytest.raises(InvalidRequest, match="s3a://nowhere: no such bucket"):
            publish("s3a://nowhere/history", 2)
        assert run_command(["pipeline", "runs", "--tables", "s3a://nowhere/history"]) == 2
        assert "no such bucket" in capsys.readouterr().err
        publish(tables, 2)
        assert contents(tables) == after(1, 2)
    assert run_command(["pipeline", "runs", "--tables", tables]) == 1
    assert "the file system does not answer" in capsys.readouterr().err
