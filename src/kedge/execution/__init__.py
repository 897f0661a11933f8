"""Carrying a plan out, as decisions: what stands where, what may start, what is to be cleaned up.

Goal. A plan that was reviewed runs to its end, whatever happens on the way, and leaves nothing
behind. This package decides; `apply` looks at the cluster, acts and writes the journal.

Rules.

- The cluster is the truth. Where a partition stands is told from its replicas and moves
  (`standing`), never from memory: a run that was killed goes on by looking.
- Moves start as soon as both ends are free (`order`); a wave is an order of preference, no barrier.
- Throttles are leased (`leases`, `journal`): written down before they are set, removed to the
  letter, by the run itself or by the next one. Others' throttles are never touched. Nothing moves
  before the brokers have heard of them.
- What no longer fits is refused before anything is changed (`judging`).

Worked example, a plan of two changes with one slot each way:

    seen       orders-0 on [1,2]            orders-1 on [1,3]         both led by 1
    judge      nothing against it
    lease_for  rates on 1,2,3,4; orders: leaders 0:1,0:2,1:1,1:3, followers 0:4,1:4
    next_moves orders-0 → [4,2]             orders-1 waits: 1 is sending, 4 receiving
    seen       orders-0 on [4,2]            done
    next_moves orders-1 → [4,3]
    seen       both done                    the lease is given back, the run has ended
"""

from kedge.execution.journal import Ending, Lease, RunState, read_journal
from kedge.execution.judging import judge
from kedge.execution.leases import (
    lease_for,
    refuse_foreign,
    still_ours,
    throttles_in,
    unheard,
)
from kedge.execution.order import in_order, next_moves, waiting_for_brokers
from kedge.execution.progress import Pace, Progress, Sizes, progress_of
from kedge.execution.standing import (
    DRIFTED,
    SETTLED,
    Observation,
    Standing,
    standing_of,
    standings_of,
)

__all__ = [
    "DRIFTED",
    "SETTLED",
    "Ending",
    "Lease",
    "Observation",
    "Pace",
    "Progress",
    "RunState",
    "Sizes",
    "Standing",
    "in_order",
    "judge",
    "lease_for",
    "next_moves",
    "progress_of",
    "read_journal",
    "refuse_foreign",
    "standing_of",
    "standings_of",
    "still_ours",
    "throttles_in",
    "unheard",
    "waiting_for_brokers",
]
