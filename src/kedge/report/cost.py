"""Cost for people and programs: by owner, topic and day, a sentence of reasons, and a picture.

Prices have all six digits everywhere, so each line and each column adds up to its total as printed.
In JSON they are text, so that no program rounds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.analytics.cost import (
    MICROS,
    RESOURCES,
    Cell,
    Charge,
    Rates,
    by_day,
    by_day_and_owner,
    by_owner,
    by_topic,
    charges,
    everything,
)
from kedge.report.amounts import bytes_text
from kedge.report.text_table import table_lines

UNOWNED = "(no owner)"
NAMES = {"in": "in", "out": "out", "replication": "replicated", "stored": "stored"}
DAY_S = 86_400
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bill:
    """Priced cells, with the share of each day that was measured."""

    cells: Sequence[Cell]
    rates: Rates
    measured: Mapping[str, float]


def cost_row(bill: Bill) -> Row:
    """The whole bill for programs; stored bytes are the mean over a day, in byte-days."""
    unowned = [one for one in charges(bill.cells, by_topic) if one.key[2] is None]
    return {
        "currency": bill.rates.currency,
        "total": _charge_row(_total(bill)),
        "owners": [
            {"owner": one.key[0], **_charge_row(one)} for one in charges(bill.cells, by_owner)
        ],
        "topics": [
            {"cluster": one.key[0], "topic": one.key[1], "owner": one.key[2], **_charge_row(one)}
            for one in charges(bill.cells, by_topic)
        ],
        "days": [
            {"day": one.key[0], "measured": bill.measured.get(one.key[0] or ""), **_charge_row(one)}
            for one in sorted(charges(bill.cells, by_day), key=lambda one: one.key[0] or "")
        ],
        "unowned": [{"cluster": one.key[0], "topic": one.key[1]} for one in unowned],
        "cells": [
            {
                "cluster": cell.usage.cluster,
                "topic": cell.usage.topic,
                "owner": cell.owner,
                "day": cell.usage.day,
                **_charge_row(Charge((), cell.usage.amounts, cell.micros)),
            }
            for cell in bill.cells
        ],
        "why": cost_reason(bill),
    }


def _total(bill: Bill) -> Charge:
    nothing: dict[str, int] = {name: 0 for name in RESOURCES}
    return next(iter(charges(bill.cells, everything)), Charge((), nothing, nothing))


def _charge_row(one: Charge) -> Row:
    return {
        **{f"bytes_{name}": one.amounts[name] for name in RESOURCES if name != "stored"},
        "byte_seconds_stored": one.amounts["stored"],
        "cost": {name: money(one.micros[name]) for name in RESOURCES} | {"total": money(one.total)},
    }


def money(micros: int) -> str:
    """An amount with six digits after the point."""
    sign, whole = ("-", -micros) if micros < 0 else ("", micros)
    return f"{sign}{whole // MICROS}.{whole % MICROS:06}"


def cost_lines(bill: Bill, *, limit: int) -> list[str]:
    """Tables by owner, by topic and by day, and the topics without owner."""
    if not bill.cells:
        return ["nothing was measured in these days"]
    topics, days = charges(bill.cells, by_topic), charges(bill.cells, by_day)
    days = sorted(days, key=lambda one: one.key[0] or "")
    owners = charges(bill.cells, by_owner)
    lines = _section("owner", owners, [one.key[0] or UNOWNED for one in owners], bill)
    named = [f"{one.key[0]} {one.key[1]}" for one in topics]
    lines += ["", *_section("topic", topics, named, bill, limit)]
    lines += ["", *_section("day", days, [_day(one, bill) for one in days], bill)]
    unowned = [f"{one.key[0]} {one.key[1]}" for one in topics if one.key[2] is None]
    if unowned:
        more = f" and {len(unowned) - limit} more" if len(unowned) > limit else ""
        lines += ["", f"without owner: {', '.join(unowned[:limit])}{more}"]
    return [*lines, "", cost_reason(bill)]


def _day(one: Charge, bill: Bill) -> str:
    share = bill.measured.get(one.key[0] or "", 1.0)
    return f"{one.key[0]}" if share >= 1 else f"{one.key[0]} ({24 * share:.1f} h measured)"


def _section(
    title: str, found: Sequence[Charge], names: Sequence[str], bill: Bill, limit: int | None = None
) -> list[str]:
    """A table whose columns add up as printed; what is over the limit is one line."""
    shown = list(zip(names, found, strict=True))[:limit]
    rest = found[len(shown) :]
    parts = [(name, one) for name, one in shown]
    if rest:
        parts.append((f"{len(rest)} more", _sum(rest)))
    parts.append(("total", _total(bill)))
    priced = [name for name in RESOURCES if bill.rates.per_gb[name]]
    rows = [
        (name, *_amounts(one), *(money(one.micros[each]) for each in priced), money(one.total))
        for name, one in parts
    ]
    currency = bill.rates.currency
    header = (
        *(title, *(NAMES[name] for name in RESOURCES)),
        *(f"{NAMES[name]} {currency}".strip() for name in priced),
        f"total {currency}".strip(),
    )
    return table_lines(header, rows, right=range(1, len(header)))


def _sum(found: Sequence[Charge]) -> Charge:
    return Charge(
        (),
        {name: sum(one.amounts[name] for one in found) for name in RESOURCES},
        {name: sum(one.micros[name] for one in found) for name in RESOURCES},
    )


def _amounts(one: Charge) -> list[str]:
    traffic = [bytes_text(one.amounts[name]) for name in RESOURCES if name != "stored"]
    return [*traffic, f"{bytes_text(one.amounts['stored'] / DAY_S)}·d"]


def cost_reason(bill: Bill) -> str:
    """The sentence of reasons: who pays most, and for what."""
    total = _total(bill)
    if not total.total:
        return "nothing costs anything at these rates"
    currency = f" {bill.rates.currency}".rstrip()
    first = charges(bill.cells, by_owner)[0]
    topic = charges([cell for cell in bill.cells if cell.owner == first.key[0]], by_topic)[0]
    most = max(RESOURCES, key=lambda name: first.micros[name])
    who = f"{first.key[0]} pays most" if first.key[0] else "topics without owner cost most"
    text = (
        f"{who}: {_about(first.total)}{currency} of "
        f"{_about(total.total)}{currency} "
        f"({100 * first.total / total.total:.0f} %), most of it for bytes {NAMES[most]} and for "
        f"{topic.key[1]}"
    )
    unowned = [one for one in charges(bill.cells, by_owner) if one.key[0] is None]
    if unowned and first.key[0]:
        text += f"; topics without owner cost {_about(unowned[0].total)}{currency}"
    return text


def _about(micros: int) -> str:
    return f"{micros / MICROS:,.2f}"


def cost_html(bill: Bill) -> str:
    """A bar for each day, stacked by owner."""
    import plotly.graph_objects as go

    found = charges(bill.cells, by_day_and_owner)
    owners = list(dict.fromkeys(one.key[1] for one in found))
    figure: Any = go.Figure()
    for owner in owners:
        own = [one for one in found if one.key[1] == owner]
        own.sort(key=lambda one: one.key[0] or "")
        figure.add_bar(
            x=[one.key[0] for one in own],
            y=[one.total / MICROS for one in own],
            name=owner or UNOWNED,
        )
    figure.update_layout(
        title="Cost by day and owner",
        yaxis_title=bill.rates.currency,
        barmode="stack",
        template="plotly_white",
    )
    page: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return page
