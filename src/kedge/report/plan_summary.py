"""The text of plans in a terminal: summary, cost, and the progress of the search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kedge.report.amounts import bytes_text, duration_text
from kedge.report.text_table import table_lines

if TYPE_CHECKING:
    from kedge.balance import Progress
    from kedge.plan import Plan, Summary


def progress_text(progress: Progress) -> str:
    """The state of a search, in one line."""
    least = progress.bytes_lower_bound
    gap = f" (bound {bytes_text(least)}, {_over(progress.bytes_moved, least)})" if least > 0 else ""
    return (
        f"{progress.phase}: {progress.replica_moves} moves, {bytes_text(progress.bytes_moved)}"
        f"{gap}, {progress.over} brokers outside {100 * progress.epsilon:.1f} %"
    )


def _over(amount: float, least: float) -> str:
    return f"{100 * (amount / least - 1):+.1f} %"


def plan_lines(plan: Plan) -> list[str]:
    """The summary of a plan: what it reaches, what it costs, what to know."""
    summary = plan.summary
    if summary is None:
        return [f"{len(plan.partitions)} partitions change"]
    lines = [*balance_lines(summary), "", *cost_lines(plan, summary)]
    return [*lines, *(f"note    {note}" for note in plan.notes)]


def balance_lines(summary: Summary) -> list[str]:
    """Fullest broker over the mean, before and after, beside what is possible."""
    names = list(summary.imbalance_after) or list(summary.imbalance_before)
    columns = (summary.imbalance_before, summary.imbalance_after, summary.imbalance_lower_bound)
    rows = [(name, *(_ratio(column, name) for column in columns)) for name in names]
    header = ("fullest ÷ mean", "before", "after", "best possible")
    return table_lines(header, rows, right=(1, 2, 3))


def _ratio(column: Mapping[str, float], name: str) -> str:
    return f"{column[name]:.3f}" if name in column else "-"


def cost_lines(plan: Plan, summary: Summary) -> list[str]:
    """What carrying the plan out takes."""
    moved, least = summary.bytes_moved, summary.bytes_moved_lower_bound
    lines = [f"moves   {summary.replicas_moved} replicas, {summary.leaders_moved} leaders"]
    if moved is not None:
        proven = f", at least {bytes_text(least)} must move" if least else ""
        gap = f" ({_over(moved, least)})" if least else ""
        lines.append(f"bytes   {bytes_text(moved)}{proven}{gap}")
    if summary.eta_seconds is not None:
        fastest = summary.eta_lower_bound_seconds
        beside = f", no order is faster than {duration_text(fastest)}" if fastest else ""
        lines.append(
            f"time    {duration_text(summary.eta_seconds)}{beside}; {len(plan.waves)} waves"
        )
    if summary.peak_disk:
        broker, share = max(summary.peak_disk.items(), key=lambda item: item[1])
        lines.append(f"disks   fullest on the way: broker {broker} at {100 * share:.0f} %")
    return lines
