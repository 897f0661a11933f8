"""Predicts a run: the replay at the given rates, a range over drawn rates, and the bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import ceil, inf, isfinite
from typing import NamedTuple, Protocol

import numpy as np

from kedge.execution.move_status import ANYWHERE, Target
from kedge.execution.prediction.build_model import (
    COPY_FRACTION_MIN,
    Leaders,
    Names,
    Sizes,
    build_model,
)
from kedge.execution.prediction.environment import Environment, environment_of, sizes_and_leaders
from kedge.execution.prediction.flow_model import FlowModel, Replayed, ResourceKind
from kedge.execution.prediction.problems import problems_of
from kedge.execution.prediction.replay import replayer
from kedge.execution.prediction.result import BrokerPeak, DiskPeak, MoveTimes, Prediction
from kedge.execution.progress import Limits
from kedge.model import BrokerId
from kedge.model.columns import Floats
from kedge.model.snapshot import Snapshot
from kedge.plan import Change

KIND_NAMES = {
    ResourceKind.OUT_LINK: "the link out of broker {}",
    ResourceKind.IN_LINK: "the link into broker {}",
    ResourceKind.OUT_THROTTLE: "broker {} sending at the throttle",
    ResourceKind.IN_THROTTLE: "broker {} receiving at the throttle",
    ResourceKind.LOG_DIR_THROTTLE: "broker {} copying between log directories at the throttle",
    ResourceKind.DISK: "the disk {1} of broker {0}",
}


NOT_FULL = 1 - 1e-6  # of a link or disk: up to that share it holds no copy up


class RateFactors(NamedTuple):
    """One draw of what is uncertain.

    What links, disks and throttles deliver of their rates, how long brokers take to set and to
    remove throttles and to elect leaders, and to begin and end a move, relative to what is assumed.
    What takes the run's time on a faster clock (`Timing.read_s`) varies with its `delays`.
    """

    network: float = 1.0
    disk: float = 1.0
    throttle: float = 1.0
    delays: float = 1.0
    moves: float = 1.0


AS_ASSUMED = RateFactors()


class Mapper(Protocol):
    """Calls a function with each of some draws, in their order."""

    def __call__(
        self, function: Callable[[RateFactors], float], draws: Iterable[RateFactors], /
    ) -> Iterable[float]: ...


def predict(
    changes: Sequence[Change],
    sizes: Sizes,
    leaders: Leaders,
    limits: Limits,
    environment: Environment,
    *,
    target: Target = ANYWHERE,
    samples: Sequence[RateFactors] = (),
    in_parallel: Mapper = map,
) -> Prediction:
    """What a run of these changes, in this sequence, will be like.

    `sizes` has the bytes of one replica of each partition, `samples` are drawn by the caller, who
    may also pass a `map` that calls its function on several threads.
    """
    if not any(target.log_dirs_of(change) for change in changes):
        limits = replace(limits, log_dir_rate=None)  # nothing is copied at that rate
    model, names = build_model(changes, sizes, leaders, limits, environment, target)
    replay = replayer(model, times=1 + len(samples))
    found = replay(model)
    least = _least_seconds(model)
    at_throttle = float(_of_throttles(least, names).max(initial=0.0))
    between = _between_moves(changes, leaders, limits, environment)
    seconds = whole_seconds(found, environment, limits, at_least=at_throttle)
    same = _without_effect(model, names, found)

    def seconds_of(factors: RateFactors) -> float:
        drawn = found if same(factors) else replay(with_factors(model, names, factors))
        longer = between * (factors.moves - 1)
        return longer + whole_seconds(drawn, environment, limits, factors, at_least=at_throttle)

    drawn = list(in_parallel(seconds_of, samples)) if isfinite(seconds) else []
    low, high = _quantiles(drawn or [seconds])
    bound, bound_by = _bound(least, names)
    sent = np.add.reduceat(np.append(model.size, 0.0), model.move_copies[:-1])
    sent = np.where(np.diff(model.move_copies) > 0, sent, 0.0)
    return Prediction(
        seconds=seconds,
        seconds_p10=low,
        seconds_p90=high,
        moving_seconds=float(found.end.max(initial=0.0)),
        bound_seconds=bound,
        bound_by=bound_by,
        bytes_copied=int(model.size.sum()),
        moves=_move_times(changes, sent, found, _before_moves(environment, limits)),
        disks=_disk_peaks(model, names, found, _before_moves(environment, limits)),
        brokers=_broker_peaks(model, names, found),
        problems=problems_of(
            model, names, found, changes, limits, _before_moves(environment, limits)
        ),
        assumptions=assumptions_of(environment, limits, changes, sizes),
        events=found.events,
    )


def predict_on_snapshot(
    changes: Sequence[Change],
    snapshot: Snapshot,
    limits: Limits,
    environment: Environment | None = None,
    *,
    target: Target = ANYWHERE,
    samples: Sequence[RateFactors] = (),
    in_parallel: Mapper = map,
) -> Prediction:
    """The same with sizes, leaders and (unless given) environment from a snapshot."""
    partitions = [change.tp for change in changes]
    sizes, leaders = sizes_and_leaders(snapshot, partitions)
    around = environment or environment_of(snapshot, partitions)
    return predict(
        *(changes, sizes, leaders, limits, around),
        target=target,
        samples=samples,
        in_parallel=in_parallel,
    )


def _before_moves(environment: Environment, limits: Limits) -> float:
    return environment.timing.throttle_s if limits.throttled else 0.0


def _between_moves(
    changes: Sequence[Change], leaders: Leaders, limits: Limits, environment: Environment
) -> float:
    """The seconds in which the broker with the most copies waits for them to begin and to end."""
    copies = Counter[tuple[str, BrokerId | None]]()
    for change in changes:
        copies.update(("in", broker) for broker in change.added)
        copies["out", leaders.get(change.tp)] += len(change.added)
    rounds = ceil(max(copies.values(), default=0) / limits.each_way)
    return rounds * (environment.timing.start_s + environment.timing.in_sync_s)


def whole_seconds(
    found: Replayed,
    environment: Environment,
    limits: Limits,
    factors: RateFactors = AS_ASSUMED,
    *,
    at_least: float = 0.0,
) -> float:
    """From the start of a run to its end, with throttles, the last observation and elections.

    Copies do not get all of a throttle: Kafka divides what eleven seconds let through by ten to
    eleven, and who is held back at one end asks again up to a second later. The moves take longer
    by as much; whatever is drawn, they take the seconds that the busiest broker needs `at_least`.
    Rates that rise evenly from nothing bring half of what they bring from the end of the rise on.
    """
    moving = float(found.end.max(initial=0.0))
    if not isfinite(moving):
        return inf
    timing, released = environment.timing, 0.0
    if limits.throttled:
        drawn = moving / (timing.throttle_share * factors.throttle)
        moving = max(drawn, at_least) + min(drawn, timing.rise_s) / 2
        released = timing.release_s
    seen = ceil(moving / timing.poll_s - 1e-9) * timing.poll_s if timing.poll_s else moving
    if timing.read_s:
        seen = max(found.seen, moving)
    around = _before_moves(environment, limits) + timing.election_s + released
    return seen + around * factors.delays


def with_factors(model: FlowModel, names: Names, factors: RateFactors) -> FlowModel:
    """The model with other rates of links and disks."""
    count, limit = len(names.brokers), model.limit.copy()
    limit[: 2 * count] *= factors.network
    limit[ResourceKind.DISK * count :] *= factors.disk
    floor = limit * COPY_FRACTION_MIN
    floor[2 * count : ResourceKind.DISK * count] = 0.0
    delays = model.delays._replace(read=model.delays.read * factors.delays)
    return model._replace(limit=limit, floor=floor, delays=delays)


def _without_effect(
    model: FlowModel, names: Names, found: Replayed
) -> Callable[[RateFactors], bool]:
    """Whether a draw gives the replay that was found: no link and no disk is a bottleneck in both,
    and observations take no time.

    Rates are then those that the throttles allow, which are not drawn.
    """
    count = len(names.brokers)
    share = found.peak_total / model.limit
    network = float(share[: 2 * count].max(initial=0.0))
    disk = float(share[ResourceKind.DISK * count :].max(initial=0.0))
    if max(network, disk) > NOT_FULL or model.delays.read:
        return lambda _: False
    return lambda factors: network <= NOT_FULL * factors.network and disk <= NOT_FULL * factors.disk


def _quantiles(seconds: list[float]) -> tuple[float, float]:
    """The 10th and the 90th percentile."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return ordered[round(0.1 * last)], ordered[round(0.9 * last)]


