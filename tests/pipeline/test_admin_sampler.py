"""Samples of a cluster by admin requests, as files that `ingest --source admin` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.errors import ClusterUnavailable, InvalidRequest, KedgeError, Unavailable
from kedge.files import read_bytes
from kedge.metrics.origins import Origin
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.model import BrokerId
from kedge.pipeline.jobs.admin_sampler import AdminSampler, sample_into_files, scraped
from kedge.pipeline.sources.metric_files import (
    ParseSettings,
    find_metric_files,
    parse_metric_file,
)
from tests.cluster.faulty import FaultyCluster
from tests.pipeline.fake_prometheus import FakePrometheus, Fault, serving
from tests.pipeline.sampled_cluster import Clock, FixedOffsets, cluster


def _none_missed(error: KedgeError) -> None:
    raise AssertionError(error)


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
            missed=_none_missed,
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
    (tmp_path / "metadata.json").write_text('{"cluster": "other", "brokers": [{"id": 1}]}')
    with pytest.raises(InvalidRequest, match="another cluster"):
        AdminSampler(cluster(), FixedOffsets(), tmp_path, Clock()).prepare()


@pytest.mark.parametrize(
    "fault",
    [
        Fault(200, b"kafka_log_log_size 7\n" * 9, truncate=True),
        Fault(200, b"ff\r\nkafka_log_log_size 7\n", {"Transfer-Encoding": "chunked"}),
        Fault(200, b"not a length\r\n", {"Transfer-Encoding": "chunked"}),
    ],
    ids=["shorter than its length", "within a chunk", "without a chunk"],
)
def test_an_answer_that_ends_too_early_is_no_scrape(fault: Fault) -> None:
    with serving(FakePrometheus(faults=[fault])) as fake, pytest.raises(Unavailable) as refused:
        scraped(f"{fake.url}/metrics")
    assert refused.value.what.startswith(f"{fake.url}/metrics: ")


def sampled_with_faults(faulty: FaultyCluster, out: Path) -> tuple[int, list[str]]:
    clock, missed = Clock(), list[str]()
    taken = sample_into_files(
        AdminSampler(faulty.port, FixedOffsets(), out, clock),
        every_s=60,
        for_s=240,
        wait=clock.wait,
        sampled=lambda *_: None,
        missed=lambda error: missed.append(error.what),
    )
    return taken, missed


def test_a_sample_that_fails_is_missed_and_the_next_one_is_due_at_its_moment(
    tmp_path: Path,
) -> None:
    faulty = FaultyCluster(cluster())
    faulty.fail("topic_names", ClusterUnavailable("no broker reached"), times=2)
    assert sampled_with_faults(faulty, tmp_path) == (3, ["no broker reached"] * 2)
    names = [file.name for file in find_metric_files(tmp_path / "admin", Origin.ADMIN)]
    assert names == [f"1800000{s}.json.gz" for s in (120, 180, 240)]


def test_sampling_without_any_sample_is_an_error(tmp_path: Path) -> None:
    faulty = FaultyCluster(cluster())
    faulty.fail("topic_names", ClusterUnavailable("no broker reached"))
    with pytest.raises(Unavailable, match="none of 5 samples was taken: no broker reached"):
        sampled_with_faults(faulty, tmp_path)


@pytest.mark.parametrize("name", ["metadata.json", "leaders.json.gz"])
@pytest.mark.parametrize("text", ["", "[7]", "{", '"text"', '[{"ts": 1}]'])
def test_damaged_files_of_an_earlier_run_are_refused_and_kept(
    name: str, text: str, tmp_path: Path
) -> None:
    AdminSampler(cluster(), FixedOffsets(), tmp_path, Clock()).prepare()
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidRequest, match=name):
        AdminSampler(cluster(), FixedOffsets(), tmp_path, Clock()).prepare()
    assert (tmp_path / name).read_text() == text


def test_a_second_run_adds_to_the_leaders_of_the_first(tmp_path: Path) -> None:
    live, clock = cluster(), Clock()
    for _ in range(2):
        sampler = AdminSampler(live, FixedOffsets(), tmp_path, clock)
        sampler.prepare()
        sampler.sample()
        live.stop_broker(BrokerId(1))
        clock.wait(60)
    history = parse_leaders(read_bytes(tmp_path / "leaders.json.gz"))
    assert [change.ts_ms for change in history] == [1_800_000_000_000, 1_800_000_060_000]
