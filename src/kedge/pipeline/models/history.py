"""What load models need to know of the days so far, for each key; days are added in order.

A model of all days is that of the history of the closed days with the open days added. So a run
reads the history, one row per key, and the days that may still change: not the days before. The
history of closed days is kept as a table. Every part is exact: sums are integers, the moving
averages continue from their last point, percentiles come of `value_bands`. Sizes are kept by window
for the days that were added, and by the last window of each hour once a day is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.models import value_bands
from kedge.pipeline.models.key_index import Numbers, Reals, index_keys, ints, seconds, starts_of
from kedge.pipeline.models.ragged_series import DAY_S, Offsets, ewma, offsets_of, ratio, sums
from kedge.pipeline.models.value_bands import ValueBands, flat_list, no_values

HOURS, WEEKDAYS = 24, 7
HOUR_S: Final = 3600
FIRST_WEEKDAY: Final = 3  # 1 January 1970 was a Thursday; Monday is 0
HALF_LIFE_S: Final = 6 * 3600
SLOTS: Final = {"hour": HOURS, "weekday": WEEKDAYS}
RATES: Final = {"in": "bytes_in", "out": "bytes_out"}
LISTS: Final = (
    *("size_t", "size", "day", "day_in", "day_out", "day_samples"),
    *(f"{slot}_{what}" for slot in SLOTS for what in ("in", "samples")),
)


FAR: Final = 2**62


@dataclass(frozen=True, slots=True)
class Total:
    """A figure of each key: one value per window, added up, or the least or largest of them."""

    name: str
    of: Callable[[Table], Numbers]
    reduce: np.ufunc = np.add

    @property
    def neutral(self) -> int:
        """The figure of no windows."""
        return {"add": 0, "minimum": FAR, "maximum": -FAR}[self.reduce.__name__]


@dataclass(frozen=True, slots=True)
class Subject:
    """What a model is of: the columns of its key, and its figures."""

    key: tuple[str, ...]
    totals: tuple[Total, ...]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different numbers per key, as flat columns."""

    offsets: Offsets
    columns: tuple[Numbers, ...]

    def expanded(self, place: Numbers, keys: int) -> Ragged:
        """With more keys: key k becomes key `place[k]`."""
        return joined(place[self.offsets.keys], self.columns, keys)

    def extend(self, keys: Numbers, columns: Sequence[Numbers]) -> Ragged:
        """With more rows, each of a key; sorted by the first column."""
        owner = np.concatenate([self.offsets.keys, keys])
        every = [np.concatenate(pair) for pair in zip(self.columns, columns, strict=True)]
        return joined(owner, every, len(self.offsets.lengths))


def joined(owner: Numbers, columns: Sequence[Numbers], keys: int) -> Ragged:
    """Rows by the key that owns them, then by the first column."""
    order = np.lexsort((columns[0], owner))
    return Ragged(offsets_of(owner[order], keys), tuple(column[order] for column in columns))


@dataclass(frozen=True, slots=True)
class History:
    """The keys as a table, and what is known of each."""

    keys: Table
    first_t: Numbers
    last_t: Numbers
    averages: dict[str, tuple[Numbers, Reals]]  # of in and out: time and value
    patterns: dict[str, Numbers]  # of hour and weekday: bytes in and samples, flat by key
    sizes: Ragged  # t, size
    days: Ragged  # day, bytes in, bytes out, samples
    totals: dict[str, Numbers]
    values: dict[str, ValueBands]  # of in and out

    @property
    def count(self) -> int:
        """The number of keys."""
        return len(self.keys)


def no_history(subject: Subject, like: Table) -> History:
    """A history without keys; `like` has the key columns."""
    nothing, none = np.zeros(0, np.int64), np.zeros(0)
    empty = offsets_of(nothing, 0)
    patterns = [f"{slot}_{what}" for slot in SLOTS for what in ("in", "samples")]
    return History(
        keys=like.select(list(subject.key)).slice(0, 0),
        first_t=nothing,
        last_t=nothing,
        averages={name: (nothing, none) for name in RATES},
        patterns=dict.fromkeys(patterns, nothing),
        sizes=Ragged(empty, (nothing, nothing)),
        days=Ragged(empty, (nothing,) * 4),
        totals={total.name: nothing for total in subject.totals},
        values={name: no_values(0) for name in RATES},
    )


