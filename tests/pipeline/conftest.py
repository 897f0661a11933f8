"""Fixtures: one Spark session for the whole test run, and generated metrics."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kedge.pipeline.generator import generate
from kedge.pipeline.jobs.ingest import IngestRequest, IngestResult, ingest
from kedge.pipeline.session import SessionSettings, create_session
from kedge.pipeline.sources.sample_files import Format

# The frames are so small that code generation costs more than interpretation.
SMALL = {
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Generator[SparkSession]:
    """The session that every test shares."""
    warehouse = tmp_path_factory.mktemp("spark-warehouse")
    settings = SessionSettings(
        driver_memory="1g",
        partitions=2,
        java_options=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        more={**SMALL, "spark.sql.warehouse.dir": str(warehouse)},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark emits deprecation warnings
        session = create_session(settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def opened(spark: SparkSession) -> Callable[[], AbstractContextManager[SparkSession]]:
    """A session factory for jobs: the shared session, which stays open."""
    return lambda: nullcontext(spark)


@dataclass(frozen=True)
class Metrics:
    """Generated metrics and the expected results."""

    directory: Path
    expected: dict[str, Any]

    def request(self, form: Format, tables: Path, source: Path | None = None) -> IngestRequest:
        """A request to ingest them, or the files in another directory."""
        return IngestRequest(
            source or self.directory / f"raw_{form}",
            form,
            self.directory / "brokers.parquet",
            self.directory / "assignment.parquet",
            tables,
        )


@pytest.fixture(scope="session")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Metrics]:
    """Metrics of a size and a seed, generated once."""
    made: dict[tuple[str, int], Metrics] = {}

    def of(size: str, seed: int) -> Metrics:
        if (size, seed) not in made:
            directory = tmp_path_factory.mktemp(f"metrics-{size}-{seed}")
            expected = generate(
                directory, size=size, seed=seed, formats=("parquet", "jsonl", "csv")
            )
            made[size, seed] = Metrics(directory, json.loads(json.dumps(expected)))
        return made[size, seed]

    return of


Ingesting = Callable[..., IngestResult]


@pytest.fixture(scope="session")
def ingesting(opened: Callable[[], AbstractContextManager[SparkSession]]) -> Ingesting:
    """Run an ingest in the shared session."""
    return lambda request, **limits: ingest(request, lambda rows: opened(), **limits)


@pytest.fixture(scope="session")
def tables(
    metrics: Callable[[str, int], Metrics],
    ingesting: Ingesting,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The tables of XS, for tests that only read them."""
    output = tmp_path_factory.mktemp("tables") / "history"
    ingesting(metrics("XS", 7).request(Format.PARQUET, output))
    return output
