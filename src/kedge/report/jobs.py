"""Lines and rows of jobs: how their runs ended, and what they have left on the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.apply import Outcome
from kedge.report.run_summary import RunSummary, summary_lines
from kedge.report.runs import outcome_lines

if TYPE_CHECKING:
    from kedge.apply.jobs import Ending, Job


def job_lines(ending: Ending | None, run: str, outcome: Outcome, summary: RunSummary) -> list[str]:
    """How a job ended; without an ending its moves are not complete."""
    ended = () if ending is None else ending.lines
    return [*outcome_lines(outcome, run), *summary_lines(summary), *ended]


def job_row(job: Job, ending: Ending | None, ended: dict[str, Any] | None = None) -> dict[str, Any]:
    """The same for programs; without a run that has `ended` nothing was to be moved."""
    moves = ended or {"run": None, "complete": True, "stopped": False, "done": 0}
    complete = bool(moves["complete"]) and ending is not None and ending.complete
    return {
        "job": job.name,
        **moves,
        **({} if ending is None else ending.row),
        "complete": complete,
    }
