"""Exact percentiles of a growing history, from the values near the percentiles alone.

Of each key a *band* keeps all values between two bounds, each with its count, and the number of
values below. Values that are added are counted below, or go into the band: so as long as the wanted
rank is within the band, its value is the exact percentile of all values ever added. A band around
p50 and one around p95 suffice; until a key has many values, one band has all of them. When loads
have changed so much that a rank has left its band, the values of all days are read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.models.key_index import Numbers, Reals
from kedge.pipeline.models.ragged_series import Offsets, nearest_rank, offsets_of, sums

SHARES: Final = {"p50": 0.5, "p95": 0.95}
WIDTH: Final = 1024  # distinct values that a band keeps on each side of its percentile
BANDS: Final = len(SHARES)  # of each key; band b of key k is in slot k * BANDS + b
LOWEST, HIGHEST = -(2**63), 2**63 - 1
NO_VALUE: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class ValueBands:
    """Count, sum and maximum of each key's values, and its bands."""

    count: Numbers
    total: Numbers
    largest: Numbers
    low: Numbers  # of each slot; an empty band has low > high
    high: Numbers
    below: Numbers
    slots: Offsets
    values: Numbers  # of all slots, ascending in each
    counts: Numbers

    def expanded(self, place: Numbers, keys: int) -> ValueBands:
        """The bands with more keys: key k becomes key `place[k]`, others have no values."""
        slot = (place[:, None] * BANDS + np.arange(BANDS)).ravel()
        fresh = no_values(keys)
        order = np.argsort(np.repeat(slot, self.slots.lengths), kind="stable")
        for name in ("count", "total", "largest"):
            getattr(fresh, name)[place] = getattr(self, name)
        for name in ("low", "high", "below"):
            getattr(fresh, name)[slot] = getattr(self, name)
        owner = np.repeat(slot, self.slots.lengths)[order]
        return replace(
            fresh,
            slots=offsets_of(owner, keys * BANDS),
            values=self.values[order],
            counts=self.counts[order],
        )

    def add(self, keys: Numbers, values: Numbers) -> ValueBands:
        """The bands with more values, each of a key."""
        size = len(self.count)
        owners, merged, counts = [self.slots.keys], [self.values], [self.counts]
        below = self.below.copy()
        for band in range(BANDS):
            slot = keys * BANDS + band
            within = (values >= self.low[slot]) & (values <= self.high[slot])
            owners.append(slot[within])
            merged.append(values[within])
            counts.append(np.ones(int(within.sum()), np.int64))
            below += np.bincount(slot[values < self.low[slot]], minlength=size * BANDS)
        largest = self.largest.copy()
        np.maximum.at(largest, keys, values)
        return replace(
            self,
            count=self.count + np.bincount(keys, minlength=size),
            total=self.total + sums(keys, values, size),
            largest=largest,
            below=below,
            **_combined(
                np.concatenate(owners),
                np.concatenate(merged),
                np.concatenate(counts),
                size * BANDS,
            ),
        )

    def at(self, share: float) -> tuple[Numbers, Any]:
        """The nearest-rank percentile of each key, and which keys have it in a band."""
        rank = np.maximum(nearest_rank(self.count, share), 1) - 1
        found, known = np.zeros(len(rank), np.int64), self.count < 0
        whole = np.concatenate(([0], np.cumsum(self.counts)))
        for band in range(BANDS):
            first, end = self.slots.bounds[:-1][band::BANDS], self.slots.bounds[1:][band::BANDS]
            within = rank - self.below[band::BANDS]
            here = (within >= 0) & (within < whole[end] - whole[first]) & ~known
            entry = np.searchsorted(whole, (whole[first] + within)[here], side="right") - 1
            found[here] = self.values[entry]
            known |= here
        return found, known

    def trimmed(self, width: int = WIDTH) -> ValueBands:
        """The bands cut to the values near their percentiles; short ones stay whole."""
        slots = [self._cut(slot, width) for slot in range(len(self.low))]
        parts = [(self.values[cut.part], self.counts[cut.part]) for cut in slots]
        lengths = np.array([len(values) for values, _ in parts], np.int64)
        none = [np.zeros(0, np.int64)]
        return replace(
            self,
            low=np.array([cut.low for cut in slots], np.int64),
            high=np.array([cut.high for cut in slots], np.int64),
            below=np.array([cut.below for cut in slots], np.int64),
            slots=Offsets(np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)),
            values=np.concatenate([*none, *(values for values, _ in parts)]),
            counts=np.concatenate([*none, *(counts for _, counts in parts)]),
        )

    def _cut(self, slot: int, width: int) -> _Cut:
        key, band = divmod(slot, BANDS)
        source = self._source(key, band, width)
        first, end = int(self.slots.bounds[source]), int(self.slots.bounds[source + 1])
        whole = _Cut(
            int(self.low[source]),
            int(self.high[source]),
            int(self.below[source]),
            slice(first, end),
        )
        if source == slot and end - first <= 2 * width + 1:
            return whole
        if source == slot and band and self._is_whole(key):
            return whole
        rank = max(int(nearest_rank(self.count[key : key + 1], [*SHARES.values()][band])[0]), 1) - 1
        running = np.cumsum(self.counts[first:end])
        middle = int(np.searchsorted(running, rank - whole.below, side="right"))
        middle = min(max(middle, 0), end - first - 1)
        left, right = max(middle - width, 0), min(middle + width + 1, end - first)
        return _Cut(
            whole.low if left == 0 else int(self.values[first + left]),
            whole.high if right == end - first else int(self.values[first + right - 1]),
            whole.below + (int(running[left - 1]) if left else 0),
            slice(first + left, first + right),
        )

    def _is_whole(self, key: int) -> bool:
        slot = key * BANDS
        return bool(self.low[slot] == LOWEST and self.high[slot] == HIGHEST)

    def _source(self, key: int, band: int, width: int) -> int:
        """The slot that a band is cut from: one band with all values is cut into two."""
        slot = key * BANDS
        entries = int(self.slots.bounds[slot + 1] - self.slots.bounds[slot])
        return slot if self._is_whole(key) and entries > 2 * width + 1 else slot + band


