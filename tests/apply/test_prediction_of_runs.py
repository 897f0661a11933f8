"""Predictions beside runs: the executor on virtual time, with the simulator's bandwidth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.prediction.plans import Moves, random_moves
from bench.prediction.simulated_run import SimulatedRun, simulated_run
from kedge.execution import Limits
from kedge.execution.prediction import Environment, Prediction, Rates, Timing, predict

THROTTLED = Limits(50_000_000, 2)


def both(
    moves: Moves, limits: Limits, timing: Timing, rates: Rates, state: Path
) -> tuple[Prediction, SimulatedRun]:
    # the simulator lets through all that a throttle allows
    timing = replace(timing, throttle_share=1.0)
    predicted = predict(*moves, limits, Environment(rates=rates, timing=timing))
    return predicted, simulated_run(moves.changes, moves.sizes, limits, rates, timing, state)


@pytest.mark.parametrize(
    ("limits", "rates"),
    [
        (THROTTLED, Rates(1e9, 1e9)),
        (Limits(30_000_000, 1), Rates(1e9, 1e9)),
        (Limits(None, 2), Rates(60e6, 45e6)),
    ],
    ids=["two slots", "one slot", "no throttle, slow disks"],
)
def test_a_run_takes_as_long_as_predicted(limits: Limits, rates: Rates, tmp_path: Path) -> None:
    moves = random_moves(20, 150, seed=4, mean_bytes=1e9)
    predicted, run = both(moves, limits, Timing(poll_s=5.0), rates, tmp_path)
    assert run.moved == 150
    assert run.moving_seconds == pytest.approx(predicted.moving_seconds, rel=0.02)
    assert run.moving_seconds >= predicted.bound_seconds


@pytest.mark.slow
@pytest.mark.timeout(1200)  # three minutes of CPU time
def test_five_thousand_moves_on_two_hundred_brokers_take_as_long_as_predicted(
    tmp_path: Path,
) -> None:
    moves = random_moves(200, 5_000, seed=1)
    predicted, run = both(moves, THROTTLED, Timing(poll_s=10.0), Rates(1e9, 1e9), tmp_path)
    assert run.moved == 5_000
    assert run.moving_seconds == pytest.approx(predicted.moving_seconds, rel=0.05)
    assert run.moving_seconds <= 1.02 * predicted.bound_seconds
