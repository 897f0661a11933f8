"""What a command would do, for programs, with the prediction of its run."""

from __future__ import annotations

from typing import Any

from kedge.apply import Preview, Proposal
from kedge.apply.predict_run import PredictedRun
from kedge.report.prediction import end_fields, prediction_row


def proposal_row(proposal: Proposal, run: PredictedRun | None) -> dict[str, Any]:
    """The answer to a dry run; `prediction` is null where none could be made."""
    return {
        "dry_run": True,
        "action": proposal.action.name.lower(),
        "run": None if proposal.run is None else proposal.run.name,
        **({} if proposal.judged is None else _preview_fields(proposal.judged)),
        "prediction": None if run is None else predicted_row(run),
    }


def predicted_row(run: PredictedRun) -> dict[str, Any]:
    """The prediction of a run, and when it ends in its windows."""
    ends = end_fields(run.ends_at, run.judged.options.steering)
    return prediction_row(run.prediction) | ends


def _preview_fields(judged: Preview) -> dict[str, Any]:
    figures = judged.progress
    return {
        "kind": judged.kind.value,
        "partitions": len(judged.changes),
        "in_place": figures.done,
        "bytes_total": figures.bytes_total,
        "bytes_done": figures.bytes_done,
        "rate": judged.options.limits.rate,
        "skipped": [tp._asdict() for tp in judged.skipped],
        "warnings": list(judged.warnings),
    }
