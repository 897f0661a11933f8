"""What an operator chooses for a run besides its throttle and slots, and may change on the way.

log_dir_rate     bytes per second of copies between log directories; None: the run's rate
adaptive         the range that the throttle adapts within (`adaptive_throttle`)
windows          the hours in which moves start (`windows`)
hard_window      moves under way at the end of a window are cancelled
until            no move starts after this moment
stuck_after_s    a move without new bytes for so long is stuck (`stuck_moves`)
cancel_stuck     stuck moves are cancelled
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kedge.execution import json_fields as fields
from kedge.execution.windows import Window, is_open, next_change, parse_window

STUCK_AFTER_S = 900.0


class RateRange(NamedTuple):
    """Bytes per second and broker: the least and the most that a throttle adapts to."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Steering:
    """How a run is steered; every default leaves it alone."""

    log_dir_rate: int | None = None
    adaptive: RateRange | None = None
    windows: tuple[Window, ...] = ()
    hard_window: bool = False
    until: float | None = None
    stuck_after_s: float = STUCK_AFTER_S
    cancel_stuck: bool = False

    def to_json(self) -> dict[str, Any]:
        """As an object of the journal."""
        return {
            "log_dir_rate": self.log_dir_rate,
            "adaptive": self.adaptive and list(self.adaptive),
            "windows": [str(each) for each in self.windows],
            "hard_window": self.hard_window,
            "until": self.until,
            "stuck_after_s": self.stuck_after_s,
            "cancel_stuck": self.cancel_stuck,
        }


def steering_from(value: Mapping[str, Any]) -> Steering:
    """From an object of the journal; raises ValueError, TypeError or KeyError."""
    until = value.get("until")
    return Steering(
        fields.whole_or_none(value.get("log_dir_rate")),
        range_from(value.get("adaptive")),
        tuple(parse_window(fields.text(each)) for each in fields.items(value.get("windows", []))),
        fields.flag(value.get("hard_window", False)),
        None if until is None else fields.seconds(until),
        fields.seconds(value.get("stuck_after_s", STUCK_AFTER_S)),
        fields.flag(value.get("cancel_stuck", False)),
    )


def range_from(value: Any) -> RateRange | None:
    """A range as the journal has it."""
    if value is None:
        return None
    low, high = map(fields.whole, fields.items(value))
    if not 0 < low <= high:
        raise ValueError("not a range of rates")
    return RateRange(low, high)


def hold_reason(steering: Steering, paused: bool, now: float) -> str:
    """Why no move may start now; empty where one may."""
    if paused:
        return "paused with kedge pause; kedge continue goes on"
    if is_open(steering.windows, now):
        return ""
    named = ", ".join(map(str, steering.windows))
    opens = next_change(steering.windows, now)
    if opens is None:
        return f"outside of window {named}"
    moment = datetime.fromtimestamp(opens, UTC)
    return f"outside of window {named} (opens {moment:%Y-%m-%d %H:%M} UTC)"
