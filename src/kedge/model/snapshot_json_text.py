"""Writes the canonical JSON of a snapshot, without unknown values."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson

from kedge.model.broker import Broker, Capacity, LogDir
from kedge.model.columns import Int32s, lists_of_matrix, non_empty_rows, row_lengths
from kedge.model.snapshot import CpuModel, Snapshot

Json = dict[str, Any]


def json_of_snapshot(snapshot: Snapshot, format_name: str) -> bytes:
    """Return the bytes; equal snapshots have equal bytes."""
    return orjson.dumps(
        _without_none(
            {
                "format": format_name,
                **header_json(snapshot),
                "brokers": [_broker(broker) for broker in snapshot.brokers],
                "topics": _topics(snapshot),
            }
        )
    )


def header_json(snapshot: Snapshot) -> Json:
    """Return the fields that describe the snapshot as a whole."""
    return _without_none(
        {
            "cluster_id": snapshot.cluster_id,
            "taken_at": _utc_text(snapshot.taken_at),
            "cpu_model": _cpu_model(snapshot.cpu_model),
        }
    )


def log_dirs_json(log_dirs: tuple[LogDir, ...]) -> list[Json]:
    """Return a broker's log directories."""
    return [_without_none({"path": one.path, "capacity": _real(one.capacity)}) for one in log_dirs]


def _without_none(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _real(number: float | None) -> float | None:
    """Return the number as a float, so that 4 and 4.0 have one text."""
    return None if number is None else float(number)


def _utc_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _cpu_model(model: CpuModel | None) -> Json | None:
    if model is None:
        return None
    return {name: float(share) for name, share in asdict(model).items()}


def _broker(broker: Broker) -> Json:
    return _without_none(
        {
            "id": broker.id,
            "rack": broker.rack,
            "state": broker.state.value,
            "capacity": _capacity(broker.capacity) or None,
            "log_dirs": log_dirs_json(broker.log_dirs) or None,
        }
    )


def _capacity(capacity: Capacity) -> Json:
    values = (capacity.disk, capacity.bytes_in, capacity.bytes_out, capacity.cpu)
    return _without_none(dict(zip(("disk", "in", "out", "cpu"), map(_real, values), strict=True)))


# ---- partitions ---------------------------------------------------------------------------------


def _topics(snapshot: Snapshot) -> list[Json]:
    assignment = snapshot.assignment
    ends = np.searchsorted(assignment.topic, np.arange(len(assignment.topics) + 1))
    wanted, own = _wanted_factors(snapshot, ends[:-1])
    partitions = _partitions(snapshot, own)
    bounds = ends.tolist()
    return [
        {"name": name, "replication_factor": factor, "partitions": partitions[first:end]}
        for name, factor, first, end in zip(
            assignment.topics, wanted, bounds[:-1], bounds[1:], strict=True
        )
    ]


def _wanted_factors(snapshot: Snapshot, firsts: Any) -> tuple[list[int], list[int | None]]:
    """Return each topic's factor (its first partition's), and partitions with another."""
    of_topic = snapshot.wanted_rf[firsts]
    differs = snapshot.wanted_rf != of_topic[snapshot.assignment.topic]
    return of_topic.tolist(), _or_none(snapshot.wanted_rf, differs)


def _partitions(snapshot: Snapshot, own_factor: list[int | None]) -> list[Json]:
    return _objects(
        {
            "id": snapshot.assignment.partition.tolist(),
            "replicas": lists_of_matrix(snapshot.assignment.replicas),
            "replication_factor": own_factor,
            "leader": _or_none(snapshot.leader, snapshot.leader >= -1),
            "isr": _lists(snapshot.isr, snapshot.isr_known),
            "adding": _lists(snapshot.adding, non_empty_rows(snapshot.adding)),
            "removing": _lists(snapshot.removing, non_empty_rows(snapshot.removing)),
            "log_dirs": _log_dirs(snapshot),
            "load": _loads(snapshot),
        }
    )


def _objects(columns: dict[str, list[Any]]) -> list[Json]:
    """Return one object per row, without None's; columns of None alone are skipped."""
    kept = {name: values for name, values in columns.items() if values.count(None) < len(values)}
    rows = [dict(zip(kept, row, strict=True)) for row in zip(*kept.values(), strict=True)]
    return (
        [_without_none(row) for row in rows]
        if any(None in values for values in kept.values())
        else rows
    )


def _or_none(values: Any, known: Any) -> list[Any]:
    if bool(known.all()):
        return values.tolist()
    pairs = zip(values.tolist(), known.tolist(), strict=True)
    return [value if is_known else None for value, is_known in pairs]


def _lists(matrix: Int32s, known: Any) -> list[Any]:
    if not bool(known.any()):
        return [None] * len(known)
    lists = lists_of_matrix(matrix)
    return [ids if is_known else None for ids, is_known in zip(lists, known.tolist(), strict=True)]


def _log_dirs(snapshot: Snapshot) -> list[list[str | None] | None]:
    known = non_empty_rows(snapshot.log_dir)
    if not bool(known.any()):
        return [None] * len(snapshot)
    paths = (*snapshot.log_dir_paths, None)  # index -1 finds the last
    lengths = row_lengths(snapshot.assignment.replicas).tolist()
    rows = zip(snapshot.log_dir.tolist(), lengths, known.tolist(), strict=True)
    return [
        [paths[i] for i in row[:length]] if is_known else None for row, length, is_known in rows
    ]


def _loads(snapshot: Snapshot) -> list[Json | None]:
    rows = _objects(
        {
            "size": _or_none(snapshot.size, snapshot.size >= 0),
            "in": _or_none(snapshot.bytes_in, ~np.isnan(snapshot.bytes_in)),
            "out": _or_none(snapshot.bytes_out, ~np.isnan(snapshot.bytes_out)),
        }
    )
    return [row or None for row in rows] or [None] * len(snapshot)