@dataclass(frozen=True, slots=True)
class _Cut:
    low: int
    high: int
    below: int
    part: slice


def _combined(owners: Numbers, values: Numbers, counts: Numbers, slots: int) -> dict[str, Any]:
    """Values of slots with equal ones combined, in order."""
    order = np.lexsort((values, owners))
    owners, values, counts = owners[order], values[order], counts[order]
    new = (np.diff(owners, prepend=-1) != 0) | (np.diff(values, prepend=NO_VALUE) != 0)
    starts = np.flatnonzero(new)
    totals = np.add.reduceat(counts, starts) if len(starts) else counts
    return {"slots": offsets_of(owners[starts], slots), "values": values[starts], "counts": totals}


def no_values(keys: int) -> ValueBands:
    """The bands of keys without values: the first band of each will have all of them."""
    low, high = np.full(keys * BANDS, HIGHEST), np.full(keys * BANDS, LOWEST)
    low[::BANDS], high[::BANDS] = LOWEST, HIGHEST
    nothing = np.zeros(0, np.int64)
    zeros = np.zeros(keys, np.int64)
    return ValueBands(
        count=zeros.copy(),
        total=zeros.copy(),
        largest=np.full(keys, LOWEST),
        low=low,
        high=high,
        below=np.zeros(keys * BANDS, np.int64),
        slots=offsets_of(nothing, keys * BANDS),
        values=nothing,
        counts=nothing,
    )


# ---- as columns ---------------------------------------------------------------------------------


def to_columns(bands: ValueBands, prefix: str) -> dict[str, Any]:
    """The bands as columns of a table with one row per key."""
    pa = arrow()
    columns = {
        f"{prefix}{name}": pa.array(getattr(bands, name)) for name in ("count", "total", "largest")
    }
    by_key = bands.slots.bounds[::BANDS].astype(np.int32)
    each = np.arange(len(bands.count) + 1, dtype=np.int32) * BANDS
    for name in ("low", "high", "below"):
        columns[f"{prefix}{name}"] = pa.ListArray.from_arrays(each, pa.array(getattr(bands, name)))
    columns[f"{prefix}entries"] = pa.ListArray.from_arrays(each, pa.array(bands.slots.lengths))
    for name in ("values", "counts"):
        columns[f"{prefix}{name}"] = pa.ListArray.from_arrays(
            by_key, pa.array(getattr(bands, name))
        )
    return columns


def from_columns(table: Table, prefix: str) -> ValueBands:
    """The bands of the columns that `to_columns` made."""
    flat: Mapping[str, Numbers] = {
        name: flat_list(table.column(f"{prefix}{name}"))
        for name in ("low", "high", "below", "entries", "values", "counts")
    }
    return ValueBands(
        **{
            name: np.array(table.column(f"{prefix}{name}"), np.int64)
            for name in ("count", "total", "largest")
        },
        **{name: flat[name] for name in ("low", "high", "below", "values", "counts")},
        slots=Offsets(np.concatenate(([0], np.cumsum(flat["entries"]))).astype(np.int64)),
    )


def flat_list(column: Any) -> Numbers:
    """The elements of all lists of a column."""
    pa = arrow()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [np.array(chunk.flatten(), np.int64) for chunk in chunks]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def as_reals(values: Numbers, known: Any) -> Reals:
    """Values as floats; NaN where they are unknown."""
    return np.where(known, values.astype(np.float64), np.nan)
