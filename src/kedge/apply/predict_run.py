"""Predicts the run of a plan on the cluster of a snapshot, with drawn and learned rates."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf, isfinite
from pathlib import Path
from random import Random
from typing import NamedTuple

from kedge.apply.cluster_time import speed_of
from kedge.apply.commands import since_last_run
from kedge.apply.move_bytes import arrived_bytes
from kedge.apply.observe import observe
from kedge.apply.preview import Preview, target_of
from kedge.apply.rate_file import measured_rates
from kedge.apply.run_port import RunStore
from kedge.cluster.log_port import ClusterClock
from kedge.cluster.port import Cluster
from kedge.errors import InvalidPlan
from kedge.execution import (
    SETTLED,
    Limits,
    RateRange,
    RunKind,
    Steering,
    Target,
    in_order,
)
from kedge.execution.prediction import (
    Prediction,
    ProblemKind,
    Rates,
    Timing,
    environment_of,
    predict_on_snapshot,
    present_changes,
)
from kedge.execution.prediction.environment import Arrived, at_speed
from kedge.execution.prediction.learned_rates import (
    Draw,
    RateRecord,
    drawn_factors,
    learned_rates,
)
from kedge.execution.prediction.predict import RateFactors
from kedge.execution.rate_rise import WINDOW_S
from kedge.execution.stuck_moves import MARGIN
from kedge.execution.windows import moment_after_open_s
from kedge.model import Snapshot
from kedge.model.amounts import bytes_text
from kedge.plan import Change, PartitionReplica, Plan
from kedge.plan.check_snapshot import unknown_places

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
    a throttle allows, and its links and disks do not vary. `arrived` are the bytes of copies that
    are in progress already.
    """

    state: Path
    rates: Rates | None = None
    samples: int | None = None
    poll_s: float = 1.0
    clock: ClusterClock | None = None
    since_last_run_s: float = inf
    arrived: Arrived = field(default_factory=dict[PartitionReplica, int])


class PredictedRun(NamedTuple):
    """A run that is proposed, with the rate that it begins with, and its prediction.

    `ends_at` is when it ends if it begins now, where it has windows or an end (`predicted_end`).
    """

    judged: Preview
    prediction: Prediction
    ends_at: float | None = None


def predicted(
    plan: Plan,
    cluster: Snapshot,
    limits: Limits,
    around: Circumstances,
    adaptive: RateRange | None = None,
) -> Prediction:
    """The prediction of a plan on the cluster of a snapshot; its throttle may be `adaptive`.

    Raises:
        InvalidPlan: the plan names what the cluster does not have, at this place of its file.
    """
    added = _brokers_to_add(plan, cluster)
    _check_places(plan, cluster, added)
    target = target_of(plan, RunKind.APPLY)
    changes = present_changes(in_order(plan), cluster, target)
    _, found = _at_needed_rate(
        lambda chosen: _predicted(changes, target, cluster, chosen, around), limits, adaptive
    )
    new = "broker {} is to be added: its disks have room for what it gets"
    return reduce(_assuming, (new.format(broker) for broker in added), found)


def predicted_run(judged: Preview, cluster: Snapshot, around: Circumstances) -> PredictedRun:
    """The prediction of a run that is proposed: of what is left to move, and exists.

    A throttle that adapts begins with a rate at which the moves end, if its range has one.
    """
    limits = replace(judged.options.limits, log_dir_rate=judged.options.steering.log_dir_rate)
    known = set(cluster.assignment.keys())
    left = [c for c in judged.changes if c.tp in known and judged.statuses[c.tp] not in SETTLED]
    changes = present_changes(left, cluster, judged.target)
    around = replace(around, arrived=judged.arrived)
    rate, found = _at_needed_rate(
        lambda chosen: _predicted(changes, judged.target, cluster, chosen, around),
        limits,
        judged.options.steering.adaptive,
    )
    ends_at = predicted_end(found, judged.options.steering, around)
    return PredictedRun(judged.beginning_with(rate), found, ends_at)


def predicted_end(
    prediction: Prediction, steering: Steering, around: Circumstances
) -> float | None:
    """When a run ends that begins now and works in its windows alone, in seconds since 1970.

    None where it has no window and no end by which it must be over, or never ends at all; infinite
    if it takes years.
    """
    held = bool(steering.windows) or steering.until is not None
    if not held or not isfinite(prediction.seconds):
        return None
    ours = prediction.seconds / speed_of(around.clock)
    return moment_after_open_s(steering.windows, time.time(), ours)


def circumstances_of(runs: RunStore, *, state: Path, poll_s: float) -> Circumstances:
    """Those of a run that would start now."""
    waited = since_last_run(runs, time.time())
    return Circumstances(state, poll_s=poll_s, clock=runs.clock(), since_last_run_s=waited)


# ---- what a snapshot lacks ----------------------------------------------------------------------


def _brokers_to_add(plan: Plan, cluster: Snapshot) -> list[int]:
    """The brokers that the goals of the plan add, and the cluster does not have yet."""
    known = {broker.id for broker in cluster.brokers}
    if plan.goals is None or all(known.issuperset(each.replicas) for each in plan.partitions):
        return []
    from kedge.balance import goals_from_json

    return sorted({each.id for each in goals_from_json(plan.goals).add_brokers} - known)


def _check_places(plan: Plan, cluster: Snapshot, added: Collection[int]) -> None:
    """Refuse a plan that names what the cluster does not have, with the first place."""
    for finding in unknown_places(plan, cluster, added):
        raise InvalidPlan(
            str(finding),
            hint="use a snapshot of the plan's cluster (--snapshot, or --bootstrap-server)",
        )


# ---- throttles that adapt -----------------------------------------------------------------------


def _at_needed_rate(
    predict: Callable[[Limits], Prediction], limits: Limits, within: RateRange | None
) -> tuple[int | None, Prediction]:
    """The rate that a run begins with, and its prediction.

    Where the moves would never end at the rate of the limits, a throttle that adapts begins with
    a rate of its range at which they end: a bit more than the smallest one, at which they crawl.
    """
    found = predict(limits)
    if within is None or limits.rate is None:
        return limits.rate, found
    needed = [p.rate_needed or 0 for p in found.problems if p.kind is ProblemKind.NEVER_ENDS]
    rate = min(round(max(needed, default=0) * MARGIN), within.high)
    if rate > limits.rate:
        raised = predict(replace(limits, rate=rate))
        if all(problem.kind is not ProblemKind.NEVER_ENDS for problem in raised.problems):
            why = f"at {bytes_text(limits.rate)}/s moves would never end"
            return rate, _assuming(raised, f"{_stays_at(rate, within)}; {why}")
    return limits.rate, _assuming(found, _stays_at(limits.rate, within))


def _stays_at(rate: int, within: RateRange) -> str:
    which = "the lowest that it adapts to" if rate <= within.low else "with which it begins"
    return f"the throttle stays at {bytes_text(rate)}/s, {which}"


def _assuming(prediction: Prediction, sentence: str) -> Prediction:
    return replace(prediction, assumptions=(*prediction.assumptions, sentence))


# ---- shared -------------------------------------------------------------------------------------


def arrived_now(cluster: Cluster, plan: Plan) -> Arrived:
    """What has arrived of the copies of a plan that are in progress on a cluster."""
    target, changes = target_of(plan, RunKind.APPLY), in_order(plan)
    return arrived_bytes(changes, observe(cluster, changes, target, may_be_hidden=True), target)


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
    partitions = [change.tp for change in changes]
    environment = environment_of(cluster, partitions, rates, timing, around.arrived)
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
