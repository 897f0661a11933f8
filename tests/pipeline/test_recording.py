"""A recording of real brokers through the commands, compared with what was sent and read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.cli.app import run
from tests.metrics.attribution.recordings import Rates, Recording, errors

RECORDING = Recording(Path(__file__).parents[1] / "metrics" / "data" / "recording")
QUIET_S = 300  # nothing but traffic happens in the first five minutes

pytestmark = [pytest.mark.real, pytest.mark.slow]


def rates(tables: Path, start: int, end: int, capsys: pytest.CaptureFixture[str]) -> Rates:
    of = ("--cluster", RECORDING.cluster, "--from", str(start), "--to", str(end))
    assert run(["pipeline", "rates", "--tables", str(tables), *of, "--output", "json"]) == 0
    return {
        (row["topic"], row["partition"]): (row["in_bytes_per_s"], row["out_bytes_per_s"])
        for row in json.loads(capsys.readouterr().out)
    }


def ingested(source: str, path: Path, tables: Path) -> str:
    """Ingest a part of a recording by the command; what it wrote to stderr."""
    described = ("--metadata", f"{path}/metadata.json", "--leaders", f"{path}/leaders.json.gz")
    given = ("--source", source, "--input", f"{path}/{source}", *described)
    # in a process of its own: it stops its Spark session, and other tests share one here
    command = [sys.executable, "-m", "kedge", "pipeline", "ingest", *given, "--tables", str(tables)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize("source", ["prometheus", "scrape"])
def test_one_command_makes_rates_of_partitions_that_are_true(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The admin snapshots beside the metrics tell what groups have read."""
    path, tables = RECORDING.path, tmp_path / "tables"
    assert f"committed offsets are taken from {path}/admin" in ingested(source, path, tables)
    for end in (RECORDING.t0 + QUIET_S, RECORDING.t1):
        found = rates(tables, RECORDING.t0, end, capsys)
        truth = RECORDING.truth(RECORDING.t0, end)
        bytes_in, bytes_out = (errors(found, truth, which) for which in (0, 1))
        assert (bytes_in.median < 0.01, bytes_in.p90 < 0.03, bytes_in.worst < 0.08) == (True,) * 3
        assert (bytes_out.median < 0.015, bytes_out.p90 < 0.05) == (True, True), bytes_out
        assert bytes_out.worst < 0.25, bytes_out


@pytest.mark.parametrize(
    ("source", "median_max", "of_total_max"),
    [("admin", 0.01, 0.15), ("cruise-control", 0.03, 0.10)],
)
def test_rates_of_sources_without_counters_are_within_their_limits(
    source: str,
    median_max: float,
    of_total_max: float,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ingested(source, RECORDING.path, tmp_path / "tables")
    for end in (RECORDING.t0 + QUIET_S, RECORDING.t1):
        found = rates(tmp_path / "tables", RECORDING.t0, end, capsys)
        bytes_in = errors(found, RECORDING.truth(RECORDING.t0, end), 0)
        assert bytes_in.median < median_max, bytes_in
        assert bytes_in.of_total < of_total_max, bytes_in


def kminion_scrape(since: int) -> str:
    """What kminion exports of a topic with two partitions: 100 B a record, 30 and 10 a second."""
    lines = [
        'kminion_kafka_topic_info{topic_name="t",replication_factor="2"} 1',
        f'kminion_kafka_topic_log_dir_size_total_bytes{{topic_name="t"}} {2 * 4000 * since}',
    ]
    for partition, rate in enumerate((30, 10)):
        of = f'topic_name="t",partition_id="{partition}"'
        lines += [
            f"kminion_kafka_topic_partition_high_water_mark{{{of}}} {rate * since}",
            f"kminion_kafka_topic_partition_low_water_mark{{{of}}} 0",
            f'kminion_kafka_consumer_group_topic_partition_lag{{group_id="g",{of}}} 5',
        ]
    return "\n".join(lines) + "\n"


def test_scrapes_of_kminion_make_rates_of_partitions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kminion").mkdir()
    for since in range(0, 901, 30):
        path = tmp_path / "kminion" / f"{RECORDING.t0 + since}.prom"
        path.write_text(kminion_scrape(since))
    brokers = [{"id": 1}, {"id": 2}]
    described = json.dumps({"cluster": RECORDING.cluster, "brokers": brokers})
    (tmp_path / "metadata.json").write_text(described)
    placed = {"t": {"0": [1, [1, 2], [1, 2]], "1": [2, [2, 1], [2, 1]]}}
    leaders = json.dumps([{"ts": RECORDING.t0, "topics": placed}])
    (tmp_path / "leaders.json.gz").write_bytes(gzip.compress(leaders.encode()))
    ingested("kminion", tmp_path, tmp_path / "tables")
    found = rates(tmp_path / "tables", RECORDING.t0 + 60, RECORDING.t0 + 840, capsys)
    bytes_in = {key: way[0] for key, way in found.items()}
    assert bytes_in == pytest.approx({("t", 0): 3000, ("t", 1): 1000}, rel=0.05)
