"""Files made of the tables of the last run: `accounts.json`, and a snapshot of each cluster.

They are no tables: `kedge plan --snapshot` and other programs read them as plain files. They are
written after a run is committed, and once more by the next run if that was interrupted.
"""

from __future__ import annotations

import io
from typing import Final

import orjson

from kedge.files import parquet, path_component
from kedge.model.snapshot_arrow import BROKERS, PARTITIONS, snapshot_to_arrow
from kedge.pipeline.load_snapshots import snapshots
from kedge.pipeline.table_reader import Tables
from kedge.pipeline.warehouse import ACCOUNTS, Warehouse

SNAPSHOTS: Final = "gold/snapshot"
MADE_OF: Final = "gold/_snapshot_run.json"


def write_derived_files(warehouse: Warehouse) -> None:
    """Write the files of the last run, unless they are there."""
    location, run = warehouse.location, warehouse.last
    if run is None:
        return
    made_of = orjson.dumps({"run_id": run.run_id})
    if location.read(MADE_OF) == made_of:
        return
    names: set[str] = set()
    for cluster, snapshot in snapshots(Tables(location, run.run_id)):
        names.add(path_component(cluster))
        for name, table in zip((BROKERS, PARTITIONS), snapshot_to_arrow(snapshot), strict=True):
            packed = io.BytesIO()
            parquet().write_table(table, packed, compression="zstd")
            location.write(f"{SNAPSHOTS}/{path_component(cluster)}/{name}", packed.getvalue())
    for name in location.names(SNAPSHOTS):
        if name not in names:
            location.delete(f"{SNAPSHOTS}/{name}")
    location.write(ACCOUNTS, run.manifest.accounts.to_json())
    location.write(MADE_OF, made_of)
