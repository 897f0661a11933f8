"""Predicts the run of a plan on the cluster of a snapshot, with drawn and learned rates."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from random import Random

from kedge.apply.cluster_time import speed_of
from kedge.apply.commands import since_last_run
from kedge.apply.preview import Preview, target_of
from kedge.apply.rate_file import measured_rates
from kedge.apply.run_port import RunStore
from kedge.cluster.log_port import ClusterClock
from kedge.execution import SETTLED, Limits, RunKind, Target, in_order
from kedge.execution.prediction import (
    Prediction,
    Rates,
    Timing,
    environment_of,
    predict_on_snapshot,
    present_changes,
)
from kedge.execution.prediction.environment import at_speed
from kedge.execution.prediction.learned_rates import (
    Draw,
    RateRecord,
    drawn_factors,
    learned_rates,
)
from kedge.execution.prediction.predict import RateFactors
from kedge.execution.rate_rise import WINDOW_S
from kedge.model import Snapshot
from kedge.plan import Change, Plan

SEED = 1  # the same plan has the same prediction, whenever it is made
SAMPLES, SAMPLES_OF_LARGE = 20, 10
LARGE = 20_000  # moves
IN_A_LAB = Timing(
    throttle_s=0.06, election_s=0.02, release_s=0.05, throttle_share=1.0, read_s=0.013
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a run depends on besides its plan and its cluster.

    `state` is where the rates that runs have measured are; `rates` are used instead. A cluster with
    a `clock` of its own is a lab: time may pass faster there, its brokers let through exactly what
    a throttle allows, and its links and disks do not vary.
    """

    state: Path
    rates: Rates | None = None
    samples: int | None = None
    poll_s: float = 1.0
    clock: ClusterClock | None = None
    since_last_run_s: float = inf


def predicted(plan: Plan, cluster: Snapshot, limits: Limits, around: Circumstances) -> Prediction:
    """The prediction of a plan on the cluster of a snapshot."""
    target = target_of(plan, RunKind.APPLY)
    changes = present_changes(in_order(plan), cluster, target)
    return _predicted(changes, target, cluster, limits, around)


def predicted_run(judged: Preview, cluster: Snapshot, around: Circumstances) -> Prediction:
    """The prediction of a run that is proposed: of what is left to move, and exists."""
    limits = replace(judged.options.limits, log_dir_rate=judged.options.steering.log_dir_rate)
    known = set(cluster.assignment.keys())
    left = [c for c in judged.changes if c.tp in known and judged.statuses[c.tp] not in SETTLED]
    changes = present_changes(left, cluster, judged.target)
    return _predicted(changes, judged.target, cluster, limits, around)


def circumstances_of(runs: RunStore, *, state: Path, poll_s: float) -> Circumstances:
    """Those of a run that would start now."""
    waited = since_last_run(runs, time.time())
    return Circumstances(state, poll_s=poll_s, clock=runs.clock(), since_last_run_s=waited)


def _predicted(
    changes: list[Change],
    target: Target,
    cluster: Snapshot,
    limits: Limits,
    around: Circumstances,
) -> Prediction:
    records = [] if around.rates else measured_rates(around.state, cluster.cluster_id)
    rates = around.rates or learned_rates(records, Rates())
    samples = around.samples
    if samples is None:
        samples = SAMPLES if len(changes) <= LARGE else SAMPLES_OF_LARGE
    timing, factors = _uncertain(around, _draws(samples), records)
    environment = environment_of(cluster, [change.tp for change in changes], rates, timing)
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:  # replays are compiled code
        found = predict_on_snapshot(
            *(changes, cluster, limits, environment),
            target=target,
            samples=factors,
            in_parallel=threads.map,
        )
    return found if around.clock is None else _within_its_range(found)


def _within_its_range(found: Prediction) -> Prediction:
    """A range that holds the predicted time: what is drawn may cost a round of polls, or none."""
    low, high = found.seconds_p10, found.seconds_p90
    return replace(found, seconds_p10=min(low, found.seconds), seconds_p90=max(high, found.seconds))


def _uncertain(
    around: Circumstances, draws: list[Draw], records: Sequence[RateRecord]
) -> tuple[Timing, list[RateFactors]]:
    """The delays of a run, and draws of what is uncertain about it."""
    if around.clock is None:
        # Brokers that were throttled a moment ago get rates that rise from nothing.
        rise_s = WINDOW_S if around.since_last_run_s < WINDOW_S else 0.0
        return Timing(poll_s=around.poll_s, rise_s=rise_s), drawn_factors(draws, records)
    timing = at_speed(replace(IN_A_LAB, poll_s=around.poll_s), speed_of(around.clock))
    # Uncertain is only how long this machine takes for requests, also for those of observations.
    return timing, [RateFactors(delays=0.5 * 4**draw.delays) for draw in draws]


def _draws(samples: int) -> list[Draw]:
    rng = Random(SEED)
    return [Draw(*(rng.random() for _ in Draw._fields)) for _ in range(samples)]
