"""Which files of a directory are metrics, and of which source."""

from __future__ import annotations

import json
from pathlib import Path

from kedge.metrics.origins import Origin
from kedge.metrics.parsing.name_resolution import TopicNames, distinct_topics
from kedge.pipeline.sources.metric_files import distinct_files, snapshots_beside, topics_in


def test_an_empty_directory_beside_the_metrics_is_not_one_of_snapshots(tmp_path: Path) -> None:
    (tmp_path / "scrape").mkdir()
    assert snapshots_beside(tmp_path / "scrape") is None
    (tmp_path / "admin").mkdir()
    (tmp_path / "admin" / "readme.txt").touch()
    assert snapshots_beside(tmp_path / "scrape") is None
    (tmp_path / "admin" / "1800000000.json.gz").touch()
    assert snapshots_beside(tmp_path / "scrape") == (tmp_path / "admin").resolve()
    assert snapshots_beside(tmp_path / "admin") is None


def test_the_topics_of_snapshots_are_read_from_the_first_to_the_last(tmp_path: Path) -> None:
    for at in range(100):
        names = {"always.there": {"0": 1}, **({"new.one": {"0": 0}} if at == 99 else {})}
        (tmp_path / f"{at:02}.json").write_text(json.dumps({"ts": at, "end_offsets": names}))
    (tmp_path / "00.json").write_text('{"ts":')
    files = distinct_files(sorted(tmp_path.iterdir()), (), Origin.ADMIN)
    assert topics_in(files) == {"always.there", "new.one"}


def test_a_name_that_an_earlier_run_stored_with_underscores_is_the_one_with_dots() -> None:
    """Kafka refuses topics whose names collide, so only one of them exists."""
    assert distinct_topics({"a.b"}, {"a_b", "c_d", "e.f", "e_f"}) == ("a.b", "c_d", "e.f")
    names = TopicNames(distinct_topics({"g_h"}, {"g.h", "e.f_g", "e_f_g"}))
    assert [names.restore(name) for name in ("g_h", "e_f_g", "i_j")] == ["g_h", "e.f_g", "i_j"]
