"""Decides how a plan is carried out: the status of each move, what may start, what is cleaned up.

Goal. A plan that was reviewed runs to its end, whatever happens on the way, and leaves nothing
behind. This package decides; `apply` observes the cluster, acts and writes the journal.

Rules.

- A run is a state machine (`run_states`): one table has what each command does in each state.
- The cluster is the truth. How far a partition is, is read from its replicas, reassignments and log
  directories (`move_status`), never from memory: a run that was killed continues by observing.
- Moves start as soon as both ends are free (`slots`); waves give the sequence and are no barrier.
- Throttles are leased (`leases`, `journal`): written down before they are set, removed by value, by
  the run itself or by a later command, and released only when the broker confirms. Throttles of
  others are never touched. Moves start only after every broker reports its throttle.
- New moves wait while the rest of the cluster is in trouble (`health`).
- What no longer fits is refused before anything is changed (`preconditions`).

Worked example, a plan of two changes with one slot each way:

    observed             orders-0 on [1,2]            orders-1 on [1,3]         both led by 1
    check_preconditions  nothing against it
    lease_for            rates on 1,2,3,4; orders: leaders 0:1,0:2,1:1,1:3, followers 0:4,1:4
    next_moves           orders-0 → [4,2]             orders-1 waits: 1 is sending, 4 receiving
    observed             orders-0 on [4,2]            done
    next_moves           orders-1 → [4,3]
    observed             both done                    the lease is released, the run is done
"""

from kedge.execution.health import Health, PartitionHealth, health_of
from kedge.execution.journal import Lease, RunKind, RunRecord, Setting, read_journal
from kedge.execution.leases import (
    foreign_throttle,
    lease_for,
    missing_from,
    other_rates,
    refuse_foreign,
    removable,
    still_leased,
    throttles_in,
    unconfirmed,
)
from kedge.execution.move_status import (
    ANYWHERE,
    DIVERGED,
    SETTLED,
    LogDirs,
    MoveStatus,
    Observation,
    Statuses,
    Target,
    goes_back,
    log_dir_requests,
    status_of,
    statuses_of,
)
from kedge.execution.preconditions import check_preconditions, counted, named
from kedge.execution.progress import (
    Limits,
    Pace,
    Progress,
    Sizes,
    Work,
    work_of,
)
from kedge.execution.requests import Reply, Request, RequestKind, read_requests, request_line
from kedge.execution.run_record import RateChange, RunPrediction
from kedge.execution.run_states import AT_WORK, ENDED, TABLE, Action, Cell, RunState, Verb
from kedge.execution.slots import brokers_waited_for, in_order, next_moves
from kedge.execution.steering import RateRange, Steering, hold_reason

__all__ = [
    "ANYWHERE",
    "AT_WORK",
    "DIVERGED",
    "ENDED",
    "SETTLED",
    "TABLE",
    "Action",
    "Cell",
    "Health",
    "Lease",
    "Limits",
    "LogDirs",
    "MoveStatus",
    "Observation",
    "Pace",
    "PartitionHealth",
    "Progress",
    "RateChange",
    "RateRange",
    "Reply",
    "Request",
    "RequestKind",
    "RunKind",
    "RunPrediction",
    "RunRecord",
    "RunState",
    "Setting",
    "Sizes",
    "Statuses",
    "Steering",
    "Target",
    "Verb",
    "Work",
    "brokers_waited_for",
    "check_preconditions",
    "counted",
    "foreign_throttle",
    "goes_back",
    "health_of",
    "hold_reason",
    "in_order",
    "lease_for",
    "log_dir_requests",
    "missing_from",
    "named",
    "next_moves",
    "other_rates",
    "read_journal",
    "read_requests",
    "refuse_foreign",
    "removable",
    "request_line",
    "status_of",
    "statuses_of",
    "still_leased",
    "throttles_in",
    "unconfirmed",
    "work_of",
]