def bound_of(model: FlowModel, names: Names) -> tuple[float, str]:
    """No run is faster: the seconds of the slowest resource, and which that is."""
    return _bound(_least_seconds(model), names)


def _of_throttles(seconds: Floats, names: Names) -> Floats:
    count = len(names.brokers)
    return seconds[2 * count : ResourceKind.DISK * count]


def _least_seconds(model: FlowModel) -> Floats:
    """The bytes through each resource, at the most that it can ever give.

    Traffic that moves take away from a resource may leave it more than it has at first.
    """
    least_load = model.load.copy()
    for deltas in (model.when_in_sync, model.when_ended):
        np.add.at(least_load, deltas.place, np.minimum(deltas.amount, 0.0))
    most = np.maximum(model.limit - np.maximum(least_load, 0.0), model.floor)
    row, column = np.nonzero(model.uses >= 0)
    through = np.bincount(model.uses[row, column], model.size[row], len(model.limit))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(through > 0, through / most, 0.0)


def _bound(seconds: Floats, names: Names) -> tuple[float, str]:
    if not seconds.size or seconds.max() <= 0:
        return 0.0, ""
    slowest = int(seconds.argmax())
    kind, broker, path = names.resource(slowest)
    return float(seconds[slowest]), KIND_NAMES[kind].format(broker, path)


