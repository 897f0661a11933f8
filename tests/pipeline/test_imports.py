"""Modules that other commands use import neither Spark nor pandas nor a plotting library."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pyspark", "pandas", "plotly")
LIGHT = (
    *("broker_health", "compaction", "finding_history", "findings_reader", "load_reader"),
    *("load_snapshots", "manifest", "reference", "session"),
    *("sinks", "spark_cluster", "table_reader", "warehouse"),
    *("jobs.cluster_sampler", "jobs.context", "jobs.ingest", "jobs.kafka_producer"),
    *("jobs.produce", "jobs.stream", "sources.checkpoint", "sources.sample_files"),
    *("fanout.fleet_plans", "fanout.scenario_parsing", "fanout.verify_plans", "fanout.what_if"),
    *("fanout.what_if_chart", "generator"),
)


def imported_by(statement: str) -> set[str]:
    """The heavy libraries that are loaded after a statement in a fresh interpreter."""
    probe = f"import sys; {statement}; print(*(n for n in {HEAVY!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_modules_that_need_no_spark_do_not_import_it() -> None:
    assert imported_by("import " + ", ".join(f"kedge.pipeline.{name}" for name in LIGHT)) == set()


@pytest.mark.parametrize("command", ["plan", "pipeline"])
def test_the_help_of_a_command_imports_no_heavy_library(command: str) -> None:
    assert imported_by(f"from kedge.cli.app import run; run(['{command}', '--help'])") == set()


def test_the_probe_notices_an_import() -> None:
    assert imported_by("import kedge.pipeline.schemas") == {"pyspark"}
