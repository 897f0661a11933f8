"""The options of a run as a request has them, made into the values that `apply` takes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kedge.apply import Preview, RunOptions, RunStore, default_state
from kedge.apply.predict_run import circumstances_of, predicted_run
from kedge.errors import KedgeError
from kedge.execution import Limits, RateRange, Steering
from kedge.execution.adaptive_throttle import parse_throttle
from kedge.execution.windows import parse_window
from kedge.model import Snapshot, TopicPartition
from kedge.wiring import IN_CLUSTER

INTERVAL_S = 1.0

Request = Mapping[str, Any]


def limits_of(request: Request) -> tuple[Limits, RateRange | None]:
    """The limits, and the range that the throttle adapts in; no throttle is `null`."""
    throttle, slots = request.get("throttle"), int(request.get("moves_per_broker", 2))
    if throttle is None:
        return Limits(None, slots), None
    rate, adaptive = parse_throttle(throttle, "throttle")
    return Limits(rate, slots), adaptive


def options_of(request: Request, growth: Mapping[TopicPartition, float]) -> RunOptions:
    """The options of a new run."""
    limits, adaptive = limits_of(request)
    steering = Steering(
        adaptive=adaptive,
        windows=tuple(parse_window(each) for each in request.get("windows", ())),
        hard_window=bool(request.get("hard_window", False)),
        cancel_stuck=bool(request.get("cancel_stuck", False)),
    )
    return RunOptions(
        limits,
        skip_drifted=bool(request.get("skip_drifted", False)),
        ignore_health=bool(request.get("ignore_health", False)),
        steering=steering,
        growth=growth,
    )


def options_to_continue(runs: RunStore, run_id: str, request: Request) -> RunOptions:
    """The options of the run that continues; another throttle, where the request has one."""
    run = runs.chosen(run_id)
    record = (runs.rollback_of(run) or run).record()
    limits, steering = Limits(record.rate, record.each_way), record.steering
    if request.get("throttle"):
        given, adaptive = limits_of(request)
        limits = Limits(given.rate, record.each_way)
        steering = Steering(
            steering.log_dir_rate,
            adaptive,
            steering.windows,
            steering.hard_window,
            steering.until,
            steering.stuck_after_s,
            steering.cancel_stuck,
        )
    return RunOptions(limits, steering=steering)


def rates_directory(state: str) -> Path:
    """Where the rates that runs have measured are, of a cluster whose runs are kept there."""
    return default_state() if state == IN_CLUSTER else Path(state)


def at_start_rate(judged: Preview, cluster: Snapshot, runs: RunStore, state: str) -> Preview:
    """A run whose throttle, if it adapts, begins with a rate at which its moves end.

    As a run does not depend on a prediction, one that fails changes nothing.
    """
    if judged.options.steering.adaptive is None:
        return judged
    around = circumstances_of(runs, state=rates_directory(state), poll_s=INTERVAL_S)
    with suppress(KedgeError):
        return predicted_run(judged, cluster, replace(around, samples=0)).judged
    return judged
