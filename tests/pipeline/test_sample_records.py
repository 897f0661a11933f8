"""Scrapes and admin snapshots as records of a topic, and back to files."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import pytest

from kedge.errors import ClusterUnavailable, InvalidRequest
from kedge.metrics.origins import Origin
from kedge.pipeline.jobs.admin_sampler import AdminSampler
from kedge.pipeline.jobs.produce import send_samples_periodically
from kedge.pipeline.sources.sample_records import SampleFiles, sample_records
from tests.cluster.faulty import FaultyCluster
from tests.pipeline.sampled_cluster import Clock, FixedOffsets, cluster


@dataclass(frozen=True)
class FakeRecord:
    """The calls of a record of the client library that are used."""

    found_key: bytes | None
    found_value: bytes | None

    def key(self) -> bytes | None:
        return self.found_key

    def value(self) -> bytes | None:
        return self.found_value

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 7


def write_samples(directory: Path) -> None:
    for name, text in {
        "scrape/1/1800000000.prom.gz": "up 1",
        "scrape/2/1800000060.prom": "up 2",
        "admin/1800000030.json": "{}",
    }.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def test_files_become_records_by_time_and_files_again(tmp_path: Path) -> None:
    write_samples(tmp_path / "from")
    found = list(sample_records(tmp_path / "from"))
    keys = ["scrape/1/1800000000.prom", "admin/1800000030.json", "scrape/2/1800000060.prom"]
    assert [key.decode() for _, key in found] == keys
    files = SampleFiles(tmp_path / "to")
    for value, key in found:
        files.write(FakeRecord(key, value))
    assert files.inputs == [
        (tmp_path / "to" / "scrape", Origin.SCRAPE),
        (tmp_path / "to" / "admin", Origin.ADMIN),
    ]
    texts = [gzip.decompress((tmp_path / "to" / key).read_bytes()) for key in keys]
    assert texts == [b"up 1", b"{}", b"up 2"]


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"\xff",
        b"../../etc/1800000000.prom",
        b"scrape/../1800000000.prom",
        b"other/1.json",
    ],
)
def test_foreign_records_stay_in_the_directory(key: bytes | None, tmp_path: Path) -> None:
    SampleFiles(tmp_path / "to").write(FakeRecord(key, None))
    written = [p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()]
    assert written == [Path("to/admin/foreign-2-7.json")]


def test_a_directory_without_samples_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="has no samples"):
        list(sample_records(tmp_path))


def test_samples_of_a_live_cluster_are_sent_and_leave_no_files(tmp_path: Path) -> None:
    sent: list[tuple[bytes, bytes]] = []
    clock = Clock()
    sampler = AdminSampler(cluster(), FixedOffsets(), tmp_path, clock)
    taken = send_samples_periodically(
        sampler,
        lambda value, key, /: sent.append((value, key)),
        interval_s=60,
        count=2,
        wait=clock.wait,
        sampled=lambda *_: None,
    )
    assert taken == len(sent) == 2
    assert [key for _, key in sent] == [b"admin/1800000000.json", b"admin/1800000060.json"]
    assert b'"log_dirs"' in gzip.decompress(sent[0][0])
    assert not list((tmp_path / "admin").iterdir())


def test_a_sample_that_fails_is_not_sent_and_sampling_goes_on(tmp_path: Path) -> None:
    sent: list[bytes] = []
    missed: list[str] = []
    clock, faulty = Clock(), FaultyCluster(cluster())
    faulty.fail("log_dirs", ClusterUnavailable("no broker reached"), times=1)
    taken = send_samples_periodically(
        AdminSampler(faulty.port, FixedOffsets(), tmp_path, clock),
        lambda value, key, /: sent.append(key),
        interval_s=60,
        count=3,
        wait=clock.wait,
        sampled=lambda *_: None,
        missed=lambda error: missed.append(error.what),
    )
    assert (taken, missed) == (2, ["no broker reached"])
    assert sent == [b"admin/1800000060.json", b"admin/1800000120.json"]