def add_days(
    history: History, subject: Subject, course: Table, samples: Table | None = None
) -> History:
    """The history with the windows of later days, and the values that percentiles are of.

    Without `samples`, the values are the rates of the windows.
    """
    others = [] if samples is None else [samples]
    index = index_keys(subject.key, history.keys, course, *others)
    known = _expanded(history, subject, index.keys, index.rows[0])
    known = _with_totals(known, subject, index.rows[1], course)
    order = np.lexsort((ints(course.column("window_start")), index.rows[1]))
    rows = index.rows[1][order]
    t = seconds(course.column("window_start"))[order]
    columns = {
        name: ints(course.column(name))[order]
        for name in ("bytes_in", "bytes_out", "samples", "size")
    }
    grown = _with_windows(known, rows, t, columns)
    if samples is None:
        return replace(grown, values=_add_rates(grown.values, rows, columns))
    owners = index.rows[2]
    added = {
        name: grown.values[name].add(owners, ints(samples.column(column)))
        for name, column in RATES.items()
    }
    return replace(grown, values=added)


def _with_totals(history: History, subject: Subject, rows: Numbers, course: Table) -> History:
    totals: dict[str, Numbers] = {}
    for total in subject.totals:
        totals[total.name] = history.totals[total.name].copy()
        total.reduce.at(totals[total.name], rows, total.of(course))
    return replace(history, totals=totals)


def _expanded(history: History, subject: Subject, keys: Table, place: Numbers) -> History:
    count = len(keys)

    def spread(values: Any, fill: Any, width: int = 1) -> Any:
        found = np.full((count, width), fill, values.dtype)
        found[place] = values.reshape(-1, width)
        return found.ravel()

    return History(
        keys=keys,
        first_t=spread(history.first_t, FAR),
        last_t=spread(history.last_t, -FAR),
        averages={n: (spread(t, 0), spread(v, np.nan)) for n, (t, v) in history.averages.items()},
        patterns={
            name: spread(values, 0, SLOTS[name.split("_")[0]])
            for name, values in history.patterns.items()
        },
        sizes=history.sizes.expanded(place, count),
        days=history.days.expanded(place, count),
        totals={
            total.name: spread(history.totals[total.name], total.neutral)
            for total in subject.totals
        },
        values={name: bands.expanded(place, count) for name, bands in history.values.items()},
    )


