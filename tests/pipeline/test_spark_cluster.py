"""The standalone Spark cluster: same tables as a local job, and errors at start-up."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kedge.errors import InvalidRequest, SparkUnavailable
from kedge.pipeline.spark_cluster import _wait_for, main, spark_cluster
from tests.pipeline.conftest import Metrics
from tests.pipeline.oracle import state
from tests.pipeline.streaming import quick_spark


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_job_on_a_cluster_gives_the_tables_of_a_local_one(
    metrics: Callable[[str, int], Metrics], tables: Path, tmp_path: Path
) -> None:
    made, output = metrics("XS", 7), tmp_path / "history"
    with spark_cluster(tmp_path / "cluster") as cluster:
        options = {
            "--master": cluster.url,
            "--driver-memory": "1g",
            "--input": made.directory / "raw_parquet",
            "--brokers": made.directory / "brokers.parquet",
            "--assignment": made.directory / "assignment.parquet",
            "--tables": output,
        }
        arguments = [str(part) for pair in options.items() for part in pair]
        command = [sys.executable, "-m", "kedge", "pipeline", "ingest", *arguments]
        done = subprocess.run(
            command, env=quick_spark(tmp_path), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert all(is_there(pid) for pid in cluster.pids)
        ran = [path.name for path in (tmp_path / "cluster").glob("worker-*/app-*")]
        assert len(ran) >= 1  # executors have worked there
    assert not any(is_there(pid) for pid in cluster.pids)
    assert state(output) == state(tables)


def test_a_port_in_use_is_refused_before_a_process_starts(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(InvalidRequest, match=f"port {port} is in use"),
            spark_cluster(tmp_path / "cluster", port=port),
        ):
            pass
    assert not (tmp_path / "cluster").exists()


def test_the_program_reports_a_port_in_use_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["--port", str(port), "--directory", str(tmp_path / "cluster")]) == 1
    assert capsys.readouterr().err.startswith(f"kedge: port {port} is in use")


def test_a_master_that_does_not_start_is_reported_with_the_last_line_of_its_log(
    tmp_path: Path,
) -> None:
    (tmp_path / "master.log").write_text("first\nno memory left\n")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
        with pytest.raises(SparkUnavailable, match=r"the master .* did not start: no memory left"):
            _wait_for(tmp_path / "master.log", "elected leader", [ended])
