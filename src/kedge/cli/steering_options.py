"""Options that steer a run: windows of time, the throttle of log directories, stuck moves."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.errors import InvalidRequest
from kedge.model.parse_amounts import duration_s, parse_rate

if TYPE_CHECKING:
    from kedge.execution import RateRange, Steering
    from kedge.execution.windows import Window

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d(?:\[([^\]]+)\])?")
DURATION_MAX_S = 30 * 86_400.0


LogDirThrottleOption = Annotated[
    str,
    typer.Option(
        "--log-dir-throttle",
        help="Bytes per second of copies between log directories; like --throttle by default",
    ),
]


WindowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--window",
        help="Start moves only in these hours, like 01:00-05:00[Europe/Berlin]; repeatable",
    ),
]
UntilOption = Annotated[
    str,
    typer.Option("--until", help="Stop at this time: 05:00[Europe/Berlin], or 2026-11-17T05:00Z"),
]


@dataclass(frozen=True)
class SteeringOptions:
    """What an operator may choose besides the throttle."""

    log_dir_throttle: LogDirThrottleOption = ""
    window: WindowOption = None
    hard_window: Annotated[
        bool,
        typer.Option(
            "--hard-window", help="Cancel the moves under way when a window or --until ends"
        ),
    ] = False
    until: UntilOption = ""
    stuck_after: Annotated[
        str,
        typer.Option("--stuck-after", help="A move without new bytes for so long is stuck; 15m"),
    ] = ""
    cancel_stuck: Annotated[
        bool, typer.Option("--cancel-stuck", help="Cancel stuck moves and go on with the rest")
    ] = False


def steering_of(
    options: SteeringOptions | None,
    adaptive: RateRange | None,
    base: Steering | None = None,
    now: float | None = None,
) -> Steering:
    """The choices of an operator; what is not typed is as in `base`, or as by default."""
    from kedge.execution import Steering

    base, options = base or Steering(), options or SteeringOptions()
    now = time.time() if now is None else now
    until = parse_until(options.until, now) if options.until else base.until
    stuck = parse_duration(options.stuck_after, "--stuck-after") if options.stuck_after else None
    rate = options.log_dir_throttle
    return Steering(
        log_dir_rate=parse_rate(rate, "--log-dir-throttle") if rate else base.log_dir_rate,
        adaptive=adaptive,
        windows=_windows(options.window) if options.window else base.windows,
        hard_window=options.hard_window or base.hard_window,
        until=None if until is None or until <= now else until,
        stuck_after_s=base.stuck_after_s if stuck is None else stuck,
        cancel_stuck=options.cancel_stuck or base.cancel_stuck,
    )


def _windows(texts: list[str]) -> tuple[Window, ...]:
    from kedge.execution.windows import parse_window

    return tuple(parse_window(each) for each in texts)


def parse_until(text: str, now: float) -> float:
    """A moment in the future, in seconds since 1970."""
    from kedge.execution.windows import moment_after

    hint = "write 05:00, 05:00[Europe/Berlin] or 2026-11-17T05:00Z"
    if found := CLOCK.fullmatch(text.strip()):
        return moment_after(now, text.strip()[:5], found[2] or "UTC")
    try:
        parsed = datetime.fromisoformat(text.strip())
        moment = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as bad:
        raise InvalidRequest(f"--until: {text!r} is not a time", hint=hint) from bad
    if moment <= now:
        raise InvalidRequest(f"--until: {text!r} has passed", hint=hint)
    return moment


def parse_duration(text: str, option: str) -> float:
    """Seconds, from a text like 90s, 15m or 2h."""
    seconds = duration_s(text.strip(), SECONDS) or 0.0
    if not 0 < seconds <= DURATION_MAX_S:
        raise InvalidRequest(
            f"{option}: {text!r} is not a duration of up to 30 days", hint="write it like 15m"
        )
    return seconds
