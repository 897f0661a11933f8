"""The settings of Spark sessions, and the errors of sessions that cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.cli.pipeline_options import spark_settings
from kedge.errors import InvalidRequest, SparkUnavailable
from kedge.pipeline import session
from kedge.pipeline.session import (
    SessionSettings,
    _check_java,
    _configuration,
    _failure_reason,
    create_session,
    parse_jars,
)
from kedge.pipeline.spark_cluster import SparkCluster


def test_settings_of_the_caller_override_the_defaults() -> None:
    settings = SessionSettings(driver_memory="3g", more={"spark.ui.enabled": "true"})
    found = _configuration(settings)
    assert found["spark.driver.memory"] == "3g"
    assert found["spark.ui.enabled"] == "true"
    assert found["spark.sql.session.timeZone"] == "UTC"


def test_a_small_job_uses_the_fast_compiler_unless_java_options_are_given() -> None:
    options = "spark.driver.extraJavaOptions"
    few, many = (_configuration(SessionSettings().for_rows(n)) for n in (1000, 10_000_000))
    assert "-XX:TieredStopAtLevel=1" in few[options]
    assert "TieredStopAtLevel" not in many[options]
    assert few["spark.sql.adaptive.enabled"] == "false"
    assert "spark.sql.adaptive.enabled" not in many
    given = SessionSettings(java_options=("-Xint",)).for_rows(1000)
    assert given.java_options == ("-Xint",)


def test_a_large_job_has_more_tasks_that_are_not_joined_again() -> None:
    few, many = (_configuration(SessionSettings().for_rows(n)) for n in (5_000_000, 100_000_000))
    names = ("shuffle.partitions", "adaptive.advisoryPartitionSizeInBytes")
    assert [few.get(f"spark.sql.{name}") for name in names] == ["8", None]
    assert [many[f"spark.sql.{name}"] for name in names] == ["100", "8m"]


@pytest.mark.parametrize(
    ("written", "class_name"),
    [
        (["history", "file:/srv/checkpoint"], "RawLocalFileSystem"),
        (["s3a://metrics/history"], None),
        (["history", "s3a://metrics/checkpoint"], None),
    ],
)
def test_files_on_disks_have_no_checksum_files_unless_a_job_writes_to_an_object_store(
    written: list[str], class_name: str | None
) -> None:
    found = _configuration(spark_settings("local[2]", "2g", written=written))
    name = found.get("spark.hadoop.fs.file.impl", "")
    assert (name.rpartition(".")[2] or None) == class_name


def test_a_connect_server_gets_only_settings_that_a_client_may_set() -> None:
    found = _configuration(SessionSettings(master="sc://h:15002", more={"spark.x": "1"}))
    assert found == {"spark.sql.session.timeZone": "UTC", "spark.x": "1"}


def test_jars_are_separated_by_commas_and_must_exist(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.touch()
    assert parse_jars(f"{jar},") == (jar,)
    assert _configuration(SessionSettings(jars=(jar,)))["spark.jars"] == str(jar)
    with pytest.raises(InvalidRequest, match=r"b\.jar: no such jar"):
        parse_jars(f"{jar},{tmp_path / 'b.jar'}")


def test_a_collector_of_the_environment_is_not_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_TOOL_OPTIONS", raising=False)
    monkeypatch.delenv("_JAVA_OPTIONS", raising=False)
    options = "spark.driver.extraJavaOptions"
    assert "ParallelGC" in _configuration(SessionSettings())[options]
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC")
    assert "GC" not in _configuration(SessionSettings())[options]


@pytest.mark.parametrize("variable", ["JAVA_HOME", "PATH"])
def test_a_machine_without_java_is_an_error_of_one_sentence(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(SparkUnavailable, match=f"Spark needs Java, which is not in .*{variable}"):
        _check_java()


def test_a_master_that_is_unknown_is_an_error_of_one_sentence() -> None:
    with pytest.raises(SparkUnavailable, match="no Spark session on sc://"):
        create_session(SessionSettings(master="sc://host with spaces:x"))


@pytest.mark.parametrize(
    ("log", "error", "reason"),
    [
        ("a\njava.net.BindException: in use\nat x", ValueError("v"), "java.net.BindException"),
        ("Error: Could not find main class", ValueError("v"), "Error: Could not find main class"),
        ("nothing", ValueError("the message\nmore"), "the message"),
        ("", ValueError(""), "ValueError"),
    ],
)
def test_the_reason_of_a_failed_start_is_one_line(log: str, error: Exception, reason: str) -> None:
    found = _failure_reason(log, error)
    assert found.startswith(reason)
    assert "\n" not in found


def test_the_session_of_a_cluster_uses_its_cores_and_memory() -> None:
    settings = SparkCluster("spark://h:1", (1, 2, 3), cores=2, memory="1g").session()
    assert settings.master == "spark://h:1"
    assert settings.more["spark.cores.max"] == "2"
    assert settings.more["spark.executor.memory"] == "1g"


def test_a_driver_that_has_ended_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        def stop(self) -> None:
            raise ConnectionRefusedError

    monkeypatch.setattr(session, "create_session", lambda settings: Ended())
    with (
        pytest.raises(SparkUnavailable, match="the process of Spark's driver has ended"),
        session.spark_session(),
    ):
        raise ConnectionResetError
