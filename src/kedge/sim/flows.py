"""Fluid flow: how transfers share disks, links and throttles.

Every transfer draws on some resources (the disk it reads, the two network cards, the disk it
writes, perhaps a throttle at either end), each of which carries so many bytes per second. Rates
are max-min fair: nobody's rate can grow without shrinking one that is no larger. They are found by
filling: take the resource whose equal share is smallest, give all its transfers that share, take
what they use from the other resources, and go on with the rest.

    resources  a 10, b 8       transfers  1 uses a, 2 uses a and b, 3 uses b
    b gives 4 to each of its two, a gives 5: b is the tightest, so 2 and 3 get 4; 1 gets 10 - 4 = 6

Rates change only when a transfer begins or ends or a capacity changes. Between such moments nothing
has to be computed, and that is why days of moving data take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kedge.jit import kernel
from kedge.model.columns import PAD, Floats, Int32s, Int64s


def fair_rates(capacity: Floats, uses: Int32s) -> Floats:
    """Bytes per second of each transfer; `uses` names its resources, a row each, padded by -1.

    A transfer that uses no resource is not slowed down by anything: its rate is infinite.
    """
    rates = np.full(len(uses), np.inf)
    offsets, members = members_of(len(capacity), uses)
    fill_fairly.for_size(uses.size)(capacity.astype(np.float64), uses, offsets, members, rates)
    return rates


def members_of(resources: int, uses: Int32s) -> tuple[Int64s, Int64s]:
    """The transfers of each resource, end to end, and where each resource's begin."""
    rows, columns = np.nonzero(uses != PAD)
    used = uses[rows, columns]
    counts = np.bincount(used, minlength=resources)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return offsets, rows[np.argsort(used, kind="stable")].astype(np.int64)


@kernel
def fill_fairly(
    left: Floats, uses: Int32s, offsets: Int64s, members: Int64s, rates: Floats
) -> None:
    """Fill `rates`, which come in infinite; `left` is what capacity remains, and is used up."""
    sharing = offsets[1:] - offsets[:-1]
    while True:
        tightest, share = -1, np.inf
        for resource in range(len(left)):
            if sharing[resource] > 0:
                equal = max(left[resource], 0.0) / sharing[resource]
                if equal < share:
                    tightest, share = resource, equal
        if tightest < 0:
            return
        for place in range(offsets[tightest], offsets[tightest + 1]):
            transfer = members[place]
            if rates[transfer] == np.inf:
                rates[transfer] = share
                for column in range(uses.shape[1]):
                    resource = uses[transfer, column]
                    if resource >= 0:
                        left[resource] -= share
                        sharing[resource] -= 1


def padded(rows: Sequence[Sequence[int]]) -> Int32s:
    """Rows of resource numbers as the matrix that `fair_rates` takes."""
    matrix = np.full((len(rows), max(map(len, rows), default=0)), PAD, np.int32)
    for index, row in enumerate(rows):
        matrix[index, : len(row)] = row
    return matrix
