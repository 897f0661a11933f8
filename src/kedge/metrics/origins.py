"""Chooses one origin for each kind of measurement, where several sources tell the same.

A scrape, a Prometheus server and admin requests see the same counters at different moments. Mixed,
they would fall and rise; so what belongs together comes from one origin: bytes from the one that
counts best, sizes with offsets from the one that has both. Committed offsets, which no exporter of
brokers has, may come from another. The same holds for several Prometheus servers that scrape the
same brokers: at each moment and broker, the values of one server are kept.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import numpy as np

from kedge.metrics.measurement import NONE, Series
from kedge.model.arrow import Table, arrow, compute


class Origin(StrEnum):
    """The sources of measurements, the most precise first."""

    SCRAPE = "scrape"
    PROMETHEUS = "prometheus"
    KMINION = "kminion"
    ADMIN = "admin"
    CRUISE_CONTROL = "cruise-control"


BY_BROKER: Final = (Origin.SCRAPE, Origin.PROMETHEUS, Origin.CRUISE_CONTROL)  # each tells of itself
SPAN_SHARE: Final = 0.8  # an origin must cover this share of the time that the longest one covers
_COUNTED: Final = (Series.BYTES_IN, Series.BYTES_OUT, Series.MESSAGES_IN)
_RATES: Final = (Series.BYTES_IN_RATE, Series.BYTES_OUT_RATE, Series.MESSAGES_IN_RATE)
_OFFSETS: Final = (Series.LOG_END_OFFSET, Series.LOG_START_OFFSET)
_SIZES: Final = (Series.LOG_SIZE, Series.TOPIC_SIZE, Series.REPLICATION_FACTOR)
_GROUPS: Final = (Series.COMMITTED_OFFSET, Series.GROUP_LAG)
_STATES: Final = (Series.REPLICAS, Series.IN_SYNC_REPLICAS)


def choose_origins(table: Table) -> tuple[Table, str]:
    """The measurements of one topic and its brokers from one origin each, and the main origin.

    The table has the columns of measurements, `origin` and `replica`; the result those of
    measurements only.
    """
    pc = compute()
    names = pc.unique(table.column("origin")).to_pylist()
    if len(pc.unique(table.column("replica"))) > 1:
        table = _one_server(table)
    main = names[0] if names else ""
    if len(names) > 1:
        table, main = _one_origin(table)
    return _with_committed_offsets(table).drop_columns(["origin", "replica"]), main


def _one_origin(table: Table) -> tuple[Table, str]:
    pc = compute()
    counted = _best(table, _COUNTED) or _best(table, _RATES)
    offsets = _best(table, _OFFSETS)
    sizes = offsets if offsets and _has(table, _SIZES, offsets) else _best(table, _SIZES)
    chosen = {
        **dict.fromkeys((*_COUNTED, *_RATES), counted),
        **dict.fromkeys(_OFFSETS, offsets),
        **dict.fromkeys(_SIZES, sizes),
        **dict.fromkeys(_GROUPS, _best(table, _GROUPS)),
        **dict.fromkeys(_STATES, _best(table, _STATES)),
        Series.UP: counted or sizes or offsets,
    }
    keep = pc.equal(table.column("origin"), "")
    for series, origin in chosen.items():
        if origin:
            of_series = pc.equal(table.column("series"), str(series))
            keep = pc.or_(keep, pc.and_(of_series, pc.equal(table.column("origin"), origin)))
    return table.filter(keep), counted or offsets or sizes or ""


def _best(table: Table, series: tuple[Series, ...]) -> str:
    """The most precise origin that covers most of the time; empty without one."""
    spans = {o: _span(table, series, o) for o in Origin}
    longest = max(spans.values())
    return next((o for o, span in spans.items() if span >= 0 and span >= longest * SPAN_SHARE), "")


def _has(table: Table, series: tuple[Series, ...], origin: str) -> bool:
    return _span(table, series, origin) >= 0


def _span(table: Table, series: tuple[Series, ...], origin: str) -> int:
    """The time between the first and the last value, in ms; -1 without values."""
    pc = compute()
    wanted = pc.is_in(table.column("series"), arrow().array([str(one) for one in series]))
    ts = table.column("ts_ms").filter(pc.and_(wanted, pc.equal(table.column("origin"), origin)))
    if not len(ts):
        return -1
    ends = pc.min_max(ts).as_py()
    return int(ends["max"] - ends["min"])


def _one_server(table: Table) -> Table:
    """Of several Prometheus servers, at each moment and broker the one with the most values."""
    replica = table.column("replica").combine_chunks().dictionary_encode()
    which = np.asarray(replica.indices).astype(np.int64)
    rank = np.argsort(np.argsort(-np.bincount(which), kind="stable"))[which]
    broker = np.asarray(table.column("broker")).astype(np.int64)
    ts = np.asarray(table.column("ts_ms"))
    order = np.lexsort((rank, ts, broker))
    moment = np.append(
        [True], (broker[order][1:] != broker[order][:-1]) | (ts[order][1:] != ts[order][:-1])
    )
    first = np.maximum.accumulate(np.where(moment, np.arange(len(order)), 0))
    keep = np.zeros(len(order), np.bool_)
    keep[order] = rank[order] == rank[order][first]
    return table.filter(arrow().array(keep))


def _with_committed_offsets(table: Table) -> Table:
    """Committed offsets from lags, and offsets without a broker only where no broker tells them."""
    pc = compute()
    series = table.column("series")
    lags = table.filter(pc.equal(series, str(Series.GROUP_LAG)))
    if len(lags) and not pc.any(pc.equal(series, str(Series.COMMITTED_OFFSET))).as_py():
        table = arrow().concat_tables([table, _committed(table, lags)])
        series = table.column("series")
    is_offset = pc.is_in(series, arrow().array([str(one) for one in _OFFSETS]))
    of_none = pc.equal(table.column("broker"), NONE)
    if pc.any(pc.and_(is_offset, pc.invert(of_none))).as_py():
        table = table.filter(pc.invert(pc.and_(is_offset, of_none)))
    return table


def _committed(table: Table, lags: Table) -> Table:
    pc = compute()
    ends = table.filter(pc.equal(table.column("series"), str(Series.LOG_END_OFFSET)))
    key: Any = ["ts_ms", "partition"]
    best = ends.group_by(key).aggregate([("value", "max")])
    joined = lags.join(best, key, join_type="inner")
    value = pc.max_element_wise(
        pc.subtract(joined.column("value_max"), joined.column("value")), 0.0
    )
    named = arrow().array([str(Series.COMMITTED_OFFSET)] * len(joined))
    at = joined.column_names.index("value")
    joined = joined.set_column(at, "value", value)
    joined = joined.set_column(joined.column_names.index("series"), "series", named)
    return joined.select(table.column_names).cast(table.schema)
