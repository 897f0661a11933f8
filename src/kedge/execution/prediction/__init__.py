"""Predicts a run of a plan before it starts: how long it takes, what it fills and what it blocks.

The plan is replayed in virtual time (`replay`), with the scheduler that `apply` uses
(`kedge.execution.scheduler`): what orders moves in a run orders them here. Copies are fluid flows
that share disks, links and throttles at max-min fair rates (`fair_share`). Disks and links carry
the live traffic of the snapshot too, and a partition that grows must catch up.

    predict(changes, sizes, leaders, limits, environment)    → Prediction

No clock and no random numbers: uncertain rates arrive drawn (`samples`), and the prediction of the
same plan is the same again.

Worked example: two moves of 100 GB out of broker 1, throttle 100 MB/s, one slot each way; copies
get 92 MB/s of the throttle

    0 s       throttles are set
    0.5 s     orders-0 starts; orders-1 waits for broker 1
    1087.6 s  orders-0 has all bytes, and is in sync 0.2 s later
    1088.5 s  the run sees it, and orders-1 starts
    2176.5 s  the run sees the end of orders-1, elects, removes the throttles
    bound     2000 s: broker 1 sending at the throttle
"""

from kedge.execution.prediction.environment import (
    BrokerEnvironment,
    Disk,
    Environment,
    Rates,
    Timing,
    environment_of,
    present_changes,
    sizes_and_leaders,
)
from kedge.execution.prediction.predict import RateFactors, predict, predict_on_snapshot
from kedge.execution.prediction.result import (
    BrokerPeak,
    Course,
    DiskCourse,
    DiskPeak,
    FlightCourse,
    MoveTimes,
    Prediction,
    Problem,
    ProblemKind,
    refuse_problems,
)

__all__ = [
    "BrokerEnvironment",
    "BrokerPeak",
    "Course",
    "Disk",
    "DiskCourse",
    "DiskPeak",
    "Environment",
    "FlightCourse",
    "MoveTimes",
    "Prediction",
    "Problem",
    "ProblemKind",
    "RateFactors",
    "Rates",
    "Timing",
    "environment_of",
    "predict",
    "predict_on_snapshot",
    "present_changes",
    "refuse_problems",
    "sizes_and_leaders",
]
