"""Validates rows: the verdicts of `kedge.pipeline.transforms.validate`, on Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.schemas import RAW_TEXT, SAMPLE_COLUMNS
from kedge.pipeline.transforms.validate import MICROS, REASONS, REQUIRED, ValidationRules

Flags = NDArray[np.bool_]

# as Spark writes JSON; all other characters are written as they are
ESCAPES: Final = {
    **{code: f"\\u{code:04X}" for code in range(32)},
    **{ord(char): f"\\{name}" for char, name in zip("\b\t\n\f\r", "btnfr", strict=True)},
    **{ord(char): f"\\{char}" for char in '"\\'},
}


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The rows by their verdict; quarantined ones have `reason` and `raw`."""

    valid: Table
    late: Table
    quarantined: Table


def verdicts(
    rows: Table, *, brokers: Sequence[tuple[str, int]], rules: ValidationRules
) -> Verdicts:
    """Validate rows; a row with several errors gets the first reason."""
    pa = arrow()
    faults = _faults(rows, brokers, rules)
    columns = np.column_stack([faults[reason] for reason in REASONS])
    rejected: Flags = np.logical_or.reduce(columns, axis=1)
    late: Flags = ~rejected & _is_late(rows, rules)
    first = columns[rejected].argmax(axis=1)
    quarantined = rows.filter(pa.array(rejected))
    raw = [_json(row) for row in quarantined.select(list(SAMPLE_COLUMNS)).to_pylist()]
    reasons = pa.array([REASONS[number] for number in first], pa.string())
    return Verdicts(
        rows.filter(pa.array(~rejected & ~late)),
        rows.filter(pa.array(late)),
        quarantined.append_column("reason", reasons).append_column(
            RAW_TEXT, pa.array(raw, pa.string())
        ),
    )


def joined(parts: Sequence[Verdicts]) -> Verdicts:
    """The verdicts of several parts as one; there is at least one part."""

    def all_of(tables: Sequence[Table]) -> Table:
        return arrow().concat_tables(tables, promote_options="permissive")

    return Verdicts(
        all_of([part.valid for part in parts]),
        all_of([part.late for part in parts]),
        all_of([part.quarantined for part in parts]),
    )


def are_valid(rows: Table, *, brokers: Sequence[tuple[str, int]], rules: ValidationRules) -> Flags:
    """Which rows are valid: they have no fault and are not late."""
    rejected = _is_late(rows, rules)
    for fault in _faults(rows, brokers, rules).values():
        rejected |= fault
    return ~rejected


def _faults(
    rows: Table, brokers: Sequence[tuple[str, int]], rules: ValidationRules
) -> Mapping[str, Flags]:
    """Which rows have which fault; of rows with nulls only the faults before count."""

    def is_null(name: str) -> Flags:
        return np.asarray(compute().is_null(rows.column(name)))

    def number(name: str) -> NDArray[np.int64]:
        return _numbers(rows.column(name))

    topic = rows.column("topic")
    return {
        "unparsable": np.logical_or.reduce([is_null(name) for name in REQUIRED]),
        "null_ts": is_null("ts"),
        "null_broker": is_null("broker"),
        "empty_topic": np.asarray(compute().equal(topic, "").fill_null(True)),
        "negative_size": number("size_bytes") < 0,
        "negative_bytes": (number("bytes_in") < 0) | (number("bytes_out") < 0),
        "unknown_broker": ~_is_listed(rows, brokers),
        "future_ts": -_lag_us(rows) > rules.future_tolerance_s * MICROS,
        "isr_gt_rf": number("isr") > number("rf"),
    }


def _is_late(rows: Table, rules: ValidationRules) -> Flags:
    return _lag_us(rows) > rules.allowed_lateness_s * MICROS


def _lag_us(rows: Table) -> NDArray[np.int64]:
    return _numbers(rows.column("ingest_ts")) - _numbers(rows.column("ts"))


def _numbers(column: Any) -> NDArray[np.int64]:
    """The values as integers; null is 0."""
    whole = column.cast(arrow().int64())
    return np.asarray(whole.fill_null(0) if whole.null_count else whole, np.int64)


def _is_listed(rows: Table, brokers: Sequence[tuple[str, int]]) -> Flags:
    """Whether the broker of each row is one of these, by cluster and id."""
    pa, pc = arrow(), compute()
    clusters = sorted({cluster for cluster, _ in brokers})
    position = {cluster: number for number, cluster in enumerate(clusters)}
    listed = np.array([(position[cluster], broker) for cluster, broker in brokers], np.int64)
    if not len(listed):
        return np.zeros(len(rows), bool)
    at = pc.index_in(rows.column("cluster"), value_set=pa.array(clusters, pa.string()))
    broker, (low, high) = _numbers(rows.column("broker")), _limits(listed[:, 1])
    known: Flags = np.asarray(pc.is_valid(at)) & np.asarray(pc.is_valid(rows.column("broker")))
    known &= (broker >= low) & (broker <= high)
    # Codes without gaps between the clusters: numpy looks them up in a table, without a sort.
    width = high - low + 1
    wanted = listed[:, 0] * width + listed[:, 1] - low
    return known & np.isin(np.where(known, _numbers(at) * width + broker - low, -1), wanted)


def _limits(values: NDArray[np.int64]) -> tuple[int, int]:
    return int(values.min()), int(values.max())


def _json(row: Mapping[str, Any]) -> str:
    """A row as Spark's `to_json` writes it: nulls are left out, times have milliseconds."""
    fields = (f'"{name}":{_value(value)}' for name, value in row.items() if value is not None)
    return "{" + ",".join(fields) + "}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f'"{value.replace(tzinfo=None).isoformat(timespec="milliseconds")}Z"'
    return str(value) if isinstance(value, int) else '"' + value.translate(ESCAPES) + '"'
