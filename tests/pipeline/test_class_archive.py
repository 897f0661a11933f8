"""The archive of Spark's classes: written once, used from then on, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.pipeline.class_archive import MAGIC, SWITCH, archive_path, class_archive
from kedge.pipeline.session import SessionSettings, _configuration


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory of its own; `java` is an empty file."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_TOOL_OPTIONS", raising=False)
    monkeypatch.delenv(SWITCH, raising=False)
    return tmp_path / "cache"


def test_the_first_job_writes_the_archive_and_the_next_one_uses_it(cache: Path) -> None:
    archive = archive_path()
    assert archive.parent.parent == cache
    assert class_archive()[0] == f"-XX:ArchiveClassesAtExit={archive}"
    archive.write_bytes(MAGIC + b"classes")
    assert class_archive()[0] == f"-XX:SharedArchiveFile={archive}"


def test_an_archive_that_was_not_finished_is_written_again(cache: Path) -> None:
    archive = archive_path()
    archive.parent.mkdir(parents=True)
    archive.write_bytes(bytes(4096))
    assert class_archive()[0] == f"-XX:ArchiveClassesAtExit={archive}"


def test_another_java_has_another_archive(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = archive_path()
    other = tmp_path / "jdk21" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk21"))
    assert archive_path() != first


def test_it_can_be_turned_off_and_is_for_jobs_in_one_jvm_only(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "spark.driver.extraJavaOptions"
    assert "ArchiveClassesAtExit" in _configuration(SessionSettings())[options]
    assert "ArchiveClassesAtExit" in _configuration(SessionSettings().for_rows(10))[options]
    cluster = SessionSettings(master="spark://h:7077")
    assert "ArchiveClassesAtExit" not in _configuration(cluster)[options]
    monkeypatch.setenv(SWITCH, "off")
    assert class_archive() == ()
