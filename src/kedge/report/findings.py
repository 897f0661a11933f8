"""Rows, lines and pictures of findings, and of the accounts of ingested rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from kedge.analytics.finding_groups import Change, FindingGroup
from kedge.analytics.findings import Finding, Remembered
from kedge.analytics.slow_brokers import SlowBroker
from kedge.pipeline.manifest import Accounts
from kedge.report.chart_grid import chart_grid, page_of
from kedge.report.text_table import table_lines

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 24
COLUMNS = 2
TITLE_MAX = 90


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """A course as a row of bars, from the least value to the greatest; empty without values."""
    if not values:
        return ""
    count = min(width, len(values))
    edges = [place * len(values) // count for place in range(count + 1)]
    drawn = [_mean(values[a:b]) for a, b in pairwise(edges)]
    low, high = min(drawn), max(drawn)
    if high == low:
        return BARS[3] * len(drawn)
    scale = (len(BARS) - 1) / (high - low)
    return "".join(BARS[round((value - low) * scale)] for value in drawn)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def finding_row(one: Finding, known: Remembered | None = None) -> dict[str, Any]:
    """A finding for programs, with what is remembered of it."""
    return {
        **asdict(one),
        "first_seen": None if known is None else known.first_seen.isoformat(),
        "previous_value": None if known is None else known.previous,
    }


def group_row(group: FindingGroup, course: Sequence[float]) -> dict[str, Any]:
    """A group for programs: the keys of a single finding, and those of a group."""
    lone = group.findings[0] if len(group.findings) == 1 else None
    return {
        "kind": group.kind,
        "cluster": group.cluster,
        "broker": group.broker,
        "topic": group.topic,
        "partition": lone.partition if lone is not None else None,
        "value": group.value,
        "threshold": group.findings[0].threshold,
        "why": group.why,
        "course": list(course),
        "severity": str(group.severity),
        "count": len(group.findings),
        "of": group.of,
        "members": [one.subject for one in group.findings],
        "first_seen": None if group.first_seen is None else group.first_seen.isoformat(),
        "change": str(group.change),
        "previous_value": group.previous,
        "below_floor": group.below_floor,
    }


GROUP_HEADER = ("severity", "kind", "of", "count", "course", "first seen", "since the last run")


def group_lines(groups: Sequence[FindingGroup], courses: Sequence[Sequence[float]]) -> list[str]:
    """A line of figures for each group, and under it its sentence."""
    rows = [_group_cells(group, course) for group, course in zip(groups, courses, strict=True)]
    header, *lines = table_lines(GROUP_HEADER, rows, right=(3,))
    told = [(line, f"    {group.why}") for line, group in zip(lines, groups, strict=True)]
    return [header, *(line for pair in told for line in pair)] if groups else []


def _group_cells(group: FindingGroup, course: Sequence[float]) -> tuple[str, ...]:
    count = f"{len(group.findings)}/{group.of}" if group.of > 1 else str(len(group.findings))
    since = "" if group.first_seen is None else f"{group.first_seen:%Y-%m-%d %H:%M}"
    change = "" if group.change is Change.UNKNOWN else str(group.change)
    subject = group.topic or (f"broker {group.broker}" if group.broker is not None else "")
    name = f"{group.cluster} {subject}".strip()
    return (str(group.severity), group.kind, name, count, sparkline(course), since, change)


def findings_html(groups: Sequence[FindingGroup], courses: Sequence[Sequence[float]]) -> str:
    """The course of each group, with its sentence above."""
    titles = [f"{group.kind}: {group.why}"[:TITLE_MAX] for group in groups]
    figure = chart_grid(titles or ["no findings"], columns=COLUMNS)
    for place, course in enumerate(courses):
        row, column = divmod(place, COLUMNS)
        figure.add_scatter(y=list(course), mode="lines", row=row + 1, col=column + 1)
    return page_of(figure, "Findings, the most severe first", rows=-(-len(titles) // COLUMNS))


def slow_row(cluster: str, one: SlowBroker) -> dict[str, Any]:
    """A broker that stands out, for programs."""
    return {"cluster": cluster, **asdict(one), "verdict": str(one.verdict), "why": one.why}


SLOW_HEADER = ("verdict", "cluster", "broker", "z of its history", "z of its peers", "why")


def slow_cells(cluster: str, one: SlowBroker) -> tuple[str, ...]:
    """A broker that stands out, as a line of a table."""
    scores = ("" if z is None else f"{z:.1f}" for z in (one.z_before, one.z_peers))
    return (str(one.verdict), cluster, str(one.broker), *scores, one.why)


def slow_html(found: Sequence[tuple[str, SlowBroker]]) -> str:
    """For each broker that stands out its value beside its history and its peers."""
    titles = [f"{cluster}: broker {one.broker}, {one.measurement}" for cluster, one in found]
    figure = chart_grid(titles or ["no broker stands out"], columns=COLUMNS)
    for place, (_, one) in enumerate(found):
        row, column = divmod(place, COLUMNS)
        bars = {"now": one.recent, "before": one.before, "peers": one.peers}
        figure.add_bar(x=list(bars), y=list(bars.values()), row=row + 1, col=column + 1)
    return page_of(figure, "Slow brokers, milliseconds", rows=-(-len(titles) // COLUMNS))


def account_rows(accounts: Accounts) -> list[tuple[str, int]]:
    """Where the rows went, as lines of a table; the reasons are set in."""
    reasons: Mapping[str, int] = accounts.quarantined_by_reason
    return [
        ("rows read", accounts.rows_read),
        ("kept", accounts.kept),
        ("duplicates", accounts.duplicates),
        ("superseded", accounts.superseded),
        ("late", accounts.late),
        ("quarantined", accounts.quarantined),
        *((f"  {reason}", count) for reason, count in reasons.items()),
    ]