def _with_windows(
    history: History, rows: Numbers, t: Numbers, columns: dict[str, Numbers]
) -> History:
    """With windows, which are sorted by key and time; totals and values are not changed."""
    offsets, count = offsets_of(rows, history.count), history.count
    averages = {
        name: ewma(
            *(offsets, t, ratio(columns[column], columns["samples"]), HALF_LIFE_S),
            start=history.averages[name],
        )
        for name, column in RATES.items()
    }
    day = t // DAY_S
    slots = {"hour": t % DAY_S // HOUR_S, "weekday": (day + FIRST_WEEKDAY) % WEEKDAYS}
    patterns = dict(history.patterns)
    for slot, width in SLOTS.items():
        where = rows * width + slots[slot]
        for what, column in (("in", "bytes_in"), ("samples", "samples")):
            name = f"{slot}_{what}"
            patterns[name] = patterns[name] + sums(where, columns[column], count * width)
    first, last = history.first_t.copy(), history.last_t.copy()
    np.minimum.at(first, rows, t)
    np.maximum.at(last, rows, t)
    return replace(
        history,
        first_t=first,
        last_t=last,
        averages=averages,
        patterns=patterns,
        sizes=history.sizes.extend(rows, (t, columns["size"])),
        days=history.days.extend(*_days(rows, day, columns)),
    )


def _days(
    rows: Numbers, day: Numbers, columns: dict[str, Numbers]
) -> tuple[Numbers, list[Numbers]]:
    """Sums of each key and day of sorted windows."""
    if not len(rows):
        return rows, [day, day, day, day]
    starts = np.union1d(starts_of(rows), starts_of(day))
    totals = [
        np.add.reduceat(columns[name], starts) for name in ("bytes_in", "bytes_out", "samples")
    ]
    return rows[starts], [day[starts], *totals]


def _add_rates(
    bands: dict[str, ValueBands], rows: Numbers, columns: dict[str, Numbers]
) -> dict[str, ValueBands]:
    sampled = columns["samples"] > 0
    return {
        name: bands[name].add(
            rows[sampled], _rounded_ratio(columns[column][sampled], columns["samples"][sampled])
        )
        for name, column in RATES.items()
    }


def _rounded_ratio(total: Numbers, count: Numbers) -> Numbers:
    return np.floor(ratio(total, count) + 0.5).astype(np.int64)


def with_hourly_sizes(history: History) -> History:
    """The history with the last size of each hour only."""
    t, size = history.sizes.columns
    owner, hours = history.sizes.offsets.keys, t // HOUR_S
    last = np.append((np.diff(owner) != 0) | (np.diff(hours) != 0), True)[: len(t)]
    return replace(history, sizes=joined(owner[last], (t[last], size[last]), history.count))


def with_narrow_bands(history: History) -> History:
    """The history with the values near the percentiles only."""
    values = {name: bands.trimmed() for name, bands in history.values.items()}
    return replace(history, values=values)


# ---- as a table ---------------------------------------------------------------------------------


def to_table(history: History) -> Table:
    """One row per key."""
    pa = arrow()
    count = history.count

    def lists(bounds: Any, values: Numbers) -> Any:
        return pa.ListArray.from_arrays(pa.array(bounds.astype(np.int32)), pa.array(values))

    columns: dict[str, Any] = {n: history.keys.column(n) for n in history.keys.column_names}
    columns |= {"first_t": history.first_t, "last_t": history.last_t}
    for name, (t, value) in history.averages.items():
        columns |= {f"ewma_{name}_t": t, f"ewma_{name}": value}
    for name, values in history.patterns.items():
        width = SLOTS[name.split("_")[0]]
        columns[name] = lists(np.arange(count + 1) * width, values)
    for names, ragged in ((LISTS[:2], history.sizes), (LISTS[2:6], history.days)):
        for name, values in zip(names, ragged.columns, strict=True):
            columns[name] = lists(ragged.offsets.bounds, values)
    columns |= {f"total_{name}": values for name, values in history.totals.items()}
    for name, bands in history.values.items():
        columns |= value_bands.to_columns(bands, f"{name}_")
    return pa.table(columns)


def from_table(table: Table, subject: Subject) -> History:
    """The history that `to_table` made a table of."""
    table = table.combine_chunks()

    def column(name: str) -> Numbers:
        return np.array(table.column(name), np.int64)

    def ragged(names: Sequence[str]) -> Ragged:
        lengths = np.array(table.column(names[0]).combine_chunks().value_lengths(), np.int64)
        bounds = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return Ragged(Offsets(bounds), tuple(flat_list(table.column(name)) for name in names))

    return History(
        keys=table.select(list(subject.key)),
        first_t=column("first_t"),
        last_t=column("last_t"),
        averages={
            name: (column(f"ewma_{name}_t"), np.array(table.column(f"ewma_{name}"), np.float64))
            for name in RATES
        },
        patterns={
            f"{slot}_{what}": flat_list(table.column(f"{slot}_{what}"))
            for slot in SLOTS
            for what in ("in", "samples")
        },
        sizes=ragged(LISTS[:2]),
        days=ragged(LISTS[2:6]),
        totals={total.name: column(f"total_{total.name}") for total in subject.totals},
        values={name: value_bands.from_columns(table, f"{name}_") for name in RATES},
    )
