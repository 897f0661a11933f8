"""Which files of a directory are metrics, and of which source."""

from __future__ import annotations

from pathlib import Path

from kedge.pipeline.sources.metric_files import snapshots_beside


def test_an_empty_directory_beside_the_metrics_is_not_one_of_snapshots(tmp_path: Path) -> None:
    (tmp_path / "scrape").mkdir()
    assert snapshots_beside(tmp_path / "scrape") is None
    (tmp_path / "admin").mkdir()
    (tmp_path / "admin" / "readme.txt").touch()
    assert snapshots_beside(tmp_path / "scrape") is None
    (tmp_path / "admin" / "1800000000.json.gz").touch()
    assert snapshots_beside(tmp_path / "scrape") == (tmp_path / "admin").resolve()
    assert snapshots_beside(tmp_path / "admin") is None
