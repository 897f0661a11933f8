"""Windows of time, on both days of the year on which clocks are changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import inf
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidRequest
from kedge.execution.steering import Steering, hold_reason
from kedge.execution.windows import (
    Window,
    is_open,
    moment_after,
    moment_after_open_s,
    next_change,
    parse_window,
)

BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def changes(text: str, since: str, count: int) -> list[str]:
    """The next moments, in UTC, at which a window opens or closes."""
    windows, now, found = [parse_window(text)], utc(since), list[str]()
    for _ in range(count):
        at = next_change(windows, now)
        assert at is not None
        assert is_open(windows, at) != is_open(windows, at - 1)
        found.append(datetime.fromtimestamp(at, UTC).strftime("%d %H:%M"))
        now = at
    return found


@pytest.mark.parametrize(
    ("window", "since", "expected"),
    [
        ("01:00-05:00", "2026-06-10T00:00", ["10 01:00", "10 05:00", "11 01:00"]),
        ("01:00-05:00[Europe/Berlin]", "2026-06-10T00:00", ["10 03:00", "10 23:00", "11 03:00"]),
        ("22:00-02:00", "2026-06-10T12:00", ["10 22:00", "11 02:00", "11 22:00"]),
        ("22:00-02:00", "2026-06-10T01:00", ["10 02:00", "10 22:00", "11 02:00"]),
        ("20:00-24:00", "2026-06-10T12:00", ["10 20:00", "11 00:00", "11 20:00"]),
        # Clocks go from 02:00 to 03:00 on 29 March 2026, at 01:00 UTC.
        ("01:00-05:00[Europe/Berlin]", "2026-03-28T12:00", ["29 00:00", "29 03:00", "29 23:00"]),
        ("02:30-04:00[Europe/Berlin]", "2026-03-28T12:00", ["29 01:00", "29 02:00", "30 00:30"]),
        ("01:00-02:30[Europe/Berlin]", "2026-03-28T12:00", ["29 00:00", "29 01:00", "29 23:00"]),
        # A window inside of the hour that is skipped does not open on that day.
        ("02:10-02:50[Europe/Berlin]", "2026-03-28T12:00", ["30 00:10", "30 00:50"]),
        # Clocks go from 03:00 back to 02:00 on 25 October 2026, at 01:00 UTC.
        ("01:00-05:00[Europe/Berlin]", "2026-10-24T12:00", ["24 23:00", "25 04:00", "26 00:00"]),
        ("01:00-02:30[Europe/Berlin]", "2026-10-24T12:00", ["24 23:00", "25 00:30", "26 00:00"]),
        ("02:30-04:00[Europe/Berlin]", "2026-10-24T12:00", ["25 00:30", "25 03:00", "26 01:30"]),
        ("23:00-01:00[Europe/Berlin]", "2026-10-24T12:00", ["24 21:00", "24 23:00", "25 22:00"]),
    ],
)
def test_a_window_opens_and_closes_once_a_day(window: str, since: str, expected: list[str]) -> None:
    assert changes(window, since, len(expected)) == expected


@pytest.mark.parametrize(
    ("windows", "since", "hours", "expected"),
    [
        ((), "2026-06-10T00:00", 30, "2026-06-11T06:00"),
        (("01:00-05:00",), "2026-06-10T02:00", 3, "2026-06-10T05:00"),
        (("01:00-05:00",), "2026-06-10T02:00", 4, "2026-06-11T02:00"),
        (("01:00-05:00", "20:00-21:00"), "2026-06-10T12:00", 6, "2026-06-11T20:59:59"),
        (("22:00-02:00",), "2026-06-10T12:00", 9, "2026-06-12T23:00"),
        (("01:00-05:00",), "2026-06-10T00:00", 400, "2026-09-17T05:00"),
        # Clocks go from 02:00 to 03:00: that night has an hour less.
        (("01:00-05:00[Europe/Berlin]",), "2026-03-28T12:00", 4, "2026-03-30T00:00"),
    ],
)
def test_open_hours_add_up_to_a_moment(
    windows: tuple[str, ...], since: str, hours: float, expected: str
) -> None:
    parsed = [parse_window(each) for each in windows]
    found = moment_after_open_s(parsed, utc(since), hours * 3600)
    assert found == pytest.approx(utc(expected), abs=1)


def test_what_takes_years_of_windows_has_no_moment() -> None:
    assert moment_after_open_s([parse_window("01:00-02:00")], 0.0, 500 * 3600.0) == inf


def test_windows_that_touch_are_one() -> None:
    windows = [
        parse_window("22:00-24:00"),
        parse_window("00:00-03:00"),
        parse_window("02:00-04:00"),
    ]
    assert is_open(windows, utc("2026-06-10T23:59:59"))
    assert next_change(windows, utc("2026-06-10T23:00")) == utc("2026-06-11T04:00")


@pytest.mark.parametrize("windows", [[], [Window(0, 24 * 60)], [Window(0, 720), Window(720, 0)]])
def test_what_is_always_open_never_changes(windows: list[Window]) -> None:
    assert is_open(windows, utc("2026-06-10T00:00"))
    assert next_change(windows, utc("2026-06-10T00:00")) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("01:00-01:00", "is empty"),
        ("00:00-00:00", "is empty"),
        ("25:00-26:00", "no clock shows"),
        ("01:60-02:00", "no clock shows"),
        ("24:00-02:00", "no clock shows"),
        ("01:00-24:01", "no clock shows"),
        ("1-5", "is not a window"),
        ("", "is not a window"),
        ("01:00-05:00[Mars/Base]", "is not a time zone"),
        ("01:00-05:00[../../etc/passwd]", "is not a window"),
        ("01:00-05:00[/etc/passwd]", "is not a time zone"),
        ("01:00-05:00[Europe]", "is not a time zone"),
    ],
)
def test_bad_windows_are_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        parse_window(text)


def test_a_window_is_written_as_it_is_read() -> None:
    assert str(parse_window("22:05-02:00[Europe/Berlin]")) == "22:05-02:00[Europe/Berlin]"
    assert str(parse_window("00:00-24:00")) == "00:00-24:00[UTC]"


@pytest.mark.parametrize(
    ("now", "clock", "zone", "expected"),
    [
        ("2026-06-10T04:00", "05:00", "UTC", "2026-06-10T05:00"),
        ("2026-06-10T05:00", "05:00", "UTC", "2026-06-11T05:00"),
        ("2026-06-10T22:30", "01:00", "Europe/Berlin", "2026-06-10T23:00"),
        ("2026-03-28T12:00", "02:30", "Europe/Berlin", "2026-03-29T01:00"),
    ],
)
def test_the_next_time_on_a_clock(now: str, clock: str, zone: str, expected: str) -> None:
    assert moment_after(utc(now), clock, zone) == utc(expected)


def test_the_reason_says_when_the_window_opens() -> None:
    steering = Steering(windows=(parse_window("01:00-05:00[Europe/Berlin]"),))
    assert hold_reason(steering, False, utc("2026-06-10T00:00")) == ""
    closed = hold_reason(steering, False, utc("2026-06-10T04:00"))
    assert closed == ("outside of window 01:00-05:00[Europe/Berlin] (opens 2026-06-10 23:00 UTC)")
    assert "kedge continue" in hold_reason(steering, True, utc("2026-06-10T00:00"))


minutes = st.integers(0, 24 * 60 - 1)
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"])


@given(minutes, minutes, zones, st.integers(0, 500 * 24 * 60))
def test_a_window_is_open_by_the_clocks_of_its_zone(
    start: int, end: int, zone: str, minute: int
) -> None:
    """On days without a change of clocks, wall-clock arithmetic is enough."""
    if start == end:
        return
    now = utc("2026-01-01T00:00") + 60 * minute
    local = datetime.fromtimestamp(now, ZoneInfo(zone))
    days = {(local + timedelta(days=ahead)).utcoffset() for ahead in (-2, -1, 0, 1, 2)}
    if len(days) > 1:
        return
    at = local.hour * 60 + local.minute
    inside = start <= at < end if start < end else at >= start or at < end
    assert is_open([Window(start, end, zone)], now) == inside
