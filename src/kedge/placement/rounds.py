"""What both ring algorithms share: how start and shift change from round to round.

A round is n partition ids in a row that begin at a multiple of n, for n brokers. Within a round
each broker leads once and shift stays the same; from one round to the next shift grows by one.
Followers depend on shift modulo n-1 only, so after n-1 rounds the same rows come again.

    n = 3, ids 4 … 9     round 1: (3) 4 5     round 2: 6 7 8     round 3: 9 (10 11)
                         shift s              s+1                s+2 = s (mod 2)

Algorithms therefore fill whole rounds, at most n-1 of them, and the rest is copied.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kedge.placement.start import Start


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds that a stretch of partition ids touches."""

    size: int  # rows in a round: the number of brokers
    count: int  # rounds touched, whole or in part
    distinct: int  # how many of them differ; the others repeat these in order
    skipped: int  # rows of the first round before the first wanted partition
    position: int  # where on the ring the first row of every round is led from
    shift: int  # of the first round

    def empty_table(self, width: int) -> NDArray[np.int32]:
        """Room for all rounds: round × row × replica."""
        return np.empty((self.count, self.size, width), dtype=np.int32)

    def finish(self, table: NDArray[np.int32], partitions: int) -> NDArray[np.int32]:
        """Repeat the distinct rounds over the rest, and cut out the partitions wanted."""
        done = self.distinct
        while done < self.count:
            more = min(done, self.count - done)
            table[done : done + more] = table[:more]
            done += more
        rows = table.reshape(self.count * self.size, table.shape[2])
        return rows[self.skipped : self.skipped + partitions]


def rounds_for(brokers: int, *, partitions: int, start: Start, first_partition: int) -> Rounds:
    """The rounds of partitions `first_partition` onwards."""
    skipped = first_partition % brokers
    # ids that begin at a multiple of n begin with a growth of shift, unless they begin at 0
    grown = first_partition > 0 and skipped == 0
    count = -(-(skipped + partitions) // brokers)
    return Rounds(
        size=brokers,
        count=count,
        distinct=min(count, max(1, brokers - 1)),
        skipped=skipped,
        position=start.start % brokers,
        shift=start.shift + grown,
    )
