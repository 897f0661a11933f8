"""Finds what rules a plan out: a disk that fills up, or a throttle that is too low to ever end."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from kedge.execution.prediction.build_model import Names
from kedge.execution.prediction.flow_model import FlowModel, Replayed, ResourceKind
from kedge.execution.prediction.replay import replay
from kedge.execution.prediction.result import Problem, ProblemKind
from kedge.execution.progress import Limits
from kedge.plan import Change

DOUBLINGS, HALVINGS = 24, 8
THROTTLES = (
    ResourceKind.OUT_THROTTLE,
    ResourceKind.IN_THROTTLE,
    ResourceKind.LOG_DIR_THROTTLE,
)
WAYS = {
    ResourceKind.OUT_THROTTLE: "the followers that broker {} sends to",
    ResourceKind.IN_THROTTLE: "the moved replicas that broker {} receives",
    ResourceKind.LOG_DIR_THROTTLE: "the copies of broker {}",
}


def problems_of(
    model: FlowModel,
    names: Names,
    found: Replayed,
    changes: Sequence[Change],
    limits: Limits,
    before: float,
) -> tuple[Problem, ...]:
    """The problems of a replay, the first to happen first; `before` are seconds before moves."""
    problems = _full_disks(model, names, found, before)
    never = np.flatnonzero(~np.isfinite(found.copied))
    if len(never) and not problems:  # a full disk comes first; moves behind it never start
        problems = [_never_ends(model, names, found, changes, limits)]
    return tuple(problems)


def _full_disks(model: FlowModel, names: Names, found: Replayed, before: float) -> list[Problem]:
    full = np.flatnonzero(np.isfinite(found.space_full_at))
    problems: list[Problem] = []
    soonest: list[int] = full[np.argsort(found.space_full_at[full], kind="stable")].tolist()
    for place in soonest:
        broker, path = names.spaces[place]
        at = before + float(found.space_full_at[place])
        where = f"broker {broker}" if path is None else f"log directory {path} of broker {broker}"
        over = float(found.space_peak[place] - model.space_limit[place])
        problems.append(
            Problem(
                ProblemKind.DISK_FULL,
                f"The disk of {where} would be full after {_moment(at)}: it would need "
                f"{over / 1e9:.1f} GB more than its {model.space_limit[place] / 1e9:.1f} GB",
                "make a plan that keeps disks below a limit (kedge plan --limits disk=0.9), move "
                "other partitions off it first, or lower the retention of what moves there",
                broker,
                path,
                at,
            )
        )
    return problems


def _never_ends(
    model: FlowModel, names: Names, found: Replayed, changes: Sequence[Change], limits: Limits
) -> Problem:
    """The copy that is held up, by which resource, and the throttle that would let it end."""
    stuck = _first_stuck(model, found)
    row = int(np.searchsorted(model.move_copies, stuck, side="right") - 1)
    tp = changes[row].tp
    kind, broker, _ = names.resource(int(found.bottleneck[stuck]))
    throttle = _throttle_of(kind, limits)
    if throttle is None:
        return Problem(
            ProblemKind.NEVER_ENDS,
            f"The move of {tp} would never end: broker {broker} has too little bandwidth left "
            f"for what producers append ({model.growth[stuck] / 1e6:.1f} MB/s)",
            "move it when there is less traffic",
            broker,
        )
    needed = smallest_rate(model, names, throttle)
    return Problem(
        ProblemKind.NEVER_ENDS,
        f"The move of {tp} would never end at a throttle of {throttle.rate / 1e6:g} MB/s: "
        f"replication to {WAYS[kind].format(broker)} is counted for it too and leaves copies less "
        "than producers append",
        "use --no-throttle, or move it when there is less traffic"
        if needed is None
        else f"use {throttle.option} {rate_text(needed)} or more",
        broker,
        rate_needed=needed,
    )


class _Throttle(NamedTuple):
    """A throttle that an operator chooses: its rate, its option, and what it limits."""

    rate: int
    option: str
    kinds: tuple[ResourceKind, ...]


def _throttle_of(kind: ResourceKind, limits: Limits) -> _Throttle | None:
    """The throttle that limits a resource, where one does."""
    if kind is ResourceKind.LOG_DIR_THROTTLE and limits.log_dir_rate is not None:
        return _Throttle(limits.log_dir_rate, "--log-dir-throttle", (kind,))
    if kind not in THROTTLES or limits.rate is None:
        return None
    own = limits.log_dir_rate is not None
    return _Throttle(limits.rate, "--throttle", THROTTLES[:2] if own else THROTTLES)


def _first_stuck(model: FlowModel, found: Replayed) -> int:
    """A copy that has started and never has all bytes; its bottleneck is known."""
    started = np.repeat(np.isfinite(found.start), np.diff(model.move_copies))
    stuck = np.flatnonzero(~np.isfinite(found.copied) & started & (found.bottleneck >= 0))
    return int(stuck[0])


def smallest_rate(model: FlowModel, names: Names, throttle: _Throttle) -> int | None:
    """The smallest rate at which all moves end, to within a percent; None if none does."""
    low, high = throttle.rate, throttle.rate
    for _ in range(DOUBLINGS):
        high *= 2
        if _ends(model, names, throttle._replace(rate=high)):
            break
    else:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) // 2
        ends = _ends(model, names, throttle._replace(rate=middle))
        low, high = (low, middle) if ends else (middle, high)
    return high


def _ends(model: FlowModel, names: Names, throttle: _Throttle) -> bool:
    count, limit = len(names.brokers), model.limit.copy()
    for kind in throttle.kinds:
        limit[kind * count : (kind + 1) * count] = float(throttle.rate)
    return bool(replay(model._replace(limit=limit)).end.max(initial=0.0) < inf)


def rate_text(rate: float) -> str:
    """A rate as `--throttle` takes it, rounded up to two digits after the unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if rate >= size:
            return f"{np.ceil(rate / size * 100) / 100:g}{unit}"
    return f"{rate:g}"


def _moment(seconds: float) -> str:
    assert isfinite(seconds)
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{seconds:.0f} s"
