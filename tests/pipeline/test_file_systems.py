"""Tables on a real HDFS and a real S3 server, with the standalone Spark cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.spark_cluster import spark_cluster
from kedge.pipeline.table_reader import Tables
from kedge.pipeline.tables.location import Location
from tests.pipeline.conftest import Metrics
from tests.pipeline.file_systems import PLACES, Place, fill
from tests.pipeline.oracle import state
from tests.pipeline.streaming import (
    TOPIC,
    StreamCommand,
    StreamProcess,
    check_rows_and_accounts,
    kafka,
    lines_of,
    send_shuffled,
)

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3600)]
ABOUT_RUNS = ("change", "previous_value", "since")
RATES = """\
currency = "EUR"
[per_gb]
in = 0.01
out = 0.02
replication = 0.005
stored_month = 0.08
"""


@pytest.fixture(scope="module", params=sorted(PLACES))
def place(
    request: pytest.FixtureRequest,
    metrics: Callable[[str, int], Metrics],
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[Place]:
    """Tables of XS, ingested in two halves on a cluster of two workers."""
    directory = tmp_path_factory.mktemp(request.param)
    with (
        spark_cluster(directory / "cluster") as cluster,
        PLACES[request.param](directory, cluster.url) as made,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SPARK_CONF_DIR", made.environment["SPARK_CONF_DIR"])
        fill(made, metrics("XS", 7))
        yield made


def test_the_tables_are_those_of_a_local_directory(place: Place, tables: Path) -> None:
    assert state(place.tables) == state(tables)


def findings_of(place: Place, tables: str) -> list[dict[str, Any]]:
    """The findings, without what compares them with the run before."""
    found = json.loads(place.done("pipeline", "findings", "--tables", tables, "--output", "json"))
    return [{k: v for k, v in one.items() if k not in ABOUT_RUNS} for one in found]


def test_every_reader_reads_them(place: Place, tables: Path, tmp_path: Path) -> None:
    rates = tmp_path / "rates.toml"
    rates.write_text(RATES)
    cluster = Tables(tables).reference.clusters[0]
    findings = [findings_of(place, at) for at in (str(tables), place.tables)]
    assert findings[0] == findings[1]
    for arguments in (
        ("pipeline", "rates", "--cluster", cluster, "--output", "json"),
        ("capacity", "--output", "json"),
        ("cost", "--rates", str(rates), "--output", "json"),
    ):
        here = place.done(*arguments, "--tables", str(tables))
        assert place.done(*arguments, "--tables", place.tables) == here
    loads = ("pipeline", "loads", "--cluster", cluster, "--at", "p95")
    for name, at in (("here", str(tables)), ("there", place.tables)):
        place.done(*loads, "--tables", at, "--out", str(tmp_path / f"{name}.json"))
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()
    runs = json.loads(place.done("pipeline", "runs", "--tables", place.tables, "--output", "json"))
    assert [run["kind"] for run in runs] == ["ingest", "ingest"]


@dataclass(frozen=True)
class RemoteStream(StreamCommand):
    """A stream whose tables and checkpoint are on the file system."""

    place: Place | None = None

    @property
    def output(self) -> str:
        """Where the tables are."""
        assert self.place is not None
        return f"{self.place.root}/streamed"

    @property
    def checkpoint(self) -> str:
        """How far it has got."""
        assert self.place is not None
        return f"{self.place.root}/checkpoint"

    def start(self) -> StreamProcess:
        """Start it in its own process group."""
        assert self.place is not None
        return StreamProcess(self.arguments(), dict(self.place.environment))


def test_a_stream_merges_each_row_once_also_if_it_is_killed(
    place: Place, metrics: Callable[[str, int], Metrics], tmp_path: Path
) -> None:
    made = metrics("XS", 7)
    with kafka(tmp_path / "kafka") as cluster:
        send_shuffled(cluster.bootstrap, TOPIC, lines_of(made), seed=7)
        command = RemoteStream(cluster.bootstrap, made, tmp_path, 6500, place)
        running = command.start()
        assert running.wait_for_batch()
        running.kill()
        command.start().finish()
    check_rows_and_accounts(command, made)
    assert Location.of(f"{command.checkpoint}/spark").names("commits")


def test_compaction_merges_and_deletes_files(place: Place, tables: Path) -> None:
    before = Tables(place.tables).open("bronze").file_uris()
    shown = place.done("pipeline", "compact", "--tables", place.tables, "--unused", "0d")
    assert "unused files deleted" in shown
    assert len(Tables(place.tables).open("bronze").file_uris()) < len(before)
    assert state(place.tables) == state(tables)
