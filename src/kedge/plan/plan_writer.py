"""Write a plan file: one line per partition, so that a plan can be read and compared line by line.

Equal plans are equal bytes: keys have a fixed order, lists keep theirs. What is not known is left
out, but `version` and `partitions` with `log_dirs` are always there: Kafka's tool takes the file.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from kedge.model.gc_pause import gc_paused
from kedge.plan.kafka_json import VERSION
from kedge.plan.plan_file import FORMAT, Plan, Summary

Row = dict[str, object]


def plan_to_json(plan: Plan) -> bytes:
    """A plan as the bytes of its file."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "cluster_id": plan.cluster_id,
        "snapshot_sha256": plan.snapshot_sha256,
        "created_at": plan.created_at,
    }
    lines = [key_line(name, value) for name, value in header.items() if value is not None]
    with gc_paused():
        lines += [rows_block("partitions", partition_rows(plan))]
        lines += [rows_block("before", before_rows(plan))]
        if plan.reasons:
            lines.append(rows_block("reasons", reason_rows(plan)))
    if plan.waves:
        lines.append(block("waves", plan.waves))
    if plan.summary is not None:
        lines.append(key_line("summary", summary_fields(plan.summary)))
    if plan.goals is not None:
        lines.append(key_line("goals", plan.goals))
    if plan.certificate is not None:
        lines.append(key_line("certificate", plan.certificate))
    if plan.notes:
        lines.append(block("notes", plan.notes))
    return b"{" + b",\n ".join(lines) + b"}\n"


def partition_rows(plan: Plan) -> list[Row]:
    """`partitions`, in Kafka's order of keys."""
    return [
        {
            "topic": each.tp.topic,
            "partition": each.tp.partition,
            "replicas": each.replicas,
            "log_dirs": each.log_dirs,
        }
        for each in plan.partitions
    ]


def before_rows(plan: Plan) -> list[Row]:
    """`before`."""
    return [
        {"topic": topic, "partition": partition, "replicas": replicas}
        for (topic, partition), replicas in plan.before.items()
    ]


def reason_rows(plan: Plan) -> list[Row]:
    """`reasons`."""
    return [
        {"topic": topic, "partition": partition, "why": why}
        for (topic, partition), why in plan.reasons.items()
    ]


def summary_fields(summary: Summary) -> dict[str, object]:
    """`summary` without the figures that were not computed."""
    every: dict[str, object] = {
        "replicas_moved": summary.replicas_moved,
        "leaders_moved": summary.leaders_moved,
        "bytes_moved": summary.bytes_moved,
        "bytes_moved_lower_bound": summary.bytes_moved_lower_bound,
        "imbalance_before": dict(summary.imbalance_before) or None,
        "imbalance_after": dict(summary.imbalance_after) or None,
        "imbalance_lower_bound": dict(summary.imbalance_lower_bound) or None,
        "eta_seconds": summary.eta_seconds,
        "eta_lower_bound_seconds": summary.eta_lower_bound_seconds,
        "peak_disk": {str(b): share for b, share in sorted(summary.peak_disk.items())} or None,
        "planning_seconds": summary.planning_seconds,
    }
    return {name: value for name, value in every.items() if value is not None}


def key_line(name: str, value: object) -> bytes:
    """One key and its value on one line."""
    return orjson.dumps(name) + b": " + orjson.dumps(value)


def block(name: str, rows: Iterable[object]) -> bytes:
    """One key and its array, an element to a line."""
    inner = b",\n  ".join(map(orjson.dumps, rows))
    return orjson.dumps(name) + (b": [\n  " + inner + b"\n ]" if inner else b": []")


def rows_block(name: str, rows: list[Row]) -> bytes:
    """One key and its objects, all of which start with a topic, one to a line.

    They are written at once and then broken into lines. A text that looks like the border of two
    objects is not one: its quotes are escaped.
    """
    if not rows:
        return orjson.dumps(name) + b": []"
    inner = orjson.dumps(rows)[1:-1].replace(b'},{"topic":', b'},\n  {"topic":')
    return orjson.dumps(name) + b": [\n  " + inner + b"\n ]"
