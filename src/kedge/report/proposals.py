"""What a command would do, for programs, with the prediction of its run."""

from __future__ import annotations

from typing import Any

from kedge.apply import Preview, Proposal
from kedge.execution.prediction import Prediction
from kedge.report.prediction import prediction_row


def proposal_row(proposal: Proposal, prediction: Prediction | None) -> dict[str, Any]:
    """The answer to a dry run; `prediction` is null where none could be made."""
    return {
        "dry_run": True,
        "action": proposal.action.name.lower(),
        "run": None if proposal.run is None else proposal.run.name,
        **({} if proposal.judged is None else _preview_fields(proposal.judged)),
        "prediction": None if prediction is None else prediction_row(prediction),
    }


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
