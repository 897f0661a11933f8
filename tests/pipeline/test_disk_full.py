"""A disk that is full at any step of a run: one sentence, nothing lost, the next run goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kedge.errors import Unavailable
from tests.pipeline.conftest import Metrics
from tests.pipeline.file_systems import Place
from tests.pipeline.numbered_runs import after, contents, publish
from tests.pipeline.oracle import accounts, expected_accounts, state
from tests.pipeline.streaming import quick_spark

PAGE = 4096


@contextmanager
def small_disk(directory: Path, size: str) -> Generator[Path]:
    """A file system in memory of this size."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can only be mounted by root")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def leave_free(disk: Path, pages: int) -> None:
    """Fill the disk but for some pages."""
    free = os.statvfs(disk).f_bavail
    (disk / "ballast").write_bytes(bytes(max(0, free - pages) * PAGE))


def test_a_full_disk_is_one_sentence_and_the_next_run_goes_on(tmp_path: Path) -> None:
    failures: list[str] = []
    with small_disk(tmp_path / "disk", "4m") as disk:
        root = disk / "history"
        published = [1]
        publish(root, 1)
        for pages in range(0, 40, 2):
            leave_free(disk, pages)
            value = published[-1] + 1
            try:
                publish(root, value)
            except Unavailable as error:
                failures.append(str(error))
            else:
                published.append(value)
            (disk / "ballast").unlink()
            assert contents(root) == after(*published)
        publish(root, 99)
        assert contents(root) == after(*published, 99)
    assert len(failures) >= 3, "the disk was never full"
    assert all("no space left" in line and "\n" not in line for line in failures)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_ingest_on_a_full_disk_can_be_repeated(
    metrics: Callable[[str, int], Metrics], tables: Path, tmp_path: Path
) -> None:
    made = metrics("XS", 7)
    with small_disk(tmp_path / "disk", "64m") as disk:
        place = Place(str(disk), quick_spark(tmp_path))
        place.put(made.directory, ("brokers.parquet", "assignment.parquet"))
        files = sorted((made.directory / "raw_parquet").rglob("*.parquet"))
        for file in files:
            place.put(file.parent, (file.name,), "input/")
        leave_free(disk, 80)
        refused = place.run(*place.ingest_arguments())
        assert refused.returncode == 1
        assert "no space left" in refused.stderr
        assert "Traceback" not in refused.stderr
        (disk / "ballast").unlink()
        place.done(*place.ingest_arguments())
        assert accounts(place.tables) == expected_accounts(made.expected, "parquet")
        assert state(place.tables) == state(tables)
