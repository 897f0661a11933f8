"""The same rows ingested into a local directory, HDFS and S3, each by the commands that users run.

A `Place` has the directory of input and of tables, and what Spark needs to reach both. `fill` puts
two halves of the rows there, each with an ingest after it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jvm.hdfs import hdfs
from jvm.s3 import s3_server
from kedge.pipeline.tables.location import Location
from tests.pipeline.conftest import Metrics
from tests.pipeline.streaming import quick_spark

BUCKET = "metrics"
COMMAND_S = 900.0  # a busy machine is no failure


@dataclass(frozen=True)
class Place:
    """A directory of a file system, and the process environment that reaches it."""

    root: str
    environment: Mapping[str, str] = field(repr=False)
    master: str = "local[2]"

    @property
    def tables(self) -> str:
        """Where the tables are."""
        return f"{self.root}/history"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of Kedge."""
        return subprocess.run(
            [sys.executable, "-m", "kedge", *arguments],
            env=dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_S,
        )

    def done(self, *arguments: str) -> str:
        """Run a command that must succeed; return its output."""
        ran = self.run(*arguments)
        assert ran.returncode == 0, f"{arguments}: {ran.stderr}"
        return ran.stdout

    def ingest_arguments(self) -> list[str]:
        """The command line of an ingest of this place's input."""
        options = {
            "--master": self.master,
            "--driver-memory": "1g",
            "--input": f"{self.root}/input",
            "--brokers": f"{self.root}/brokers.parquet",
            "--assignment": f"{self.root}/assignment.parquet",
            "--tables": self.tables,
        }
        return ["pipeline", "ingest", *(part for pair in options.items() for part in pair)]

    def put(self, source: Path, names: Sequence[str], below: str = "") -> None:
        """Copy files of a local directory."""
        location = Location.of(self.root)
        for name in names:
            location.write(f"{below}{name}", (source / name).read_bytes())


@contextmanager
def hdfs_place(directory: Path, master: str = "local[2]") -> Generator[Place]:
    """A directory of a new HDFS."""
    with hdfs(directory / "hdfs") as uri:
        yield Place(f"{uri}/kedge", quick_spark(directory), master)


@contextmanager
def s3_place(directory: Path, master: str = "local[2]") -> Generator[Place]:
    """A bucket of a new S3 server."""
    with s3_server(directory / "s3") as server:
        environment = quick_spark(directory, server.spark_settings())
        yield Place(f"{server.create_bucket(BUCKET)}/kedge", environment, master)


PLACES = {"hdfs": hdfs_place, "s3": s3_place}


def fill(place: Place, made: Metrics) -> None:
    """Two halves of the rows, an ingest after each, and one that finds nothing new."""
    source = made.directory / "raw_parquet"
    files = sorted(str(file.relative_to(source)) for file in source.rglob("*.parquet"))
    place.put(made.directory, ("brokers.parquet", "assignment.parquet"))
    for half in (files[::2], files[1::2]):
        place.put(source, half, "input/")
        place.done(*place.ingest_arguments())
    assert "0 rows of 0 new files" in place.run(*place.ingest_arguments()).stderr
