"""Capacity answers for people and programs: tables, a sentence of reasons, and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kedge.analytics.capacity import (
    Amount,
    CapacityAnswer,
    CapacityQuestion,
    Count,
    Days,
    ResourceAnswer,
)
from kedge.analytics.forecast import DAY_S, HOUR_S
from kedge.report.amounts import bytes_text, duration_text
from kedge.report.chart_grid import chart_grid, page_of
from kedge.report.text_table import table_lines

NAMES = {"disk": "disk", "in": "bytes in", "out": "bytes out"}
NEVER = "not in 5 years"
GUESS_FACTOR = 4  # a forecast further ahead than so many histories is a guess
Row = dict[str, Any]


def capacity_row(cluster: str, answer: CapacityAnswer, question: CapacityQuestion) -> Row:
    """The answer about one cluster for programs; bytes, bytes per second and days."""
    return {
        "cluster": cluster,
        "as_of": _moment(answer.as_of).isoformat(),
        "by": _moment(question.by).date().isoformat(),
        "headroom": question.headroom,
        "history_days": answer.span_s / DAY_S,
        "brokers_now": answer.have,
        "brokers": [asdict(each) for each in answer.brokers],
        "resources": [_resource_row(each) for each in answer.resources],
        "what_if": [asdict(each) for each in answer.what_if],
        "why": capacity_reason(cluster, answer, question),
    }


def _resource_row(each: ResourceAnswer) -> Row:
    return {
        "resource": each.name,
        "now": each.now,
        "growth_per_day": each.growth_per_day,
        "pattern": str(each.pattern),
        "peak": asdict(each.peak),
        "capacity_per_broker": each.capacity,
        "brokers_needed": None if each.needed is None else asdict(each.needed),
        "brokers_spare": each.spare,
        "days_to_full": None if each.full is None else asdict(each.full),
        "days_to_headroom": None if each.headroom is None else asdict(each.headroom),
        "share_of_capacity": each.share,
    }


def capacity_lines(cluster: str, answer: CapacityAnswer, question: CapacityQuestion) -> list[str]:
    """Two tables, brokers and resources, and what adding brokers changes."""
    by = _moment(question.by).date().isoformat()
    seen = duration_text(answer.span_s)
    lines = [
        f"cluster {cluster}: as of {_moment(answer.as_of):%Y-%m-%d %H:%M} UTC, from {seen} of "
        f"history; ranges are 80 % intervals",
        "",
        *_broker_lines(answer, question),
        "",
        *_resource_lines(answer, by),
    ]
    if answer.what_if:
        lines += ["", *_what_if_lines(answer, question, by)]
    return [*lines, "", capacity_reason(cluster, answer, question)]


def _broker_lines(answer: CapacityAnswer, question: CapacityQuestion) -> list[str]:
    header = (
        "broker",
        "disk",
        "used",
        "",
        "a day",
        "full in",
        f"{_percent(question.headroom)} left in",
    )
    rows = [
        (
            str(each.broker),
            "?" if each.disk_capacity is None else bytes_text(each.disk_capacity),
            bytes_text(each.used),
            "" if each.disk_capacity is None else _percent(each.used / each.disk_capacity),
            _signed(each.growth_per_day),
            days_text(each.full),
            days_text(each.headroom),
        )
        for each in answer.brokers
    ]
    return table_lines(header, rows, right=(0, 1, 2, 3, 4))


def _resource_lines(answer: CapacityAnswer, by: str) -> list[str]:
    header = (
        "cluster",
        "now",
        "a day",
        f"peak by {by}",
        "of capacity",
        "brokers needed",
        "",
        "full in",
    )
    rows = [
        (
            NAMES[each.name],
            _load(each.now, each.name),
            _signed(each.growth_per_day, each.name),
            _amount(each.peak, each.name),
            "?" if each.share is None else _percent(each.share),
            "?" if each.needed is None else _count(each.needed),
            _spare(each.spare),
            days_text(each.full),
        )
        for each in answer.resources
    ]
    return table_lines(header, rows, right=(1, 2, 4))


def _what_if_lines(answer: CapacityAnswer, question: CapacityQuestion, by: str) -> list[str]:
    more, share = f"with {question.add} more", f"of capacity by {by}"
    header = (more, "brokers", share, "full in", f"{_percent(question.headroom)} left in")
    rows = [
        (
            NAMES[each.name],
            str(each.brokers),
            "?" if each.share is None else _percent(each.share),
            days_text(each.full),
            days_text(each.headroom),
        )
        for each in answer.what_if
    ]
    return table_lines(header, rows, right=(1, 2))


def capacity_reason(cluster: str, answer: CapacityAnswer, question: CapacityQuestion) -> str:
    """The sentence of reasons: what is full first, and what decides the number of brokers."""
    parts = [_first_full(answer)]
    by = _moment(question.by).date().isoformat()
    rated = [(each.needed.expected, each) for each in answer.resources if each.needed is not None]
    if rated:
        most, each = max(rated, key=lambda pair: pair[0])
        verdict = f"{abs(answer.have - most)} {'spare' if most <= answer.have else 'missing'}"
        parts.append(
            f"by {by} {cluster} needs {_brokers(most)} for {NAMES[each.name]} with "
            f"{_percent(question.headroom)} headroom, {verdict} of {answer.have}"
        )
        if most == question.replicas_max:
            parts.append(f"fewer than {most} cannot hold {most} replicas of a partition")
    rates = (each for each in answer.resources if each.name != "disk")
    unknown = [NAMES[each.name] for each in rates if each.capacity is None]
    if unknown:
        parts.append(f"no capacity given for {', '.join(unknown)}")
    if answer.disk_usable is not None and question.largest_replica > answer.disk_usable:
        parts.append(
            f"the largest replica, {bytes_text(question.largest_replica)}, fits on no broker "
            "within the headroom, however many there are"
        )
    if question.by - answer.as_of > GUESS_FACTOR * answer.span_s:
        parts.append(f"{duration_text(answer.span_s)} of history say little about that date")
    return "; ".join(parts)


def _first_full(answer: CapacityAnswer) -> str:
    first = answer.first_full
    sized = [each.disk_capacity is not None for each in answer.brokers]
    if not any(sized):
        return "disk sizes are not known: give --disk"
    if first is None or first.full is None or first.disk_capacity is None:
        disk = "disk" if all(sized) else "disk of known size"
        return f"no {disk} fills up within five years as it grows now"
    others = "" if all(sized) else " of those with a known disk size"
    return (
        f"broker {first.broker} is full first{others}, in {days_text(first.full)}: "
        f"{_percent(first.used / first.disk_capacity)} of its disk are used and "
        f"{bytes_text(first.growth_per_day)} more a day"
    )


def days_text(days: Days | None) -> str:
    """`12.3 days (9.8 to 17)`."""
    if days is None:
        return "?"
    if days.expected is None:
        return NEVER if days.soonest is None else f"{NEVER} (from {days.soonest:.3g} days)"
    low = "?" if days.soonest is None else f"{days.soonest:.3g}"
    high = "never" if days.latest is None else f"{days.latest:.3g}"
    spread = "" if low == high else f" ({low} to {high})"
    return f"{days.expected:.3g} days{spread}"


def _brokers(count: int) -> str:
    return f"{count} broker{'s' if count != 1 else ''}"


def _count(count: Count) -> str:
    if count.low == count.high:
        return str(count.expected)
    return f"{count.expected} ({count.low} to {count.high})"


def _spare(spare: int | None) -> str:
    if spare is None:
        return ""
    return f"{spare} spare" if spare >= 0 else f"{-spare} missing"


def _amount(amount: Amount, resource: str) -> str:
    low, high = _load(amount.low, resource), _load(amount.high, resource)
    return f"{_load(amount.expected, resource)} ({low} to {high})"


def _load(value: float, resource: str) -> str:
    return bytes_text(value) if resource == "disk" else f"{bytes_text(value)}/s"


def _signed(value: float, resource: str = "disk") -> str:
    return f"{'-' if value < 0 else '+'}{_load(abs(value), resource)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def capacity_html(
    answers: Mapping[str, CapacityAnswer], question: CapacityQuestion, names: Sequence[str]
) -> str:
    """History, forecast and capacity of each resource, a row of charts for each cluster."""
    titles = [f"{cluster}: {NAMES[name]}" for cluster in answers for name in names]
    figure = chart_grid(titles, columns=len(names))
    for row, answer in enumerate(answers.values(), start=1):
        for each in answer.resources:
            column = list(names).index(each.name) + 1
            _draw(figure, each, answer.have, question, {"row": row, "col": column})
    return page_of(figure, "Load, forecast and capacity", rows=len(answers))


def _draw(
    figure: Any, each: ResourceAnswer, have: int, question: CapacityQuestion, place: Row
) -> None:
    last = each.model.origin
    step = max(HOUR_S, (question.by - last) / 2_000)
    ahead = np.arange(last, question.by + step, step)
    past = [_moment(time) for time in each.times.tolist()]
    times = [_moment(time) for time in ahead.tolist()]
    high, low = each.model.high(ahead), each.model.low(ahead)
    figure.add_scatter(x=past, y=each.values.tolist(), name="measured", **place)
    figure.add_scatter(x=times, y=high.tolist(), line_width=0, hoverinfo="skip", **place)
    figure.add_scatter(
        x=times, y=low.tolist(), line_width=0, fill="tonexty", name="80 % interval", **place
    )
    figure.add_scatter(x=times, y=each.model.at(ahead).tolist(), name="forecast", **place)
    if each.capacity is not None:
        for share, label in ((1.0, "capacity"), (1 - question.headroom, "with headroom")):
            level = each.capacity * have * share
            figure.add_hline(y=level, line_dash="dot", annotation_text=label, **place)
