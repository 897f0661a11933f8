"""Which files of metrics are the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.metrics.origins import Origin
from kedge.pipeline.sources.metric_files import distinct_files, find_metric_files


def write(directory: Path, *names: str) -> Path:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("kafka_log_log_size 7\n")
    return directory


def distinct(directory: Path, origin: Origin, known: tuple[str, ...] = ()) -> list[str]:
    found = distinct_files(find_metric_files(directory, origin), known, origin)
    return [file.path.relative_to(directory).as_posix() for file in found]


@pytest.mark.parametrize("origin", [Origin.SCRAPE, Origin.KMINION])
def test_equal_scrapes_of_other_times_and_brokers_are_all_read(
    origin: Origin, tmp_path: Path
) -> None:
    """An idle broker exports the same text each time, and has not stopped."""
    names = ["1/1800000000.prom", "1/1800000060.prom", "2/1800000000.prom"]
    assert distinct(write(tmp_path, *names), origin) == names


def test_a_copy_of_a_scrape_and_one_that_is_known_are_read_once(tmp_path: Path) -> None:
    write(tmp_path, "a/1/1800000000.prom", "copy/1/1800000000.prom")
    (first,) = distinct_files(find_metric_files(tmp_path, Origin.SCRAPE), (), Origin.SCRAPE)
    assert distinct(tmp_path, Origin.SCRAPE, (first.sha256,)) == []


def test_answers_of_prometheus_are_known_by_their_content(tmp_path: Path) -> None:
    write(tmp_path, "a.json", "b.json")
    assert distinct(tmp_path, Origin.PROMETHEUS) == ["a.json"]
    assert distinct(tmp_path, Origin.KMINION) == ["a.json"]
