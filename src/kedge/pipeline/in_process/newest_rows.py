"""Deduplicates samples: the rows of `kedge.pipeline.transforms.dedupe`, on Arrow tables."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.models.key_index import REPLICA_KEY, Numbers, index_keys, ints, starts_of
from kedge.pipeline.transforms.dedupe import TIE_BREAKERS

COPIES = "copies"
KEY_BITS: Final = 63  # of an integer that is not negative


def newest_rows(rows: Table) -> Table:
    """One row per replica and time: that of the highest `seq`, with the `copies` of this `seq`.

    A row of the input stands for `copies` rows; without them for itself. Replicas are told apart by
    the hash `replica`, or else by their key columns. The result is in the order of replica and
    time.
    """
    if not len(rows):
        return rows
    order, sample = _by_sample(_replica_numbers(rows), ints(rows.column("ts")))
    _order_copies(rows, order, sample)
    last = np.append(starts_of(sample)[1:], len(order)) - 1
    pa = arrow()
    others = [name for name in rows.column_names if name != COPIES]
    found = rows.select(others).take(pa.array(order[last]))
    return found.append_column(COPIES, pa.array(_copies(rows, order, sample)))


def _replica_numbers(rows: Table) -> Numbers:
    """The number of the replica of each row, from 0."""
    if "replica" not in rows.column_names:
        return index_keys(REPLICA_KEY, rows).rows[0]
    hashes = rows.column("replica").combine_chunks().dictionary_encode()
    return np.argsort(np.argsort(ints(hashes.dictionary)))[np.asarray(hashes.indices)]


def _by_sample(replica: Numbers, ts: Numbers) -> tuple[Any, Numbers]:
    """The rows in the order of replica and time, and the number of the sample of each."""
    first = int(ts.min())
    bits = (int(ts.max()) - first).bit_length()
    if int(replica.max()).bit_length() + bits <= KEY_BITS:
        # One integer is sorted several times faster than two.
        key = (replica << bits) | (ts - first)
        order: Any = np.argsort(key)
        return order, _run_numbers(key[order])
    order = np.lexsort((ts, replica))
    return order, _run_numbers(replica[order], ts[order])


def _run_numbers(*columns: Numbers) -> Numbers:
    """The number of each run of equal rows in sorted columns."""
    new = np.zeros(len(columns[0]), bool)
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return np.cumsum(new)


def _order_copies(rows: Table, order: Any, sample: Numbers) -> None:
    """Put rows of one sample into the order of `seq` and values, and the latest arrival first."""
    again = _repeated(sample)
    if not len(again):
        return
    tied = order[again]
    few = rows.take(arrow().array(tied))
    values = [ints(few.column(name)) for name in TIE_BREAKERS if name in few.column_names]
    if "ingest_ts" in few.column_names:
        values.append(-ints(few.column("ingest_ts")))
    seq = ints(few.column("seq"))
    order[again] = tied[np.lexsort((tied, *values[::-1], seq, sample[again]))]


def _repeated(sample: Numbers) -> Numbers:
    """The positions of rows whose sample has several."""
    same = sample[1:] == sample[:-1]
    return np.flatnonzero(np.append(same, False) | np.append(False, same))


def _copies(rows: Table, order: Any, sample: Numbers) -> Numbers:
    """The `copies` of the highest `seq` of each sample."""
    starts = starts_of(_run_numbers(sample, ints(rows.column("seq"))[order]))
    last = np.append(starts_of(sample[starts])[1:], len(starts)) - 1
    if COPIES not in rows.column_names:
        return np.diff(np.append(starts, len(order)))[last]
    copies = ints(rows.column(COPIES).fill_null(1))
    return np.add.reduceat(copies[order], starts)[last]
