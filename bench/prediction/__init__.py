"""Predictions beside their bound, beside runs on virtual time, and beside runs of real brokers.

The first rows are time: how fast a day of a rebalance is predicted, with all its draws, beside the
run that it predicts (the executor on simulated disks and links, which has to observe the cluster at
every poll). The next compare durations in virtual time: predicted, simulated, and the bound of any
run. The last are jobs on real brokers, measured and predicted (`calibration`).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from bench.prediction.calibration import Compared, calibration
from bench.prediction.plans import Moves, random_moves
from bench.prediction.simulated_run import SimulatedRun, simulated_run
from bench.report import BenchRow, BenchSection, Timing
from kedge.execution import Limits
from kedge.execution.prediction import Environment, Prediction, Rates, predict
from kedge.execution.prediction import Timing as RunTiming
from kedge.execution.prediction.learned_rates import Draw, drawn_factors

LIMITS = Limits(50_000_000, 2)
RATES = Rates(1e9, 1e9)
SEED = 1
LARGE, SMALL = (1_000, 50_000), (200, 5_000)  # brokers and moves
LARGE_BYTES, SMALL_BYTES = 20e9, 2e9  # a day, and an hour
POLL_S = 10.0
SAMPLES = 20


def run() -> BenchSection:
    """Predict, run the smaller plan on virtual time, and jobs on real brokers."""
    return section([_told(job) for job in calibration()])


def _told(job: Compared) -> Compared:
    """A quarter of an hour is long: show each job when it has ended."""
    print(job, file=sys.stderr, flush=True)
    return job


def section(jobs: Sequence[Compared]) -> BenchSection:
    """The section with these jobs; predictions are made twice, the first compiles."""
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
        *map(_calibrated, jobs),
    )
    return BenchSection(
        "prediction",
        "Predictions",
        "Plans of random moves under a throttle of 50 MB/s, two moves per broker each way. The "
        "bound is the busiest broker at the throttle. The simulated run is the executor of "
        "`kedge apply` on virtual time. Jobs are those of real brokers, four processes on this "
        "machine with 1 GB in 24 partitions: measured, and as predicted before, with the range of "
        "8 in 10 draws.",
        rows,
        (
            f"Events in the replay of the large plan: {day.events:,}; {SAMPLES} draws.",
            _summary("throttled", [job for job in jobs if job.throttle]),
            _summary("unthrottled", [job for job in jobs if not job.throttle]),
        ),
    )


def _calibrated(job: Compared) -> BenchRow:
    throttle = f"{job.throttle}/s" if job.throttle else "no throttle"
    around = "with clients" if job.with_clients else "no clients"
    told = job.predicted
    return _row(
        f"{job.job} on {job.release}, {throttle}, {around}",
        job.measured.seconds,
        f"predicted, {told.p10:.1f} to {told.p90:.1f} s",
        told.middle,
    )


def _summary(kind: str, jobs: list[Compared]) -> str:
    ratios = sorted(job.ratio for job in jobs) or [1.0]
    inside = sum(job.is_inside for job in jobs)
    return (
        f"Of {len(jobs)} {kind} jobs, {inside} were inside of the range; they took "
        f"{ratios[0]:.2f} to {ratios[-1]:.2f} times the middle."
    )


def _predicted(moves: Moves) -> tuple[Prediction, float]:
    rng, before = Random(SEED), time.process_time()
    draws = [Draw(*(rng.random() for _ in Draw._fields)) for _ in range(SAMPLES)]
    # the simulator lets through all that a throttle allows
    around = Environment(rates=RATES, timing=RunTiming(poll_s=POLL_S, throttle_share=1.0))
    found = predict(*moves, LIMITS, around, samples=drawn_factors(draws))
    return found, time.process_time() - before


def _simulated(moves: Moves) -> tuple[SimulatedRun, float]:
    before = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        timing = RunTiming(poll_s=POLL_S)
        found = simulated_run(moves.changes, moves.sizes, LIMITS, RATES, timing, Path(folder))
    return found, time.process_time() - before


def _row(what: str, ours: float, peer: str, theirs: float) -> BenchRow:
    return BenchRow(what, Timing(ours, ours), peer, Timing(theirs, theirs))
