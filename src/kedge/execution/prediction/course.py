"""How full disks are, and how much is in flight, over the time of a run.

A replay keeps the most bytes on each disk, and the most in flight out of and into each broker, for
every step of time. How long it takes is not known before: when all steps are used, two become one,
and the next ones are twice as long. It ends with the last move.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from kedge.execution.prediction.build_model import Names
from kedge.execution.prediction.flow_model import FlowModel, Replayed
from kedge.execution.prediction.result import Course, DiskCourse, FlightCourse
from kedge.model.columns import Int64s

STEPS_MAX, STEPS_MIN = 200, 20
POINTS_MAX = 200_000  # of all disks and brokers together: large plans have fewer steps
USUALLY = 1.2  # of the bound: few throttled runs take longer


class Steps(NamedTuple):
    """How many steps a replay keeps at most, an even number, and the seconds of one at first."""

    number: int
    seconds: float


NO_STEPS = Steps(0, 1.0)


def steps_of(model: FlowModel, bound: float) -> Steps:
    """The steps of a run that no run is faster than."""
    series = len(model.space_used) + len(model.end_rows_start) - 1
    number = min(STEPS_MAX, max(STEPS_MIN, POINTS_MAX // max(series, 1)))
    delays = model.delays.poll + model.delays.start + model.delays.in_sync
    seconds = (USUALLY * bound + delays) / number
    return Steps(number - number % 2, seconds or 1.0)


def course_of(names: Names, found: Replayed, before: float) -> Course:
    """The course of a replay until its last move ends; `before` are seconds before moves."""
    times = np.concatenate([found.start, found.end])
    last = float(times[np.isfinite(times)].max(initial=0.0))
    used = min(max(ceil(last / found.course_step), 1), found.course.shape[1])
    rows = found.course[:, :used]
    spaces, brokers = len(names.spaces), len(names.brokers)
    disks, out, into = np.split(np.rint(rows).astype(np.int64), [spaces, spaces + brokers])
    return Course(before, found.course_step, _disks(names, disks), _flights(names, out, into))


def _disks(names: Names, disks: Int64s) -> tuple[DiskCourse, ...]:
    changed: list[int] = np.flatnonzero(np.ptp(disks, axis=1) > 0).tolist()
    return tuple(DiskCourse(*names.spaces[row], tuple(disks[row].tolist())) for row in changed)


def _flights(names: Names, out: Int64s, into: Int64s) -> tuple[FlightCourse, ...]:
    busy: list[int] = np.flatnonzero(out.any(axis=1) | into.any(axis=1)).tolist()
    return tuple(
        FlightCourse(names.brokers[row], tuple(out[row].tolist()), tuple(into[row].tolist()))
        for row in busy
    )
