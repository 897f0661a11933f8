"""Windows of time in which moves may start: `01:00-05:00[Europe/Berlin]`, every day.

A window is from the first moment at which the clocks of its zone reach its start until the first
moment after that at which they reach its end. So it opens and closes once a day, also where clocks
are changed:

    02:30-04:00, clocks go from 02:00 to 03:00    opens at 03:00, when 02:30 is first passed
    01:00-02:30, clocks go from 03:00 to 02:00    closes at the first 02:30
    22:00-02:00                                   is open over midnight

Without a zone the times are UTC. The end 24:00 is the midnight after the day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import inf
from zoneinfo import ZoneInfo

from kedge.errors import InvalidRequest

FORM = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)(?:\[([A-Za-z0-9_+\-/]+)\])?")
MINUTES_OF_DAY = 24 * 60
OPEN_HORIZON_S = 400 * 86_400.0
HORIZON_DAYS = 2  # windows open every day, so that the next change is sooner, or never
HINT = "write it like 01:00-05:00[Europe/Berlin]"


@dataclass(frozen=True, slots=True)
class Window:
    """Hours of every day, in minutes since midnight on the clocks of a zone."""

    start: int
    end: int
    zone: str = "UTC"

    def __str__(self) -> str:
        return f"{_clock(self.start)}-{_clock(self.end)}[{self.zone}]"


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def parse_window(text: str) -> Window:
    """A window from its text; raises InvalidRequest."""
    found = FORM.fullmatch(text.strip())
    if found is None:
        raise InvalidRequest(f"{text!r} is not a window of time", hint=HINT)
    start, end = (int(found[at]) * 60 + int(found[at + 1]) for at in (1, 3))
    bad_minutes = int(found[2]) > 59 or int(found[4]) > 59
    if bad_minutes or start >= MINUTES_OF_DAY or end > MINUTES_OF_DAY:
        raise InvalidRequest(f"{text!r} has a time that no clock shows", hint=HINT)
    if start == end:
        raise InvalidRequest(
            f"{text!r} is empty", hint="the whole day is 00:00-24:00, or no window at all"
        )
    return Window(start, end, zone_named(found[5] or "UTC").key)


def zone_named(name: str) -> ZoneInfo:
    """A zone of the IANA database; raises InvalidRequest."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as unknown:
        raise InvalidRequest(
            f"{name!r} is not a time zone", hint="name one like Europe/Berlin or UTC"
        ) from unknown


def is_open(windows: Sequence[Window], now: float) -> bool:
    """Whether moves may start now; always where there is no window."""
    return not windows or any(start <= now < end for start, end in _spans(windows, now))


def next_change(windows: Sequence[Window], now: float) -> float | None:
    """The next moment at which the windows open or close; None if they never do."""
    last = now + HORIZON_DAYS * 86_400
    edges = [edge for span in _spans(windows, now) for edge in span if now < edge <= last]
    return min(edges, default=None)


def moment_after_open_s(windows: Sequence[Window], now: float, seconds: float) -> float:
    """The moment at which windows have been open for so long; infinite if that takes years."""
    if not windows:
        return now + seconds
    at, left = now, seconds
    while at - now <= OPEN_HORIZON_S:
        change = next_change(windows, at)
        if is_open(windows, at):
            if change is None or change - at >= left:
                return at + left
            left -= change - at
        if change is None:  # they never open
            return inf
        at = change
    return inf


def moment_after(now: float, clock: str, zone: str) -> float:
    """The next moment at which the clocks of a zone show a time like 05:00."""
    hours, minutes = map(int, clock.split(":"))
    known = zone_named(zone)
    today = datetime.fromtimestamp(now, known).date()
    days = (today + timedelta(days=ahead) for ahead in (-1, 0, 1, 2))
    moments = (_moment(known, day, hours * 60 + minutes) for day in days)
    return next(each for each in moments if each > now)


def _spans(windows: Iterable[Window], now: float) -> list[tuple[float, float]]:
    """When the windows are open around a moment; those that touch or overlap are one."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(span for window in windows for span in _days_of(window, now)):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _days_of(window: Window, now: float) -> list[tuple[float, float]]:
    zone = zone_named(window.zone)
    today = datetime.fromtimestamp(now, zone).date()
    days = [today + timedelta(days=ahead) for ahead in range(-2, HORIZON_DAYS + 3)]
    crosses = 1 if window.end < window.start else 0
    found = [
        (_moment(zone, day, window.start), _moment(zone, day + timedelta(days=crosses), window.end))
        for day in days
    ]
    # One that lies within the hour which clocks skip is empty.
    return [(start, end) for start, end in found if start < end]


def _moment(zone: ZoneInfo, day: date, minutes: int) -> float:
    """The first moment at which the clocks of a zone show a time of a day, or a later one."""
    local = datetime(day.year, day.month, day.day) + timedelta(minutes=minutes)
    late = local.replace(tzinfo=zone, fold=0).timestamp()
    early = local.replace(tzinfo=zone, fold=1).timestamp()
    if early >= late:  # it exists; twice where clocks are set back, and the first one counts
        return late
    # Clocks skip it: they pass it at the moment of the change, which lies in between.
    low, high = int(early), int(late)
    before = _offset(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
    return float(high)


def _offset(zone: ZoneInfo, at: int) -> timedelta | None:
    return datetime.fromtimestamp(at, UTC).astimezone(zone).utcoffset()
