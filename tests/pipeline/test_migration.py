"""Tables that an earlier release has written, with all that Spark and links had laid out, migrated.

`former_tables.tar.gz` has the input and the tables of two runs of the release before Delta tables.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from kedge.cli.app import run as run_command
from kedge.errors import OutputNotOurs
from kedge.pipeline.jobs.ingest import IngestRequest
from kedge.pipeline.sources.sample_files import Format
from kedge.pipeline.table_reader import Tables
from tests.pipeline.conftest import Ingesting
from tests.pipeline.oracle import accounts, state

FORMER = Path(__file__).with_name("former_tables.tar.gz")


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """The directory with the former input and tables."""
    with tarfile.open(FORMER) as packed:
        packed.extractall(tmp_path, filter="tar")
    return tmp_path


def request_for(former: Path, tables: Path) -> IngestRequest:
    return IngestRequest(
        former / "input",
        Format.PARQUET,
        former / "brokers.parquet",
        former / "assignment.parquet",
        tables,
    )


def test_migrated_tables_are_those_of_an_ingest_of_the_same_rows(
    former: Path, ingesting: Ingesting, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(OutputNotOurs, match="kedge pipeline migrate OLD NEW"):
        ingesting(request_for(former, former / "history"))
    files = files_of(former / "history")
    assert run_command(["pipeline", "migrate", str(former / "history"), str(former / "new")]) == 0
    assert "tables with" in capsys.readouterr().out
    assert files_of(former / "history") == files, "the former tables stay as they are"
    ingesting(request_for(former, former / "anew"))
    assert state(former / "new") == state(former / "anew")
    assert Tables(former / "new").read("bronze").num_rows == accounts(former / "new")["rows_read"]


def test_the_next_ingest_knows_the_files_of_the_former_runs(
    former: Path, ingesting: Ingesting
) -> None:
    run_command(["pipeline", "migrate", str(former / "history"), str(former / "new")])
    before = state(former / "new")
    done = ingesting(request_for(former, former / "new"))
    assert (done.files, done.rows) == (0, 0)
    assert state(former / "new") == before


def files_of(directory: Path) -> dict[str, Any]:
    """The content of every file, and where links lead to."""
    return {
        str(path): path.readlink() if path.is_symlink() else path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
