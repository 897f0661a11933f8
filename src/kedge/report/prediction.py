"""Lines and rows of a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import ceil, floor, isfinite
from typing import Any

from kedge.apply.predict_run import PredictedRun
from kedge.execution import Steering
from kedge.execution.prediction import BrokerPeak, Course, DiskPeak, Prediction, Problem
from kedge.report.amounts import bytes_text, duration_text

Row = dict[str, Any]


def eta_line(run: PredictedRun) -> str:
    """How long the run takes, in one line; what its steering adds to that is named."""
    prediction, options = run.prediction, run.judged.options
    if not isfinite(prediction.seconds):
        return "prediction: the run would never end"
    low, high = prediction.seconds_p10, prediction.seconds_p90
    spread = f" ({range_text(low, high)} for 8 in 10 draws of the rates)" if high > low else ""
    notes = [f"takes {duration_text(prediction.seconds)}{spread}"]
    within, rate = options.steering.adaptive, options.limits.rate
    if within is not None:
        notes.append(
            "at the lowest rate of its throttle"
            if rate is None or rate <= within.low
            else f"at {bytes_text(rate)}/s, with which its throttle begins"
        )
    if options.steering.windows:
        notes.append("without the time outside its windows")
    ends = end_text(run.ends_at, options.steering)
    return f"prediction: {', '.join(notes)}{'; ' if ends else ''}{ends}"


def end_text(ends_at: float | None, steering: Steering) -> str:
    """When a run that begins now ends, in its windows; empty where nothing holds it back."""
    if ends_at is None:
        return ""
    if steering.until is not None and ends_at > steering.until:
        return f"does not end by {_moment(steering.until)}, when it starts no more moves"
    within = " in its windows" if steering.windows else ""
    if not isfinite(ends_at):
        return f"does not end within a year{within}"
    return f"ends about {_moment(ends_at)}{within}"


def end_fields(ends_at: float | None, steering: Steering) -> Row:
    """The same for programs."""
    until = steering.until
    return {
        "ends_at": None if ends_at is None or not isfinite(ends_at) else _moment(ends_at),
        "ends_in_time": None if until is None or ends_at is None else ends_at <= until,
    }


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def range_text(low: float, high: float) -> str:
    """Two durations, rounded away from each other; the second may be infinite."""
    last = duration_text(ceil(high)) if isfinite(high) else "never"
    return f"{duration_text(floor(low))} to {last}"


def prediction_lines(prediction: Prediction) -> list[str]:
    """What an operator wants to know first, one line each."""
    return [
        *_time_lines(prediction),
        *_disk_lines(prediction.disks),
        *_broker_lines(prediction.brokers),
        *_replica_lines(prediction),
        *(f"problem  {each.what}" for each in prediction.problems[1:]),  # the first is the refusal
        *(f"assumed  {each}" for each in prediction.assumptions),
    ]


def _time_lines(prediction: Prediction) -> list[str]:
    low, high = prediction.seconds_p10, prediction.seconds_p90
    copied = f"{len(prediction.moves)} moves, {bytes_text(prediction.bytes_copied)} to copy"
    if not isfinite(prediction.seconds):
        return [f"takes    for ever: {copied}"]
    spread = f", p10 to p90: {range_text(low, high)}" if high > low else ""
    lines = [f"takes    {duration_text(prediction.seconds)}{spread}; {copied}"]
    if prediction.over_bound is not None:
        lines.append(
            f"bound    {duration_text(prediction.bound_seconds)}: {prediction.bound_by}; the moves "
            f"take {prediction.over_bound:.3f} times that"
        )
    return lines


def _disk_lines(disks: Sequence[DiskPeak]) -> list[str]:
    known = [each for each in disks if each.capacity]
    if not known:
        return ["disks    no capacities known"] if disks else []
    fullest = max(known, key=lambda each: each.share or 0.0)
    where = f"broker {fullest.broker}" + (f" {fullest.log_dir}" if fullest.log_dir else "")
    before = fullest.before / (fullest.capacity or 1.0)
    share = f"disks    fullest on the way: {where} at {100 * (fullest.share or 0.0):.0f} %"
    if fullest.peak <= fullest.before:
        return [f"{share}, as it is now"]
    return [f"{share} after {duration_text(fullest.at)} ({100 * before:.0f} % before)"]


def _broker_lines(brokers: Sequence[BrokerPeak]) -> list[str]:
    if not brokers:
        return []
    into = max(brokers, key=lambda each: each.in_flight_in)
    out = max(brokers, key=lambda each: each.in_flight_out)
    share, broker = max((max(each.link_in, each.link_out), each.broker) for each in brokers)
    taken = max(max(each.from_clients_in, each.from_clients_out) for each in brokers)
    clients = f"clients give up to {100 * taken:.0f} % of a link" if taken else "clients lose none"
    return [
        f"flight   at most {bytes_text(into.in_flight_in)} at once into broker {into.broker}, "
        f"{bytes_text(out.in_flight_out)} out of broker {out.broker}",
        f"links    copies take at most {100 * share:.0f} % of a link (broker {broker}); {clients}",
    ]


def _replica_lines(prediction: Prediction) -> list[str]:
    times = [
        (seconds, each.change.tp)
        for each in prediction.moves
        if (seconds := each.under_replicated_seconds)
    ]
    if not times:
        return []
    longest, tp = max(times)
    return [
        f"replicas {len(times)} partitions have more replicas than in sync for a while, "
        f"{tp} the longest: {duration_text(longest)}"
    ]


# ---- for programs --------------------------------------------------------------------------------


def prediction_row(prediction: Prediction) -> Row:
    """The whole prediction; null where something never happens."""
    return {
        "seconds": _finite(prediction.seconds),
        "seconds_p10": _finite(prediction.seconds_p10),
        "seconds_p90": _finite(prediction.seconds_p90),
        "moving_seconds": _finite(prediction.moving_seconds),
        "bound_seconds": _finite(prediction.bound_seconds),
        "bound_by": prediction.bound_by,
        "over_bound": _finite(prediction.over_bound),
        "bytes_copied": prediction.bytes_copied,
        "problems": [_problem_row(each) for each in prediction.problems],
        "assumptions": list(prediction.assumptions),
        "moves": [
            {
                **each.change.tp._asdict(),
                "before": list(each.change.before),
                "after": list(each.change.after),
                "into": list(each.into),
                "bytes": each.bytes_copied,
                "start": each.start,
                "end": each.end,
                "under_replicated_seconds": each.under_replicated_seconds,
            }
            for each in prediction.moves
        ],
        "disks": [
            {
                "broker": each.broker,
                "log_dir": each.log_dir,
                "before": each.before,
                "peak": each.peak,
                "peak_at": each.at,
                "capacity": each.capacity,
                "share": each.share,
                "full_at": each.full_at,
            }
            for each in prediction.disks
        ],
        "brokers": [_broker_row(each) for each in prediction.brokers],
        "course": _course_row(prediction.course),
    }


def _problem_row(problem: Problem) -> Row:
    return {
        "kind": problem.kind.value,
        "what": problem.what,
        "hint": problem.hint,
        "broker": problem.broker,
        "log_dir": problem.log_dir,
        "at": problem.at,
        "rate_needed": problem.rate_needed,
    }


def _broker_row(peak: BrokerPeak) -> Row:
    return {
        "broker": peak.broker,
        "in_flight_out": peak.in_flight_out,
        "in_flight_in": peak.in_flight_in,
        "link_out": peak.link_out,
        "link_in": peak.link_in,
        "from_clients_out": peak.from_clients_out,
        "from_clients_in": peak.from_clients_in,
    }


def _course_row(course: Course) -> Row:
    return {
        "start": course.start,
        "step": course.step,
        "disks": [
            {"broker": each.broker, "log_dir": each.log_dir, "bytes": list(each.bytes)}
            for each in course.disks
        ],
        "brokers": [
            {
                "broker": each.broker,
                "in_flight_out": list(each.out),
                "in_flight_in": list(each.into),
            }
            for each in course.brokers
        ],
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
