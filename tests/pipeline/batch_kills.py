"""`python -m tests.pipeline.batch_kills --kills 20`: kill -9 of drivers, executors and a worker.

Rows of XS are ingested file by file on a standalone cluster of two workers. At moments drawn by the
seed the driver is killed, or one executor; a killed driver is started again, a run that lost an
executor must end by itself. After each kill the tables are those of a whole run. At last a worker
is killed, with its executor, in the middle of a run. Then all tables have the rows that one
undisturbed ingest of the same files gives. With `--here`, the runs are those without Spark, and all
kills are of the command.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kedge.pipeline.generator import generate
from kedge.pipeline.spark_cluster import SparkCluster, spark_cluster
from kedge.pipeline.table_reader import Tables
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import last_run
from tests.pipeline.oracle import state
from tests.pipeline.streaming import quick_spark

FINISH_S = 1200.0  # a busy machine is no failure
EXECUTORS_S = 300.0


@dataclass
class Trial:
    """The input so far, the tables, and the cluster that the runs use, if any."""

    directory: Path
    cluster: SparkCluster | None
    files: list[Path]
    rng: random.Random
    kills: int = 0

    @property
    def tables(self) -> Path:
        """The tables under test."""
        return self.directory / "history"

    def add_file(self) -> None:
        """One more file of input."""
        file = self.files.pop()
        (self.directory / "input").mkdir(exist_ok=True)
        os.link(file, self.directory / "input" / file.name)

    def add_file_if_none_is_new(self) -> None:
        """One more file, if the last run has ingested all that are there."""
        found = last_run(Location.of(self.tables))[0]
        if found and len(found.manifest.contents) == len(os.listdir(self.directory / "input")):
            self.add_file()

    def start(self, tables: Path | None = None, master: str = "") -> subprocess.Popen[str]:
        """An ingest in its own process group."""
        options = {
            "--master": master or (self.cluster.url if self.cluster else "local[2]"),
            "--driver-memory": "1g",
            "--input": self.directory / "input",
            "--brokers": self.directory / "brokers.parquet",
            "--assignment": self.directory / "assignment.parquet",
            "--tables": tables or self.tables,
        }
        arguments = [str(part) for pair in options.items() for part in pair]
        return subprocess.Popen(
            [sys.executable, "-m", "kedge", "pipeline", "ingest", *arguments],
            env=quick_spark(self.directory),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def runs(self) -> int:
        """The number of complete runs; each table of the last one is read whole."""
        if last_run(Location.of(self.tables))[0] is None:
            return 0
        tables = Tables(self.tables)
        accounts = tables.run.manifest.accounts
        accounts.check()
        assert tables.read("silver").num_rows == accounts.kept
        assert tables.read("bronze", ["seq"]).num_rows == accounts.rows_read
        return tables.run.number


def finished(process: subprocess.Popen[str]) -> None:
    """Wait for a run that must end well."""
    try:
        output, _ = process.communicate(timeout=FINISH_S)
    except subprocess.TimeoutExpired:
        kill_group(process)
        raise
    assert process.returncode == 0, output


def kill_group(process: subprocess.Popen[str]) -> None:
    """kill -9 of a driver: Python and its JVM at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def kill_driver(trial: Trial, whole_s: float) -> str:
    """Start a run and kill its driver at a random moment; say when."""
    before, moment = trial.runs(), trial.rng.uniform(0.1, 1.0) * whole_s
    process = trial.start()
    try:
        process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        kill_group(process)
        trial.kills += 1
        after = trial.runs()
        assert after - before in (0, 1)
        what = "it is not in the tables" if after == before else "its run was complete"
        return f"driver after {moment:.1f} s of {whole_s:.1f}: {what}"
    assert process.returncode == 0
    return f"none: the run had ended before {moment:.1f} s"


