"""Lines and rows of what steers a run: requests, rates that have changed, windows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from kedge.apply import Requested
from kedge.execution import RateChange, RequestKind
from kedge.report.amounts import bytes_text


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


def rate_change_lines(changes: Sequence[RateChange], shown: int = 5) -> list[str]:
    """The last changes of a throttle."""
    if not changes:
        return []
    times = "once" if len(changes) == 1 else f"{len(changes)} times"
    more = f" (the last {shown})" if len(changes) > shown else ""
    return [
        f"throttle changed {times}{more}:",
        *(f"  {_time(at)}  {bytes_text(rate)}/s  {why}" for at, rate, why in changes[-shown:]),
    ]


def rate_change_rows(changes: Sequence[RateChange]) -> list[dict[str, Any]]:
    """The same for programs, all of them."""
    return [{"at": _time(at), "rate": rate, "why": why} for at, rate, why in changes]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
