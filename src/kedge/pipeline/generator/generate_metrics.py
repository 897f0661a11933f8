"""Generates metrics files, reference tables and expected results of one size and seed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from kedge.errors import InvalidRequest
from kedge.files import parquet
from kedge.model.arrow import Table, arrow
from kedge.pipeline.generator.expected_tables import ExpectedTables
from kedge.pipeline.generator.faults import FaultyTransport
from kedge.pipeline.generator.file_writer import FORMATS, FileWriter, to_table
from kedge.pipeline.generator.sizes import (
    ALLOWED_LATENESS_S,
    ARRIVAL_DELAY_S,
    FUTURE_TOLERANCE_S,
    INTERVAL_S,
    MICROS,
    START_S,
    WINDOW_S,
    size_of,
)
from kedge.pipeline.generator.synthetic_clusters import SyntheticClusters, make_clusters, sample

RACKS = 3


def generate(
    directory: Path, *, size: str, seed: int = 7, formats: Sequence[str] = ("parquet",)
) -> dict[str, Any]:
    """Write metrics, brokers, assignment and expected results; return `expected.json`."""
    chosen = size_of(size)
    for form in formats:
        if form not in FORMATS:
            hint = f"formats: {', '.join(FORMATS)}"
            raise InvalidRequest(f"unknown format {form!r}", hint=hint)
    for form in FORMATS:
        shutil.rmtree(directory / f"raw_{form}", ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    for_clusters, for_rows, for_text = np.random.SeedSequence(seed).spawn(3)
    clusters = make_clusters(np.random.default_rng(for_clusters), chosen)
    rng = np.random.default_rng(for_text)
    writer = FileWriter(directory, formats, rng, chosen.rows_per_file)
    expectation, transport = (
        ExpectedTables(clusters),
        FaultyTransport(np.random.default_rng(for_rows)),
    )
    _write_rows(clusters, writer, expectation, transport)
    expected = {"size": size, "seed": seed, **_expected(clusters, writer, expectation, transport)}
    _write_expected(directory, clusters, expectation, expected)
    return expected


def _write_rows(
    clusters: SyntheticClusters,
    writer: FileWriter,
    expectation: ExpectedTables,
    transport: FaultyTransport,
) -> None:
    for index in range(clusters.size.samples):
        samples = sample(clusters, transport.rng, index)
        arriving, kept = transport.deliver(index, samples)
        expectation.add(index, kept)
        writer.add(to_table(clusters, arriving), _arrival_us(index))
    for index, rows in transport.undelivered():
        writer.add(to_table(clusters, rows), _arrival_us(index))
    writer.flush()


def _arrival_us(index: int) -> int:
    return (START_S + index * INTERVAL_S + ARRIVAL_DELAY_S) * MICROS


def _expected(
    clusters: SyntheticClusters,
    writer: FileWriter,
    expectation: ExpectedTables,
    transport: FaultyTransport,
) -> dict[str, Any]:
    size = clusters.size
    return {
        "interval_s": INTERVAL_S,
        "window_s": WINDOW_S,
        "allowed_lateness_s": ALLOWED_LATENESS_S,
        "future_tolerance_s": FUTURE_TOLERANCE_S,
        "clusters": size.clusters,
        "brokers_per_cluster": size.brokers,
        "partitions": size.all_partitions,
        "replicas": size.all_partitions * size.replication_factor,
        "samples": size.samples,
        "windows": size.windows,
        "rows_total": writer.rows,
        **transport.counts,
        "malformed_kinds": dict(transport.kinds),
        "text_broken": dict(writer.broken_lines),
        "files": writer.files,
        "clean_bytes_in": expectation.total("bytes_in"),
        "clean_bytes_out": expectation.total("bytes_out"),
        "clean_leader_bytes_in": expectation.total("leader_bytes_in"),
        "hot_brokers": [[clusters.cluster_names[i], int(b)] for i, b in enumerate(clusters.hot)],
        "flapping": [clusters.named(int(index)) for index in clusters.flapping],
        "growing": [
            {"partition": clusters.named(int(i)), "bytes_per_interval": int(clusters.growth[i])}
            for i in clusters.growing
        ],
        "disk_capacity_bytes": clusters.disk_capacity,
    }


def _write_expected(
    directory: Path,
    clusters: SyntheticClusters,
    expectation: ExpectedTables,
    expected: dict[str, Any],
) -> None:
    tables = {
        "brokers": brokers_of(clusters),
        "assignment": assignment_of(clusters),
        "expected_broker": expectation.brokers(),
        "expected_window": expectation.windows(),
        "expected_tracked": expectation.tracked(),
    }
    for name, table in tables.items():
        parquet().write_table(table, directory / f"{name}.parquet")
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
    (directory / "expected.json").write_bytes(orjson.dumps(expected, option=options))


def brokers_of(clusters: SyntheticClusters) -> Table:
    """`brokers.parquet`: every broker with its rack and disk."""
    size = clusters.size
    cluster, broker = np.divmod(np.arange(size.clusters * size.brokers), size.brokers)
    return arrow().table(
        {
            "cluster": np.array(clusters.cluster_names)[cluster],
            "broker": broker.astype(np.int32),
            "rack": [f"r{number % RACKS}" for number in broker.tolist()],
            "disk_capacity_bytes": np.full(len(broker), clusters.disk_capacity, np.int64),
        }
    )


def assignment_of(clusters: SyntheticClusters) -> Table:
    """`assignment.parquet`: every partition with its replicas and its leader."""
    pa = arrow()
    replicas = clusters.replicas.astype(np.int32)
    return pa.table(
        {
            "cluster": np.array(clusters.cluster_names)[clusters.cluster],
            "topic": np.array(clusters.topic_names)[clusters.topic],
            "partition": clusters.partition.astype(np.int32),
            "replicas": pa.array(replicas.tolist(), pa.list_(pa.int32())),
            "leader": replicas[:, 0],
        }
    )