def kill_executor(trial: Trial, *, worker: bool = False) -> str:
    """Start a run on a new file, kill an executor (or a worker and its executor), let it end."""
    trial.add_file()
    before, process = trial.runs(), trial.start()
    found = _executors(trial.cluster)
    deadline = time.monotonic() + EXECUTORS_S
    while not found and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
        found = _executors(trial.cluster)
    moment = trial.rng.uniform(0, 8)
    time.sleep(moment)
    found = _executors(trial.cluster) or found
    victim = trial.rng.choice(sorted(found)) if found else 0
    killed = [found[victim], victim] if worker and victim else [victim]
    done = [pid for pid in killed if pid and _killed(pid)]
    finished(process)
    trial.kills += bool(done)
    assert trial.runs() == before + 1
    kind = "worker and its executor" if worker else "executor"
    return f"{kind if done else 'none, too late'} {moment:.1f} s after it had started: run complete"


def _killed(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _executors(cluster: SparkCluster | None) -> dict[int, int]:
    """The executors of the cluster, each with its worker: the children of the workers."""
    found: dict[int, int] = {}
    for worker in cluster.pids[1:] if cluster else ():
        for task in Path(f"/proc/{worker}/task").glob("*/children"):
            try:
                found.update(dict.fromkeys(map(int, task.read_text().split()), worker))
            except OSError:
                continue  # the thread has ended
    return found


def prepare(directory: Path, seed: int, count: int) -> list[Path]:
    """The rows of XS in many files, each with a part of every day."""
    generate(directory, size="XS", seed=seed, formats=("parquet",))
    parts = [pq.ParquetFile(file).read() for file in sorted(directory.rglob("part-*.parquet"))]
    rows = pa.concat_tables(parts)
    (directory / "all").mkdir()
    files = [directory / "all" / f"rows-{number:03d}.parquet" for number in range(count)]
    for number, file in enumerate(files):
        pq.write_table(rows.take(list(range(number, len(rows), count))), file)
    return files


def run_trial(directory: Path, seed: int, kills: int) -> int:
    """Kill and check on a cluster; returns the number of kills."""
    executors = kills * 2 // 5
    files = prepare(directory, seed, 2 * kills + 4)
    with spark_cluster(directory / "cluster") as cluster:
        trial = Trial(directory, cluster, files, random.Random(seed))
        kill_drivers(trial, kills - executors)
        while trial.kills < kills:
            print(f"kill {trial.kills + 1}: {kill_executor(trial)}", flush=True)
        print(f"kill {trial.kills + 1}: {kill_executor(trial, worker=True)}", flush=True)
        check_end(trial)
    return trial.kills


def run_trial_here(directory: Path, seed: int, kills: int) -> int:
    """Kill and check runs without Spark; returns the number of kills."""
    files = prepare(directory, seed, 2 * kills + 4)
    trial = Trial(directory, None, files, random.Random(seed))
    kill_drivers(trial, kills)
    check_end(trial)
    return trial.kills


def kill_drivers(trial: Trial, kills: int) -> None:
    """Kill drivers of runs, and let the last run end."""
    trial.add_file()
    began = time.monotonic()
    finished(trial.start())
    whole_s = time.monotonic() - began
    print(f"an undisturbed run takes {whole_s:.1f} s", flush=True)
    while trial.kills < kills:
        trial.add_file_if_none_is_new()
        print(f"kill {trial.kills + 1}: {kill_driver(trial, whole_s)}", flush=True)
    finished(trial.start())


def check_end(trial: Trial) -> None:
    """Ingest what is left; the tables are those of one undisturbed run."""
    while trial.files:
        trial.add_file()
    finished(trial.start())
    undisturbed = trial.directory / "undisturbed"
    finished(trial.start(undisturbed, "local[2]"))
    assert state(trial.tables) == state(undisturbed)


def main() -> int:
    """Run a trial of a drawn or given seed."""
    options = argparse.ArgumentParser(prog="python -m tests.pipeline.batch_kills")
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--seed", type=int, help="drawn without")
    options.add_argument("--here", action="store_true", help="runs without Spark")
    parsed = options.parse_args()
    seed = parsed.seed if parsed.seed is not None else secrets.randbelow(1_000_000)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kedge-kills-") as scratch:
        kills = (run_trial_here if parsed.here else run_trial)(Path(scratch), seed, parsed.kills)
    print(f"{kills} kills, and the tables of an undisturbed run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
