"""Events of a run for programs: one object each, for a stream of JSON lines.

    {"event":"started","at":…,"run":…,"kind":"apply","partitions":36,"bytes_total":…,"rate":…,
     "predicted_seconds":840.0}
    {"event":"progress","at":…,"done":3,…,"elapsed_seconds":61.0,"predicted_seconds":840.0,
     "brokers":[…],"moves":[…]}
    {"event":"note","at":…,"text":"moves wait for broker 4, which is down"}
    {"event":"finished","at":…,"run":…,"complete":true,…,"summary":{…}}

`at` are seconds since 1970. Fields may be added; none is renamed.
"""

from __future__ import annotations

from typing import Any

from kedge.apply import Outcome, Preview, Run
from kedge.execution import Progress
from kedge.execution.flows import Flows
from kedge.report.elapsed import Elapsed, elapsed_fields
from kedge.report.run_summary import RunSummary, ended_row

Row = dict[str, Any]


def started_event(run: Run, judged: Preview, predicted_s: float | None) -> Row:
    """A run begins, or continues; what is left of it was predicted to take so long."""
    return {
        "event": "started",
        "run": run.name,
        "kind": judged.kind.value,
        "partitions": len(judged.changes),
        "bytes_total": judged.progress.bytes_total,
        "bytes_done": judged.progress.bytes_done,
        "rate": judged.options.limits.rate,
        "predicted_seconds": _rounded(predicted_s),
    }


def progress_event(progress: Progress, flows: Flows, elapsed: Elapsed) -> Row:
    """How far a run is."""
    return {
        "event": "progress",
        "partitions": progress.partitions,
        "done": progress.done,
        "moving": progress.moving,
        "bytes_total": progress.bytes_total,
        "bytes_done": progress.bytes_done,
        "bytes_per_second": round(progress.bytes_per_second, 1),
        "seconds_left": _rounded(progress.seconds_left),
        **elapsed_fields(elapsed),
        "brokers": [
            {
                "broker": each.broker,
                "bytes_in": each.bytes_in,
                "total_in": each.total_in,
                "bytes_out": each.bytes_out,
                "total_out": each.total_out,
            }
            for each in flows.brokers
        ],
        "moves": [
            {
                **each.tp._asdict(),
                "source": each.source,
                "destinations": each.destinations,
                "bytes_done": each.bytes_done,
                "bytes_total": each.bytes_total,
                "bytes_per_second": round(each.bytes_per_second, 1),
                "seconds_left": _rounded(each.seconds_left),
            }
            for each in flows.moves
        ],
    }


def note_event(text: str) -> Row:
    """What an operator should know."""
    return {"event": "note", "text": text}


def finished_event(run: str, outcome: Outcome, summary: RunSummary) -> Row:
    """How a run ended."""
    return {"event": "finished", **ended_row(run, outcome, summary)}


def failed_event(run: str | None, error: str) -> Row:
    """A run that failed, with the sentence that the command ends with."""
    return {"event": "finished", "run": run, "complete": False, "error": error}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
