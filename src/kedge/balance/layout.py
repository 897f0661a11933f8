"""How the search's state lies in memory: few arrays, and names for their columns.

Loads are scaled so that a middling broker at the best possible level carries 1 of each resource;
targets and hard limits are scaled alike, and bytes are counted in the same unit as disk. Each
broker lists its replicas as slots (partition × K + column) in any order; `pos` tells where a slot
stands in its list, so that taking one out costs no search.

What a search through a broker's replicas, or through all brokers, looks at lies side by side:
`cargo` repeats of each listed replica what its partition says, `spare` what a target leaves. That
is a third of the time of looking it up where it is at home.
"""

from __future__ import annotations

from typing import NamedTuple

from kedge.balance.problem import Floats, Int32s

# the columns of `broker`: four of each, one per resource
LOAD, TARGET, HARD, INVERSE, PRICE = 0, 4, 8, 12, 16
# the columns of `holder`
RACK, COUNT, ROOM, MOVED_IN, MOVED_OUT, EMPTY, RECEIVES, GIVES = 0, 1, 2, 3, 4, 5, 6, 7
# the columns of `part`: four, four and one
LEADER, FOLLOWER, SIZE = 0, 4, 8
# the columns of `rule`
LIMIT, MOVABLE, ELECTABLE = 0, 1, 2
# the columns of `cargo`: four, and one
CARRIES, COPY = 0, 4
# what `how` holds, a search's setting: what a move costs, how much shapes matter in what leaves and
# in where it goes, replicas tried, the price of harm, and of tolls
KAPPA, MU, NU, TOP, HARMFUL, TOLL = 0, 1, 2, 3, 4, 5
# what `tally` holds: so far, and at most
BYTES, MOVES, MAX_BYTES, MAX_MOVES, MAX_PER_BROKER = 0, 1, 2, 3, 4

NO_HARM = 1e9  # as the price of harm: nobody is pushed beyond a target
HUGE = 1e300  # a target that nothing passes
CRUMB = 1e-30  # what an empty replica at home counts: one that is not at home counts 0
HAIR = 1e-9  # rounding of sums is no violation


class State(NamedTuple):
    """Arrays of one search; B brokers, P partitions, K columns.

    They are few and wide because a kernel hands all of them to every function that it calls, and
    the compiler takes its time over each.
    """

    broker: Floats  # [B, 20]: load, target, hard limit, 1 ÷ capacity (0: not counted), price
    holder: Int32s  # [B, 8]: rack, replicas held, room, copies in and out, may it …
    part: Floats  # [P, 9]: load of the leader, load of a follower, bytes
    rule: Int32s  # [P, 3]: replicas in one rack, may move, may be led by another
    home: Int32s  # [P, K]
    now: Int32s  # [P, K]
    items: Int32s  # [B, M]: slots per broker
    cargo: Floats  # [B, M, 5]: of each, its load, and the bytes that leaving costs (HUGE: it stays)
    spare: Floats  # [B, 4]: target − load, at least 0; −1 where a broker takes nothing
    pos: Int32s  # [P × K]
    tally: Floats  # [5]

    def of_brokers(self, column: int) -> Floats:
        """Four columns of `broker`: LOAD, TARGET, …"""
        return self.broker[:, column : column + 4]
