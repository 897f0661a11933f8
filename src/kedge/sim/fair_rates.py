"""Max-min fair rates of transfers that share disks, links and throttles.

Every transfer uses some resources (the disk it reads, two links, the disk it writes, perhaps a
throttle at either end), each with a capacity in bytes per second. Rates are max-min fair: no rate
can grow without reducing one that is not larger. They are computed by progressive filling: take the
resource whose equal share is smallest, give all its transfers that share, subtract it from their
other resources, and continue with the remaining transfers.

    resources  a 10, b 8       transfers  1 uses a, 2 uses a and b, 3 uses b
    share of b 8/2 = 4, of a 10/2 = 5: b is the bottleneck, so 2 and 3 get 4; 1 gets 10 - 4 = 6

Rates change only when a transfer starts or ends or a capacity changes. Nothing is computed between
such events, so days of moving data are simulated in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kedge.jit import kernel
from kedge.model.columns import PAD, Floats, Int32s, Int64s


def fair_rates(capacity: Floats, uses: Int32s) -> Floats:
    """Bytes per second of each transfer; `uses` has its resources, one row each, padded by -1.

    The rate of a transfer without resources is infinite.
    """
    rates = np.full(len(uses), np.inf)
    offsets, members = members_of(len(capacity), uses)
    fill_fairly.for_size(uses.size)(capacity.astype(np.float64), uses, offsets, members, rates)
    return rates


def members_of(resources: int, uses: Int32s) -> tuple[Int64s, Int64s]:
    """The transfers of all resources, concatenated, and the offset of each resource."""
    rows, columns = np.nonzero(uses != PAD)
    used = uses[rows, columns]
    counts = np.bincount(used, minlength=resources)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return offsets, rows[np.argsort(used, kind="stable")].astype(np.int64)


@kernel
def fill_fairly(
    left: Floats, uses: Int32s, offsets: Int64s, members: Int64s, rates: Floats
) -> None:
    """Set `rates`, which are infinite at first; `left` is the unused capacity, and is modified."""
    sharing = offsets[1:] - offsets[:-1]
    while True:
        bottleneck, share = -1, np.inf
        for resource in range(len(left)):
            if sharing[resource] > 0:
                equal = max(left[resource], 0.0) / sharing[resource]
                if equal < share:
                    bottleneck, share = resource, equal
        if bottleneck < 0:
            return
        for place in range(offsets[bottleneck], offsets[bottleneck + 1]):
            transfer = members[place]
            if rates[transfer] == np.inf:
                rates[transfer] = share
                for column in range(uses.shape[1]):
                    resource = uses[transfer, column]
                    if resource >= 0:
                        left[resource] -= share
                        sharing[resource] -= 1


def padded(rows: Sequence[Sequence[int]]) -> Int32s:
    """Rows of resource numbers as the padded matrix of `fair_rates`."""
    matrix = np.full((len(rows), max(map(len, rows), default=0)), PAD, np.int32)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return matrix
