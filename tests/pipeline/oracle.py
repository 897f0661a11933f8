"""Reads tables with DuckDB and compares them with the expected results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from kedge.pipeline.table_reader import Tables
from kedge.pipeline.tables.location import Location
from kedge.pipeline.warehouse import Place
from tests.pipeline.conftest import Metrics

GOLD_COLUMNS = {
    "broker_load": "cluster, broker, rows, bytes_in, bytes_out, leader_rows, leader_bytes_in, "
    "max_size_bytes",
    "window_load": "cluster, window_start, rows, bytes_in, bytes_out",
    "partition_load": 'cluster, topic, partition, n, p50, p95, "max", "sum"',
}
SILVER = (
    "cluster, broker, topic, partition, ts, ingest_ts, seq, is_leader, size_bytes, bytes_in, "
    "bytes_out, isr, rf, copies"
)
TABLES = {  # and the columns that do not depend on files and runs
    "silver": SILVER,
    "late": "* exclude (file, run_id)",
    "quarantine": "reason, raw",
    "gold/rollup": "*",
    "gold/broker_load": "*",
    "gold/window_load": "*",
    "gold/partition_load": "*",
    "gold/findings": "*",
}


def rows(output: Place, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    """The rows of a table of the last run, as DuckDB reads them, in order."""
    if Location.of(output).is_local:
        return query(f"select {columns} from {scan(output, table)} order by all")
    return content_of(output, table, columns)


def scan(output: Place, table: str) -> str:
    """A table of the last run as DuckDB names it: the files of its version."""
    files = ", ".join(f"'{file}'" for file in Tables(output).open(table).file_uris())
    return f"read_parquet([{files}], hive_partitioning=false, union_by_name=true)"


def query(text: str) -> list[tuple[Any, ...]]:
    """What DuckDB answers, in UTC."""
    with duckdb.connect() as connection:
        connection.sql("set timezone='UTC'")
        return connection.sql(text).fetchall()


def accounts(output: Place) -> dict[str, Any]:
    """The accounts beside the tables."""
    return json.loads(Location.of(output).read("accounts.json") or b"")


def expected_accounts(expected: dict[str, Any], form: str) -> dict[str, Any]:
    """The accounts that the generator's counts lead to."""
    broken = expected["text_broken"].get(form, 0)
    reasons = {**expected["malformed_kinds"], "unparsable": broken}
    return {
        "rows_read": expected["rows_total"] + broken,
        "kept": expected["clean_unique"],
        "duplicates": expected["exact_dup"],
        "superseded": expected["correction"],
        "late": expected["late_drop"],
        "quarantined": expected["malformed"] + broken,
        "quarantined_by_reason": {reason: count for reason, count in reasons.items() if count},
    }


def check_all(metrics: Metrics, output: Path, form: str) -> None:
    """Every account, sum, percentile and injected finding is the expected one."""
    assert accounts(output) == expected_accounts(metrics.expected, form)
    for table, file in (("broker_load", "expected_broker"), ("window_load", "expected_window")):
        truth = f"'{metrics.directory}/{file}.parquet'"
        columns = GOLD_COLUMNS[table]
        assert rows(output, f"gold/{table}", columns) == query(
            f"select {columns} from {truth} order by all"
        )
    truth = f"'{metrics.directory}/expected_tracked.parquet'"
    columns = GOLD_COLUMNS["partition_load"]
    wanted = set(query(f"select {columns} from {truth}"))
    assert wanted <= set(rows(output, "gold/partition_load", columns))
    check_planted(metrics.expected, output)


def check_planted(expected: dict[str, Any], output: Path) -> None:
    """The planted findings are found, no more and no fewer."""
    found = rows(output, "gold/findings", "kind, cluster, broker, topic, partition")
    growing = [planted["partition"] for planted in expected["growing"]]
    hot, planted = of_kind(found, "hot_broker", (1, 2)), as_set(expected["hot_brokers"])
    assert of_kind(found, "isr_flapping", (1, 3, 4)) == as_set(expected["flapping"])
    assert of_kind(found, "growing", (1, 3, 4)) == as_set(growing)
    assert hot == planted, f"hot brokers {sorted(hot)}, planted {sorted(planted)}"


def of_kind(found: list[tuple[Any, ...]], kind: str, places: tuple[int, ...]) -> set[Any]:
    """Some fields of the findings of a kind."""
    return {tuple(row[place] for place in places) for row in found if row[0] == kind}


def as_set(named: Iterable[Iterable[Any]]) -> set[Any]:
    """Lists as tuples in a set."""
    return {tuple(one) for one in named}


def state(output: Place) -> dict[str, Any]:
    """The content of all tables, without what depends on files and runs."""
    content = {table: content_of(output, table, columns) for table, columns in TABLES.items()}
    return {"accounts": accounts(output), **content}


def content_of(output: Place, table: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of a table with the columns of its log, on any file system."""
    with duckdb.connect() as connection:
        connection.sql("set timezone='UTC'")
        connection.register("found", Tables(output).read(table))
        return connection.sql(f"select {columns} from found order by all").fetchall()
