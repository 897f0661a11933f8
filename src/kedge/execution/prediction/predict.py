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
from kedge.execution.prediction.course import course_of, steps_of
from kedge.execution.prediction.environment import (
    Environment,
    environment_of,
    of_unknown_dir,
    sizes_and_leaders,
)
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
    least = _least_seconds(model)
    bound, bound_by = _bound(least, names)
    found = replay(model, steps_of(model, bound))
    at_throttle = float(least[names.throttles].max(initial=0.0))
    between = _between_moves(changes, leaders, limits, environment)
    moving = _moving_seconds(found)
    seconds = whole_seconds(moving, found.seen, environment, limits, at_least=at_throttle)
    held_up = _held_up_by_throttles(model, names, found)

    def seconds_of(factors: RateFactors) -> float:
        if held_up(factors):
            drawn, seen = moving / factors.throttle if limits.throttled else moving, found.seen
        else:
            other = replay(with_factors(model, names, factors))
            drawn, seen = _moving_seconds(other), other.seen
        longer = between * (factors.moves - 1)
        return longer + whole_seconds(
            drawn, seen, environment, limits, factors, at_least=at_throttle
        )

    drawn = list(in_parallel(seconds_of, samples)) if isfinite(seconds) else []
    low, high = _quantiles(drawn or [seconds])
    before = _before_moves(environment, limits)
    sent = np.add.reduceat(np.append(model.size, 0.0), model.move_copies[:-1])
    sent = np.where(np.diff(model.move_copies) > 0, sent, 0.0)
    return Prediction(
        seconds=seconds,
        seconds_p10=low,
        seconds_p90=high,
        moving_seconds=moving,
        bound_seconds=bound,
        bound_by=bound_by,
        bytes_copied=int(model.size.sum()),
        moves=_move_times(changes, sent, _into(model, names), found, before),
        disks=_disk_peaks(model, names, found, before),
        brokers=_broker_peaks(model, names, found),
        course=course_of(names, found, before),
        problems=problems_of(model, names, found, changes, limits, before),
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


def _moving_seconds(found: Replayed) -> float:
    return float(found.end.max(initial=0.0))


def whole_seconds(
    moving: float,
    seen: float,
    environment: Environment,
    limits: Limits,
    factors: RateFactors = AS_ASSUMED,
    *,
    at_least: float = 0.0,
) -> float:
    """From the start of a run to its end, with throttles, the last observation and elections.

    `moving` is when the last move ends, and `seen` when a run whose observations take time sees it.
    Whatever is drawn, moves take the seconds that the busiest broker needs `at_least`. Rates that
    rise evenly from nothing bring half of what they bring from the end of the rise on.
    """
    if not isfinite(moving):
        return inf
    timing, released = environment.timing, 0.0
    if limits.throttled:
        moving = max(moving, at_least) + min(moving, timing.rise_s) / 2
        released = timing.release_s
    if timing.read_s:
        last = max(seen, moving)
    else:
        last = ceil(moving / timing.poll_s - 1e-9) * timing.poll_s if timing.poll_s else moving
    around = _before_moves(environment, limits) + timing.election_s + released
    return last + around * factors.delays


def with_factors(model: FlowModel, names: Names, factors: RateFactors) -> FlowModel:
    """The model with other rates of links and disks, and another share of throttles."""
    limit, share = model.limit.copy(), model.share.copy()
    limit[names.links] *= factors.network
    limit[names.throttles.stop :] *= factors.disk
    share[names.throttles] *= factors.throttle
    floor = limit * COPY_FRACTION_MIN
    floor[names.throttles] = 0.0
    delays = model.delays._replace(read=model.delays.read * factors.delays)
    return model._replace(limit=limit, floor=floor, share=share, delays=delays)


def _held_up_by_throttles(
    model: FlowModel, names: Names, found: Replayed
) -> Callable[[RateFactors], bool]:
    """Whether no link and no disk is a bottleneck, neither in the replay found nor in a draw.

    The throttles alone set the rates then: moves take as much longer as the throttles bring less.
    False where observations take time: when an end is seen depends on those of each draw.
    """
    share = found.peak_total / model.limit
    network = float(share[names.links].max(initial=0.0))
    disk = float(share[names.throttles.stop :].max(initial=0.0))
    if max(network, disk) > NOT_FULL or model.delays.read:
        return lambda _: False

    def is_held_up(factors: RateFactors) -> bool:
        faster = max(factors.throttle, 1.0)
        most_network, most_disk = NOT_FULL * factors.network, NOT_FULL * factors.disk
        return network * faster <= most_network and disk * faster <= most_disk

    return is_held_up


def _quantiles(seconds: list[float]) -> tuple[float, float]:
    """The 10th and the 90th percentile."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return ordered[round(0.1 * last)], ordered[round(0.9 * last)]


def bound_of(model: FlowModel, names: Names) -> tuple[float, str]:
    """No run is faster: the seconds of the slowest resource, and which that is."""
    return _bound(_least_seconds(model), names)


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


def _into(model: FlowModel, names: Names) -> list[tuple[BrokerId, ...]]:
    """The broker that each copy of a move goes into."""
    rows: list[list[int]] = model.moves.target.tolist()
    return [tuple(names.brokers[place] for place in row if place >= 0) for row in rows]


def _move_times(
    changes: Sequence[Change],
    sent: Floats,
    into: Sequence[tuple[BrokerId, ...]],
    found: Replayed,
    before: float,
) -> tuple[MoveTimes, ...]:
    def moment(at: float) -> float | None:
        return at + before if isfinite(at) else None

    return tuple(
        MoveTimes(change, int(size), moment(start), moment(end), brokers)
        for change, size, start, end, brokers in zip(
            changes, sent.tolist(), found.start.tolist(), found.end.tolist(), into, strict=True
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
    if nowhere := len(of_unknown_dir(environment, changes)):
        found.append(
            f"the log directories of {nowhere} replicas are not known: they load no disk, and "
            "moves of them between directories copy nothing"
        )
    return tuple(found)