def _move_times(
    changes: Sequence[Change], sent: Floats, found: Replayed, before: float
) -> tuple[MoveTimes, ...]:
    def moment(at: float) -> float | None:
        return at + before if isfinite(at) else None

    return tuple(
        MoveTimes(change, int(size), moment(start), moment(end))
        for change, size, start, end in zip(
            changes, sent.tolist(), found.start.tolist(), found.end.tolist(), strict=True
        )
    )


def _disk_peaks(
    model: FlowModel, names: Names, found: Replayed, before: float
) -> tuple[DiskPeak, ...]:
    return tuple(
        DiskPeak(
            broker,
            path,
            float(model.space_used[place]),
            float(found.space_peak[place]),
            float(found.space_peak_at[place]) + before,
            float(model.space_limit[place]) if isfinite(model.space_limit[place]) else None,
            float(full) + before if isfinite(full := found.space_full_at[place]) else None,
        )
        for place, (broker, path) in enumerate(names.spaces)
    )


def _broker_peaks(model: FlowModel, names: Names, found: Replayed) -> tuple[BrokerPeak, ...]:
    count = len(names.brokers)
    links = slice(0, 2 * count)
    limit = model.limit[links]
    share = found.peak_rate[links] / limit
    taken = np.maximum(model.load[links] + found.peak_rate[links] - limit, 0.0) / limit
    taken = np.where(found.peak_rate[links] > 0, taken, 0.0)
    return tuple(
        BrokerPeak(
            broker,
            float(found.flight_peak[place]),
            float(found.flight_peak[count + place]),
            float(share[place]),
            float(share[count + place]),
            float(taken[place]),
            float(taken[count + place]),
        )
        for place, broker in enumerate(names.brokers)
    )


def assumptions_of(
    environment: Environment, limits: Limits, changes: Sequence[Change], sizes: Sizes
) -> tuple[str, ...]:
    """What the prediction takes for granted, in sentences."""
    rates = environment.rates
    found = [
        f"links carry {rates.network / 1e6:g} MB/s each way and disks {rates.disk / 1e6:g} MB/s, "
        "where the snapshot does not know better",
    ]
    if not environment.appended:
        found.append("no traffic: the snapshot has no rates, so partitions do not grow meanwhile")
    else:
        found.append("traffic stays as in the snapshot; retention deletes what producers append")
    if limits.rate is None:
        found.append(f"without a throttle copies get at least {COPY_FRACTION_MIN:.0%} of a link")
    unknown = sum(change.tp not in sizes for change in changes)
    if unknown:
        found.append(f"{unknown} partitions of unknown size count as empty")
    return tuple(found)
