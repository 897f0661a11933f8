"""Tables that a release before Delta wrote, migrated: they equal those of an ingest of this one.

`data/former_tables.tar.xz` is what that release made of the generator's metrics: size XS, seed 7.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kedge.pipeline.migration import migrate
from kedge.pipeline.table_reader import Tables

FORMER = Path(__file__).with_name("data") / "former_tables.tar.xz"
PROVENANCE = {"run_id", "file", "source"}


@pytest.fixture
def former(tmp_path: Path) -> Path:
    shutil.unpack_archive(FORMER, tmp_path / "former")
    return tmp_path / "former"


def _rows(tables: Tables, name: str, columns: set[str]) -> list[str]:
    rows: list[dict[str, Any]] = tables.read(name).select(sorted(columns)).to_pylist()
    return sorted(map(repr, rows))


def test_tables_of_the_former_release_are_those_of_an_ingest(
    former: Path, tables: Path, tmp_path: Path
) -> None:
    migrate(former, tmp_path / "new", "migrated")
    migrated, ingested = Tables(tmp_path / "new"), Tables(tables)
    assert migrated.run.manifest.accounts == ingested.run.manifest.accounts
    assert migrated.run.manifest.days == ingested.run.manifest.days
    assert migrated.run.versions.keys() == ingested.run.versions.keys()
    for name in ingested.run.versions:
        schemas = [set(each.read(name).column_names) for each in (migrated, ingested)]
        columns = set.intersection(*schemas) - PROVENANCE
        assert columns >= schemas[0] - PROVENANCE, name
        assert _rows(migrated, name, columns) == _rows(ingested, name, columns), name
