"""Deduplicates samples: the rows of `kedge.pipeline.transforms.dedupe`, on Arrow tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.model.arrow import Table, arrow
from kedge.pipeline.models.key_index import REPLICA_KEY, Numbers, index_keys, ints, starts_of
from kedge.pipeline.transforms.dedupe import TIE_BREAKERS

COPIES = "copies"


def newest_rows(rows: Table) -> Table:
    """One row per replica and time: that of the highest `seq`, with the `copies` of this `seq`.

    A row of the input stands for `copies` rows.
    """
    if not len(rows):
        return rows
    replica = index_keys(REPLICA_KEY, rows).rows[0]
    ts, seq = ints(rows.column("ts")), ints(rows.column("seq"))
    order: Any = np.lexsort((seq, ts, replica))
    same = _run_numbers(replica[order], ts[order], seq[order])
    _order_ties(rows, order, same)
    starts = starts_of(same)
    copies = np.add.reduceat(ints(rows.column(COPIES))[order], starts)
    last_of_seq = np.append(starts[1:], len(order)) - 1
    sample = _run_numbers(replica[order[starts]], ts[order[starts]])
    kept = np.append(starts_of(sample)[1:], len(starts)) - 1  # the highest seq of each sample
    pa = arrow()
    found = rows.drop_columns([COPIES]).take(pa.array(order[last_of_seq[kept]]))
    return found.append_column(COPIES, pa.array(copies[kept]))


def _run_numbers(*columns: Numbers) -> Numbers:
    """The number of each run of equal rows in sorted columns."""
    new = np.zeros(len(columns[0]), bool)
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return np.cumsum(new)


def _order_ties(rows: Table, order: Any, same: Numbers) -> None:
    """Put rows with one `seq` into the order of their values, and the latest arrival first."""
    again = np.flatnonzero(np.bincount(same)[same] > 1)
    if not len(again):
        return
    tied = order[again]
    few = rows.take(arrow().array(tied))
    values = [ints(few.column(name)) for name in TIE_BREAKERS]
    arrival = -ints(few.column("ingest_ts"))
    order[again] = tied[np.lexsort((arrival, *values[::-1], same[again]))]
