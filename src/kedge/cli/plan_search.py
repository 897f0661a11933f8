"""Searches a plan with progress on the terminal; Ctrl-C and `--time-limit` end the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.balance import Goals
    from kedge.cli.goal_options import GoalOptions
    from kedge.model import Snapshot
    from kedge.plan import Plan
    from kedge.plan_maker import PlanMaker


def search_plan(maker: PlanMaker, snapshot: Snapshot, goals: Goals, options: GoalOptions) -> Plan:
    """The best plan that was found until the search ended or was ended."""
    from kedge.cli.live_progress import status_line
    from kedge.cli.stop_signal import StopSignal
    from kedge.report.plan_summary import progress_text

    with status_line() as show, StopSignal(options.time_limit) as stop:
        return maker.plan_of(
            snapshot,
            goals,
            options.seed,
            progress=lambda at: show(progress_text(at)),
            out_of_time=stop.is_set,
            use_all_time=options.time_limit is not None,
        )
