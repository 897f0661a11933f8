"""Lines and rows of what steers a run: requests, rates that have changed, windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kedge.apply import Requested
from kedge.execution import RateChange, RateRange, RequestKind, RunRecord, Steering
from kedge.report.amounts import bytes_text

SHOWN = 5


def requested_lines(done: Requested) -> list[str]:
    """What came of a request to a run."""
    run, reply = done.run.name, done.reply
    if reply.refused:
        return [f"Run {run} {reply.refused}"]
    match done.request.kind:
        case RequestKind.PAUSE:
            return [f"Run {run} starts no more moves; kedge continue goes on"]
        case RequestKind.CONTINUE:
            return [f"Run {run} goes on"]
        case RequestKind.LEAVE:
            return [f"Run {run} is left to another process"]
        case RequestKind.RATE:
            lines = [f"Run {run}: {_rates_text(done)}"]
    if reply.unconfirmed:
        lines.append(f"not confirmed by broker {', '.join(reply.unconfirmed)}")
    elif done.at_work:
        lines.append("confirmed by every broker")
    if not done.at_work:
        lines.append("No process is at work on it; kedge resume uses the new rate")
    return lines


def _rates_text(done: Requested) -> str:
    request, parts = done.request, list[str]()
    if request.adaptive is not None:
        low, high = request.adaptive
        parts.append(f"throttle adapts between {bytes_text(low)}/s and {bytes_text(high)}/s")
    elif request.rate is not None:
        parts.append(f"throttle {bytes_text(request.rate)}/s in and out of each broker")
    if request.log_dir_rate is not None:
        parts.append(f"{bytes_text(request.log_dir_rate)}/s between log directories")
    return ", ".join(parts)


def requested_row(done: Requested) -> dict[str, Any]:
    """The same for programs."""
    return {
        "run": done.run.name,
        "request": done.request.kind.value,
        "rate": done.request.rate,
        "log_dir_rate": done.request.log_dir_rate,
        "adaptive": done.request.adaptive and list(done.request.adaptive),
        "at_work": done.at_work,
        "unconfirmed": list(done.reply.unconfirmed),
        "refused": done.reply.refused,
    }


# ---- before and after ---------------------------------------------------------------------------


def adaptive_line(rate: int, within: RateRange) -> str:
    """A throttle that adapts, before the run starts."""
    return (
        f"throttle adapts between {bytes_text(within.low)}/s and {bytes_text(within.high)}/s in "
        f"and out of each broker, beginning with {bytes_text(rate)}/s"
    )


def window_lines(steering: Steering) -> list[str]:
    """When moves may start."""
    lines: list[str] = []
    ends = "are cancelled" if steering.hard_window else "may end later"
    if steering.windows:
        named = ", ".join(map(str, steering.windows))
        lines.append(f"moves start in {named}; those under way at its end {ends}")
    if steering.until is not None:
        lines.append(f"no move starts after {_time(steering.until)}; those under way {ends}")
    return lines


def rate_change_lines(changes: Sequence[RateChange]) -> list[str]:
    """The last changes of a throttle."""
    return _change_lines(rate_change_rows(changes))


def _change_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return []
    times = "once" if len(rows) == 1 else f"{len(rows)} times"
    more = f" (the last {SHOWN})" if len(rows) > SHOWN else ""
    return [
        f"throttle changed {times}{more}:",
        *(f"  {r['at']}  {bytes_text(r['rate'])}/s  {r['why']}" for r in rows[-SHOWN:]),
    ]


def rate_change_rows(changes: Sequence[RateChange]) -> list[dict[str, Any]]:
    """The same for programs, all of them."""
    return [{"at": _time(each.at), "rate": each.rate, "why": each.why} for each in changes]


# ---- status -------------------------------------------------------------------------------------


def steering_fields(record: RunRecord) -> dict[str, Any]:
    """How a run is steered, for its status."""
    steering = record.steering
    return {
        "why": record.why,
        "adaptive": steering.adaptive and list(steering.adaptive),
        "log_dir_rate": steering.log_dir_rate,
        "windows": [str(each) for each in steering.windows],
        "until": None if steering.until is None else _time(steering.until),
        "rate_changes": rate_change_rows(record.rate_changes),
        "set_aside": [tp._asdict() | {"why": why} for tp, why in sorted(record.set_aside.items())],
    }


def steering_lines(row: Mapping[str, Any]) -> list[str]:
    """The same as lines."""
    lines: list[str] = []
    if row["why"]:
        lines.append(row["why"])
    if row["adaptive"]:
        low, high = row["adaptive"]
        lines.append(f"throttle adapts between {bytes_text(low)}/s and {bytes_text(high)}/s")
    if row["windows"]:
        lines.append(f"moves start in {', '.join(row['windows'])}")
    lines += [f"set aside: {r['topic']}-{r['partition']}: {r['why']}" for r in row["set_aside"]]
    return lines + _change_lines(row["rate_changes"])


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
