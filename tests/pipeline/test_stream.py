"""The stream gives the tables of the batch, and a kill neither loses nor duplicates a row."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from jvm.clusters import RealCluster
from kedge.cli.app import run
from kedge.pipeline.warehouse import Place
from kedge.wiring import open_cluster
from tests.pipeline.conftest import Metrics
from tests.pipeline.oracle import SILVER, rows
from tests.pipeline.streaming import (
    TOPIC,
    StreamCommand,
    check_rows_and_accounts,
    create_topic,
    kafka,
    lines_of,
    send_shuffled,
)

pytestmark = pytest.mark.real
MakeMetrics = Callable[[str, int], Metrics]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[RealCluster]:
    with kafka(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.mark.timeout(900)
def test_a_killed_stream_continues_and_has_the_tables_of_the_batch(
    cluster: RealCluster, metrics: MakeMetrics, tables: Path, tmp_path: Path
) -> None:
    made = metrics("XS", 7)
    send_shuffled(cluster.bootstrap, TOPIC, lines_of(made), seed=1)
    command = StreamCommand(cluster.bootstrap, made, tmp_path, max_offsets=7000)
    running = command.start()
    assert running.wait_for_batch()
    time.sleep(random.Random(5).uniform(0, 2))
    running.kill()
    command.start().finish()

    check_rows_and_accounts(command, made)
    streamed, batched = silver_and_gold(command.output), silver_and_gold(tables)
    for name, found in batched.items():
        assert streamed[name] == found, name


def silver_and_gold(output: Place) -> dict[str, object]:
    """The tables that do not depend on the source of the rows."""
    gold = ("rollup", "broker_load", "window_load", "partition_load", "findings")
    found: dict[str, object] = {name: rows(output, f"gold/{name}") for name in gold}
    return {"silver": rows(output, "silver", SILVER), **found}


def test_a_deleted_topic_is_an_error_of_one_sentence_and_writes_nothing(
    cluster: RealCluster, metrics: MakeMetrics, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    create_topic(cluster.bootstrap, "brief")
    with open_cluster(cluster.bootstrap, {}) as admin:
        assert admin.delete_topics(["brief"]) == {"brief": None}
    command = StreamCommand(cluster.bootstrap, metrics("XS", 7), tmp_path)
    arguments = ["brief" if part == TOPIC else part for part in command.arguments()]
    assert run(arguments) == 2
    sentence = capfd.readouterr().err.strip()
    assert sentence.startswith("kedge: ")
    assert "brief" in sentence
    assert "\n" not in sentence
    assert not Path(str(command.output)).exists()
    assert not Path(str(command.checkpoint)).exists()


def test_samples_of_a_live_cluster_reach_its_topic(
    cluster: RealCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    create_topic(cluster.bootstrap, "sampled")
    arguments = ["pipeline", "produce", "--bootstrap-server", cluster.bootstrap]
    arguments += ["--topic", "sampled", "--interval", "50ms", "--count", "2"]
    assert run(arguments) == 0
    reported = capfd.readouterr()
    replicas = [int(line.split()[0]) for line in reported.err.splitlines() if "sampled" in line]
    assert len(replicas) == 2
    assert replicas[0] >= 8  # the two topics of four partitions
    assert reported.out.strip() == f"{sum(replicas)} rows sent to sampled"
