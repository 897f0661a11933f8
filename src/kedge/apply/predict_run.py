"""Predicts the run of a plan on the cluster of a snapshot, with drawn and learned rates."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random

from kedge.apply.preview import target_of
from kedge.apply.rate_file import measured_rates
from kedge.cluster.log_port import ClusterClock
from kedge.execution import Limits, RunKind, in_order
from kedge.execution.prediction import (
    Prediction,
    Rates,
    Timing,
    environment_of,
    predict_on_snapshot,
    present_changes,
)
from kedge.execution.prediction.environment import at_speed
from kedge.execution.prediction.learned_rates import Draw, drawn_factors, learned_rates
from kedge.execution.prediction.predict import RateFactors
from kedge.execution.rate_rise import WINDOW_S
from kedge.model import Snapshot
from kedge.plan import Plan

SEED = 1  # the same plan has the same prediction, whenever it is made
SAMPLES, SAMPLES_OF_LARGE = 20, 10
LARGE = 20_000  # moves
IN_A_LAB = Timing(throttle_s=0.25, election_s=0.1, release_s=0.25, throttle_share=1.0)
FAST_MAX = 1e6  # a lab that runs as fast as it can


def speed_of(clock: ClusterClock) -> float:
    """How fast the time of a cluster passes, beside ours."""
    return clock.speed if keeps_time(clock) else 1.0


def keeps_time(clock: ClusterClock | None) -> bool:
    """False of a lab that runs as fast as it can: how much time passes there between two polls of a
    run depends on this machine, and so does what the run takes."""
    return clock is None or clock.speed < FAST_MAX


def predicted(
    plan: Plan,
    cluster: Snapshot,
    limits: Limits,
    *,
    state: Path,
    rates: Rates | None = None,
    samples: int | None = None,
    poll_s: float = 1.0,
    clock: ClusterClock | None = None,
    since_last_run_s: float = inf,
) -> Prediction:
    """The prediction of a plan; `state` is where the rates that runs have measured are.

    A cluster with a `clock` of its own is a lab: time may pass faster there, its brokers let
    through exactly what a throttle allows, and its links and disks do not vary.
    """
    records = [] if rates else measured_rates(state, cluster.cluster_id)
    target = target_of(plan, RunKind.APPLY)
    changes = present_changes(in_order(plan), cluster, target)
    chosen = rates or learned_rates(records, Rates())
    # Brokers that were throttled a moment ago get rates that rise from nothing.
    rise_s = WINDOW_S if since_last_run_s < WINDOW_S else 0.0
    timing = Timing(poll_s=poll_s, rise_s=rise_s)
    if clock is not None:
        timing = at_speed(replace(IN_A_LAB, poll_s=poll_s), speed_of(clock))
    around = environment_of(cluster, [change.tp for change in changes], chosen, timing)
    if samples is None:
        samples = SAMPLES if len(changes) <= LARGE else SAMPLES_OF_LARGE
    rng = Random(SEED)
    draws = [Draw(*(rng.random() for _ in Draw._fields)) for _ in range(samples)]
    if clock is None:
        factors = drawn_factors(draws, records)
    else:  # uncertain is only how long this machine takes
        factors = [RateFactors(delays=0.5 + draw.delays) for draw in draws]
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:  # replays are compiled code
        return predict_on_snapshot(
            *(changes, cluster, limits, around),
            target=target,
            samples=factors,
            in_parallel=threads.map,
        )
