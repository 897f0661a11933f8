"""Tables on a real HDFS and a real S3 server, with the standalone Spark cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from kedge.pipeline.spark_cluster import spark_cluster
from kedge.pipeline.table_reader import Tables
from tests.pipeline.conftest import Metrics
from tests.pipeline.file_systems import PLACES, Place, fill
from tests.pipeline.oracle import state

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3600)]
RATES = (
    'currency = "EUR"\n[per_gb]\nin = 0.01\nout = 0.02\nreplication = 0.005\nstored_month = 0.08\n'
)


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


def test_every_reader_reads_them(place: Place, tables: Path, tmp_path: Path) -> None:
    rates = tmp_path / "rates.toml"
    rates.write_text(RATES)
    cluster = Tables(tables).reference.clusters[0]
    for arguments in (
        ("pipeline", "findings", "--output", "json"),
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


def test_compaction_merges_and_deletes_files(place: Place, tables: Path) -> None:
    before = Tables(place.tables).open("bronze").file_uris()
    shown = place.done("pipeline", "compact", "--tables", place.tables, "--unused", "0d")
    assert "unused files deleted" in shown
    assert len(Tables(place.tables).open("bronze").file_uris()) < len(before)
    assert state(place.tables) == state(tables)
