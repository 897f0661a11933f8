"""Generating: the samples one after the other, the faults, the truth, the files."""

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
from kedge.pipeline.generator.faults import Transport
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
from kedge.pipeline.generator.truth import Truth
from kedge.pipeline.generator.world import World, make_world, sample
from kedge.pipeline.generator.writing import FORMATS, FileWriter, as_table

RACKS = 3


def generate(
    directory: Path, *, size: str, seed: int = 7, formats: Sequence[str] = ("parquet",)
) -> dict[str, Any]:
    """Write metrics, brokers, assignment and expected answers; the content of `expected.json`."""
    chosen = size_of(size)
    for form in formats:
        if form not in FORMATS:
            hint = f"there are {', '.join(FORMATS)}"
            raise InvalidRequest(f"no format {form!r}", hint=hint)
    for form in FORMATS:
        shutil.rmtree(directory / f"raw_{form}", ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    for_world, for_rows, for_text = np.random.SeedSequence(seed).spawn(3)
    world = make_world(np.random.default_rng(for_world), chosen)
    luck = np.random.default_rng(for_text)
    writer = FileWriter(directory, formats, luck, chosen.rows_per_file)
    truth, transport = Truth(world), Transport(np.random.default_rng(for_rows))
    _write_rows(world, writer, truth, transport)
    expected = {"size": size, "seed": seed, **_expected(world, writer, truth, transport)}
    _write_answers(directory, world, truth, expected)
    return expected


def _write_rows(world: World, writer: FileWriter, truth: Truth, transport: Transport) -> None:
    for index in range(world.size.samples):
        told = sample(world, transport.luck, index)
        arriving, kept = transport.carry(index, told)
        truth.add(index, kept)
        writer.add(as_table(world, arriving), _arrival_us(index))
    for index, rows in transport.stragglers():
        writer.add(as_table(world, rows), _arrival_us(index))
    writer.flush()


def _arrival_us(index: int) -> int:
    return (START_S + index * INTERVAL_S + ARRIVAL_DELAY_S) * MICROS


def _expected(
    world: World, writer: FileWriter, truth: Truth, transport: Transport
) -> dict[str, Any]:
    size = world.size
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
        "clean_bytes_in": truth.total("bytes_in"),
        "clean_bytes_out": truth.total("bytes_out"),
        "clean_leader_bytes_in": truth.total("leader_bytes_in"),
        "hot_brokers": [[world.clusters[i], int(b)] for i, b in enumerate(world.hot)],
        "flapping": [world.named(int(index)) for index in world.flapping],
        "growing": [
            {"partition": world.named(int(i)), "bytes_per_interval": int(world.growth[i])}
            for i in world.growing
        ],
        "disk_capacity_bytes": world.disk_capacity,
    }


def _write_answers(directory: Path, world: World, truth: Truth, expected: dict[str, Any]) -> None:
    tables = {
        "brokers": brokers_of(world),
        "assignment": assignment_of(world),
        "expected_broker": truth.brokers(),
        "expected_window": truth.windows(),
        "expected_tracked": truth.tracked(),
    }
    for name, table in tables.items():
        parquet().write_table(table, directory / f"{name}.parquet")
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
    (directory / "expected.json").write_bytes(orjson.dumps(expected, option=options))


def brokers_of(world: World) -> Table:
    """`brokers.parquet`: every broker with its rack and disk."""
    size = world.size
    cluster, broker = np.divmod(np.arange(size.clusters * size.brokers), size.brokers)
    return arrow().table(
        {
            "cluster": np.array(world.clusters)[cluster],
            "broker": broker.astype(np.int32),
            "rack": [f"r{number % RACKS}" for number in broker.tolist()],
            "disk_capacity_bytes": np.full(len(broker), world.disk_capacity, np.int64),
        }
    )


def assignment_of(world: World) -> Table:
    """`assignment.parquet`: every partition with its replicas and its leader."""
    pa = arrow()
    replicas = world.replicas.astype(np.int32)
    return pa.table(
        {
            "cluster": np.array(world.clusters)[world.cluster],
            "topic": np.array(world.topics)[world.topic],
            "partition": world.partition.astype(np.int32),
            "replicas": pa.array(replicas.tolist(), pa.list_(pa.int32())),
            "leader": replicas[:, 0],
        }
    )
