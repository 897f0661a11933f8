"""Samples of a cluster by admin requests, as files that `ingest --source admin` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.errors import InvalidRequest
from kedge.files import read_bytes
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.pipeline.jobs.admin_sampler import AdminSampler, sample_into_files
from kedge.pipeline.sources.metric_files import (
    ParseSettings,
    find_metric_files,
    parse_metric_file,
)
from tests.pipeline.fake_prometheus import FakePrometheus, Fault, serving
from tests.pipeline.sampled_cluster import Clock, FixedOffsets, cluster


def test_samples_are_files_that_ingest_reads(tmp_path: Path) -> None:
    clock, faults = Clock(), list[str]()
    text = b'kafka_log_log_size{topic="orders",partition="0"} 7\n'
    fake = FakePrometheus(faults=[Fault(200, text), Fault(500), Fault(200, text)])
    with serving(fake):
        sampler = AdminSampler(cluster(), FixedOffsets(), tmp_path, clock, {2: f"{fake.url}/m"})
        taken = sample_into_files(
            sampler,
            every_s=60,
            for_s=120,
            wait=clock.wait,
            sampled=lambda _, found: faults.extend(found),
        )
    assert taken == 3
    metadata = parse_metadata(read_bytes(tmp_path / "metadata.json"))
    assert metadata.ids == {1, 2, 3}
    history = parse_leaders(read_bytes(tmp_path / "leaders.json.gz"))
    assert [sorted(change.topics) for change in history] == [["orders"]]
    settings = ParseSettings(Origin.ADMIN, metadata)
    files = find_metric_files(tmp_path / "admin", Origin.ADMIN)
    assert [file.name for file in files] == [f"18000000{s:02}.json.gz" for s in (0, 60)] + [
        "1800000120.json.gz"
    ]
    (collected,) = parse_metric_file(files[0], settings)
    assert collected.malformed == []
    rows = collected.take().to_pylist()
    assert {row["series"] for row in rows} == {
        *("up", "log_size", "log_end_offset", "committed_offset"),
    }
    assert sum(row["series"] == "log_size" for row in rows) == 4
    assert len(find_metric_files(tmp_path / "scrape", Origin.SCRAPE)) == 2
    assert len(faults) == 1


def test_a_directory_of_another_cluster_and_an_unknown_broker_are_refused(tmp_path: Path) -> None:
    sampler = AdminSampler(cluster(), FixedOffsets(), tmp_path, Clock(), {9: "http://x/metrics"})
    with pytest.raises(InvalidRequest, match="no broker 9"):
        sampler.prepare()
    (tmp_path / "metadata.json").write_text('{"cluster": "other"}')
    with pytest.raises(InvalidRequest, match="another cluster"):
        AdminSampler(cluster(), FixedOffsets(), tmp_path, Clock()).prepare()
