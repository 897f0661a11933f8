"""Predictions of large plans, beside their bound and beside a run on virtual time.

The first row is time: how fast a day of a rebalance is predicted, beside the run that it predicts
(the executor on simulated disks and links, which has to observe the cluster at every poll). The
other rows compare durations in virtual time: predicted, simulated, and the bound of any run.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.prediction.plans import Moves, random_moves
from bench.prediction.simulated_run import SimulatedRun, simulated_run
from bench.report import BenchRow, BenchSection, Timing
from kedge.execution import Limits
from kedge.execution.prediction import Environment, Prediction, Rates, predict
from kedge.execution.prediction import Timing as RunTiming

LIMITS = Limits(50_000_000, 2)
RATES = Rates(1e9, 1e9)
SEED = 1
LARGE, SMALL = (1_000, 50_000), (200, 5_000)  # brokers and moves
LARGE_BYTES, SMALL_BYTES = 20e9, 2e9  # a day, and an hour
POLL_S = 10.0


def run() -> BenchSection:
    """Predict twice (the first compiles), and run the smaller plan on virtual time."""
    large = random_moves(*LARGE, seed=SEED, mean_bytes=LARGE_BYTES)
    small = random_moves(*SMALL, seed=SEED, mean_bytes=SMALL_BYTES)
    _predicted(small)
    day, day_took = _predicted(large)
    hour, hour_took = _predicted(small)
    simulated, simulated_took = _simulated(small)
    names = [f"{moves} moves on {brokers} brokers" for brokers, moves in (LARGE, SMALL)]
    rows = (
        _row(f"predict {names[0]}, CPU", day_took, "the run that it predicts", day.seconds),
        _row(f"predict {names[1]}, CPU", hour_took, "the simulated run, CPU", simulated_took),
        _row(f"duration of {names[0]}, predicted", day.moving_seconds, "bound", day.bound_seconds),
        _row(
            f"duration of {names[1]}, predicted", hour.moving_seconds, "bound", hour.bound_seconds
        ),
        _row(
            f"duration of {names[1]}, predicted",
            hour.moving_seconds,
            "simulated run",
            simulated.moving_seconds,
        ),
    )
    return BenchSection(
        "prediction",
        "Predictions",
        "Plans of random moves under a throttle of 50 MB/s, two moves per broker each way. The "
        "bound is the busiest broker at the throttle. The simulated run is the executor of "
        "`kedge apply` on virtual time.",
        rows,
        (f"Events in the replay of the large plan: {day.events:,}.",),
    )


def _predicted(moves: Moves) -> tuple[Prediction, float]:
    before = time.process_time()
    found = predict(*moves, LIMITS, Environment(rates=RATES, timing=RunTiming(poll_s=POLL_S)))
    return found, time.process_time() - before


def _simulated(moves: Moves) -> tuple[SimulatedRun, float]:
    before = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        timing = RunTiming(poll_s=POLL_S)
        found = simulated_run(moves.changes, moves.sizes, LIMITS, RATES, timing, Path(folder))
    return found, time.process_time() - before


def _row(what: str, ours: float, peer: str, theirs: float) -> BenchRow:
    return BenchRow(what, Timing(ours, ours), peer, Timing(theirs, theirs))
