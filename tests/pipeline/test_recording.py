"""A recording of real brokers through the commands, compared with what was sent and read."""

from __future__ import annotations

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


@pytest.mark.parametrize("source", ["prometheus", "scrape"])
def test_one_command_makes_rates_of_partitions_that_are_true(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The admin snapshots beside the metrics tell what groups have read."""
    path, tables = RECORDING.path, tmp_path / "tables"
    described = ("--metadata", f"{path}/metadata.json", "--leaders", f"{path}/leaders.json.gz")
    given = ("--source", source, "--input", f"{path}/{source}", *described)
    # in a process of its own: it stops its Spark session, and other tests share one here
    command = [sys.executable, "-m", "kedge", "pipeline", "ingest", *given, "--tables", str(tables)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"committed offsets are taken from {path}/admin" in done.stderr
    for end in (RECORDING.t0 + QUIET_S, RECORDING.t1):
        found = rates(tables, RECORDING.t0, end, capsys)
        truth = RECORDING.truth(RECORDING.t0, end)
        bytes_in, bytes_out = (errors(found, truth, which) for which in (0, 1))
        assert (bytes_in.median < 0.01, bytes_in.p90 < 0.03, bytes_in.worst < 0.08) == (True,) * 3
        assert (bytes_out.median < 0.015, bytes_out.p90 < 0.05) == (True, True), bytes_out
        assert bytes_out.worst < 0.25, bytes_out
