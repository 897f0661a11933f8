"""Starts a standalone Spark cluster (master and workers) on this machine.

The pyspark package from PyPI has no start scripts; `bin/spark-class` starts the master and the
workers as plain processes. They listen on the loopback interface only and are terminated at the end
of the `with` block.

    with spark_cluster(Path("work")) as cluster:
        kedge pipeline ingest --master cluster.url …

As a program it runs until SIGINT or SIGTERM (`make spark-cluster`):

    python -m kedge.pipeline.spark_cluster --workers 2 --memory 1g
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from kedge.errors import InvalidRequest, KedgeError, SparkUnavailable
from kedge.pipeline.session import LOG_SETTINGS, LOOPBACK, SessionSettings

START_S = 90.0
POLL_S = 0.2
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


@dataclass(frozen=True, slots=True)
class SparkCluster:
    """The master's URL, and the process ids, the master's first."""

    url: str
    pids: tuple[int, ...]
    cores: int
    memory: str

    def session(self, *, driver_memory: str = "1g") -> SessionSettings:
        """Settings of a session that runs its jobs on this cluster."""
        sizes = {"spark.executor.memory": self.memory, "spark.executor.cores": "1"}
        more = {**sizes, "spark.cores.max": str(self.cores)}
        return SessionSettings(master=self.url, driver_memory=driver_memory, more=more)


@contextmanager
def spark_cluster(
    directory: Path, *, workers: int = 2, memory: str = "1g", port: int = 0
) -> Generator[SparkCluster]:
    """Run a master and workers of one core each for the duration of a `with` block.

    Their logs and the workers' scratch space are below `directory`.
    """
    _check_free(port)
    url = f"spark://{LOOPBACK}:{port or _free_port()}"
    directory.mkdir(parents=True, exist_ok=True)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(_master(directory, url))
        _wait_for(directory / "master.log", "I have been elected leader", processes)
        for number in range(1, workers + 1):
            processes.append(_worker(directory, url, number, memory))
        for number in range(1, workers + 1):
            log = directory / f"worker-{number}.log"
            _wait_for(log, "Successfully registered with master", processes)
        pids = tuple(process.pid for process in processes)
        yield SparkCluster(url, pids, workers, memory)
    finally:
        _terminate(processes)


def spark_home() -> Path:
    """The SPARK_HOME of the installed pyspark package."""
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        hint = "install it with kedge's extra `spark`"
        raise SparkUnavailable("pyspark is not installed", hint=hint)
    return Path(next(iter(found.submodule_search_locations)))


def _master(directory: Path, url: str) -> subprocess.Popen[bytes]:
    port = url.rpartition(":")[2]
    web = str(_free_port())
    command = [MASTER, "--host", LOOPBACK, "--port", port, "--webui-port", web]
    return _start(command, directory, "master")


def _worker(directory: Path, url: str, number: int, memory: str) -> subprocess.Popen[bytes]:
    scratch = directory / f"worker-{number}"
    sizes = ["--cores", "1", "--memory", memory, "--work-dir", str(scratch)]
    places = ["--host", LOOPBACK, "--webui-port", str(_free_port())]
    return _start([WORKER, *sizes, *places, url], directory, f"worker-{number}")


def _start(command: Sequence[str], directory: Path, name: str) -> subprocess.Popen[bytes]:
    home = spark_home()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Dlog4j2.configurationFile={_log_settings().as_uri()}",
        "PYSPARK_PYTHON": sys.executable,
    }
    with (directory / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), *command],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _log_settings() -> Path:
    """Log settings of the daemons: their log is the only place that says when they are up."""
    return LOG_SETTINGS.with_name("cluster-log4j2.properties")


def _wait_for(log: Path, line: str, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + START_S
    while line not in log.read_text(errors="replace"):
        ended = [process for process in processes if process.poll() is not None]
        if ended or time.monotonic() > deadline:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            why = last[0][:200] if last else "its log is empty"
            raise SparkUnavailable(f"the {log.stem} of the Spark cluster did not start: {why}")
        time.sleep(POLL_S)


def _terminate(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Terminate the workers first, so that they do not try to reconnect to the master."""
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=15)
        if process.poll() is None:
            process.kill()
            process.wait()


def _check_free(port: int) -> None:
    """Refuse a port in use: the master would silently listen on the next one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            hint = "another Spark master may be running; use another --port"
            raise InvalidRequest(f"port {port} is in use", hint=hint) from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a cluster until SIGINT or SIGTERM."""
    options = argparse.ArgumentParser(prog="python -m kedge.pipeline.spark_cluster")
    options.add_argument("--workers", type=int, default=2, help="workers of one core each")
    options.add_argument("--memory", default="1g", help="memory of each worker, as 1g")
    options.add_argument("--port", type=int, default=7077, help="port of the master")
    options.add_argument("--directory", type=Path, help="for logs and scratch space")
    parsed = options.parse_args(arguments)
    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with tempfile.TemporaryDirectory(prefix="kedge-spark-") as scratch:
        directory: Path = parsed.directory or Path(scratch)
        sizes = {"workers": parsed.workers, "memory": parsed.memory, "port": parsed.port}
        try:
            with spark_cluster(directory, **sizes) as cluster:
                print(f"{cluster.url} is running; stop it with Ctrl-C", flush=True)
                stopped.wait()
        except KedgeError as error:
            print(f"kedge: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
