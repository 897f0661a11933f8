"""Two ingests of the same tables at once, as processes: nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import all_runs
from tests.pipeline.conftest import Metrics
from tests.pipeline.file_systems import Place
from tests.pipeline.oracle import state
from tests.pipeline.streaming import quick_spark

REFUSED = "another run has changed the tables meanwhile"


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_ingests_at_once_end_and_lose_nothing(
    metrics: Callable[[str, int], Metrics], tables: Path, tmp_path: Path
) -> None:
    made = metrics("XS", 7)
    files = sorted((made.directory / "raw_parquet").rglob("*.parquet"))
    whole = Place(str(tmp_path), quick_spark(tmp_path))
    whole.put(made.directory, ("brokers.parquet", "assignment.parquet"))
    commands: list[list[str]] = []
    for number in (0, 1):
        part = replace(whole, root=f"{tmp_path}/part-{number}")
        for file in files[number::2]:
            part.put(file.parent, (file.name,), "input/")
        arguments = whole.ingest_arguments()
        arguments[arguments.index("--input") + 1] = f"{part.root}/input"
        commands.append(arguments)
    with ThreadPoolExecutor(2) as both:
        ended = list(both.map(lambda arguments: whole.run(*arguments), commands))
    refused = [one for one in ended if one.returncode]
    assert len(refused) <= 1, [one.stderr for one in refused]
    for one in refused:  # or the first had ended before the second began
        assert one.returncode == 2
        assert REFUSED in one.stderr
        assert "Traceback" not in one.stderr
    for arguments in commands:
        whole.done(*arguments)
    assert state(whole.tables) == state(tables)
    kinds = [run["kind"] for run in all_runs(Location.of(whole.tables))]
    assert kinds == ["ingest", "ingest"]
