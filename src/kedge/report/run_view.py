"""A run at work, as lines for a terminal: a bar for each broker, and the moves in flight."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.execution import Progress
from kedge.execution.flows import BrokerFlow, Flows, MoveFlow
from kedge.report.amounts import bytes_text, duration_text
from kedge.report.elapsed import Elapsed
from kedge.report.runs import progress_line
from kedge.report.text_table import table_lines

BAR_WIDTH, TOTAL_WIDTH = 12, 40
BROKERS_MAX, MOVES_MAX = 12, 8
FULL, EMPTY = "█", "░"


def view_lines(progress: Progress, flows: Flows, elapsed: Elapsed | None = None) -> list[str]:
    """The whole view; lists that are too long for a terminal end with how many are left out."""
    total = f"{bar(progress.share, TOTAL_WIDTH)} {100 * progress.share:5.1f} %"
    return [
        total,
        progress_line(progress, elapsed),
        *_broker_lines(flows.brokers),
        *_move_lines(flows.moves),
    ]


def bar(share: float, width: int) -> str:
    """A bar of so many columns."""
    full = round(min(1.0, max(0.0, share)) * width)
    return FULL * full + EMPTY * (width - full)


def _broker_lines(brokers: Sequence[BrokerFlow]) -> list[str]:
    if not brokers:
        return []
    most = sorted(brokers, key=lambda each: each.total_in + each.total_out, reverse=True)
    shown = sorted(most[:BROKERS_MAX], key=lambda each: each.broker)
    rows = [
        (
            str(each.broker),
            *_amount(each.bytes_in, each.total_in),
            *_amount(each.bytes_out, each.total_out),
        )
        for each in shown
    ]
    header = ("broker", "in", "", "out", "")
    return ["", *table_lines(header, rows, right=(0,)), *_more(brokers, shown, "brokers")]


def _amount(done: int, total: int) -> tuple[str, str]:
    if not total:
        return EMPTY * BAR_WIDTH, "-"
    return bar(done / total, BAR_WIDTH), f"{bytes_text(done)} of {bytes_text(total)}"


def _move_lines(moves: Sequence[MoveFlow]) -> list[str]:
    if not moves:
        return []
    shown = moves[:MOVES_MAX]
    rows = [
        (
            str(each.tp),
            f"{'-' if each.source is None else each.source} → "
            + ",".join(map(str, each.destinations)),
            f"{bytes_text(each.bytes_done)} of {bytes_text(each.bytes_total)}",
            f"{bytes_text(each.bytes_per_second)}/s" if each.bytes_per_second else "-",
            "-" if each.seconds_left is None else f"{duration_text(each.seconds_left)} left",
        )
        for each in shown
    ]
    header = ("in flight", "from → to", "copied", "rate", "")
    return ["", *table_lines(header, rows), *_more(moves, shown, "moves")]


def _more(every: Sequence[object], shown: Sequence[object], noun: str) -> list[str]:
    left = len(every) - len(shown)
    return [f"and {left} more {noun}"] if left else []
