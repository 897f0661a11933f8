"""Lines and rows of runs: before they start, while they run, and after their end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kedge.apply import Cancelled, Outcome, Preview, Proposal
from kedge.apply.run_status import AT_REST, RunStatus
from kedge.execution import (
    Action,
    Lease,
    MoveStatus,
    Progress,
    RunRecord,
    RunState,
    counted,
    named,
)
from kedge.report.amounts import bytes_text, duration_text
from kedge.report.elapsed import Elapsed, elapsed_fields, elapsed_text
from kedge.report.steering import (
    adaptive_line,
    rate_change_lines,
    rate_change_rows,
    steering_fields,
    steering_lines,
    window_lines,
)
from kedge.report.text_table import table_lines

# ---- before -------------------------------------------------------------------------------------


def proposal_lines(proposal: Proposal) -> list[str]:
    """What a command is about to do."""
    run = proposal.run.name if proposal.run else ""
    lines: list[str] = []
    match proposal.action:
        case Action.CONTINUE | Action.CONTINUE_ROLLBACK:
            lines.append(f"Continues run {run}")
        case Action.ROLL_BACK:
            lines.append(f"Rolls back run {run}")
        case Action.CLOSE:
            lines.append(f"Run {run} has moved nothing; its throttles are removed")
        case Action.CANCEL | Action.CANCEL_ROLLBACK:
            moving = proposal.moving
            what = f" ({named(moving)})" if moving else ""
            lines.append(f"Cancels {counted(moving, 'move')} of run {run}{what}")
        case _:
            pass
    return lines + (preview_lines(proposal.judged) if proposal.judged else [])


def preview_lines(judged: Preview) -> list[str]:
    """What a run is about to do."""
    figures, rate = judged.progress, judged.options.limits.rate
    left = figures.bytes_total - figures.bytes_done
    lines = [
        f"{counted(judged.changes, 'partition')}: {figures.done} in place, "
        f"{len(judged.changes) - figures.done} to change, {bytes_text(left)} to copy"
    ]
    within = sum(
        judged.log_dirs_before.get(replica, path) != path
        for change in judged.changes
        for replica, path in judged.target.log_dirs_of(change).items()
        if replica.broker in change.before
    )
    if within:
        lines.append(f"{within} replicas move to another log directory of their broker")
    if judged.skipped:
        lines.append(
            f"{counted(judged.skipped, 'partition')} changed since the plan was made and "
            f"{'is' if len(judged.skipped) == 1 else 'are'} skipped ({named(judged.skipped)})"
        )
    steering = judged.options.steering
    if rate is not None and left:
        lines.append(
            f"throttle {bytes_text(rate)}/s in and out of each broker: "
            f"at least {duration_text(judged.bound_seconds or 0.0)}"
            if steering.adaptive is None
            else adaptive_line(rate, steering.adaptive)
        )
    lines += window_lines(steering)
    return lines + [f"warning: {each}" for each in judged.warnings]


# ---- while it runs ------------------------------------------------------------------------------


def progress_line(progress: Progress, elapsed: Elapsed | None = None) -> str:
    """One line: what is done, how fast it goes, how long it will take, and what was predicted."""
    parts = [f"{progress.done}/{progress.partitions} partitions, {progress.moving} moving"]
    if progress.bytes_total:
        parts.append(f"{bytes_text(progress.bytes_done)} of {bytes_text(progress.bytes_total)}")
    if progress.bytes_per_second:
        parts.append(f"{bytes_text(progress.bytes_per_second)}/s")
    if progress.seconds_left:
        parts.append(f"{duration_text(progress.seconds_left)} left")
    if told := elapsed_text(elapsed):
        parts.append(told)
    return ", ".join(parts)


STOPPING = "Stopping: no more moves start; waiting for those in progress (again to leave at once)"
LEFT = (
    "Left at once: moves in progress go on, and throttles stay set. Continue with "
    "kedge resume; kedge cancel cancels the moves and removes the throttles"
)


# ---- after --------------------------------------------------------------------------------------


def outcome_lines(outcome: Outcome, run: str) -> list[str]:
    """How a run ended, and what to do next."""
    parts = [f"{outcome.moved} moved"]
    if outcome.skipped:
        first = next(iter(sorted(outcome.skipped)))
        more = ", …" if len(outcome.skipped) > 1 else ""
        parts.append(f"{len(outcome.skipped)} skipped ({first}{more}: moved by someone else)")
    if outcome.gone:
        topics = sorted({tp.topic for tp in outcome.gone})
        deleted = f"topic {named(topics)} was deleted"
        parts.append(f"{len(outcome.gone)} gone ({deleted})")
    if outcome.refused:
        parts.append(f"{len(outcome.refused)} set aside")
    waiting = len(outcome.left) - len(outcome.refused.keys() & outcome.left.keys())
    if waiting:
        parts.append(f"{waiting} not started")
    unfinished = "stopped" if outcome.stopped else "failed"
    state = unfinished if outcome.left or outcome.refused else "done"
    lines = [f"{', '.join(parts)}; run {run} is {state}"]
    lines += [f"  {tp}: {refusal}" for tp, refusal in sorted(outcome.refused.items())]
    lines += unreleased_lines(outcome.unreleased)
    lines += rate_change_lines(outcome.rate_changes)
    if outcome.left or outcome.refused:
        lines.append("Continue with kedge resume, or undo it with kedge rollback")
    if outcome.skipped:
        lines.append("To move what was skipped, make a new plan with kedge plan")
    return lines


def unreleased_lines(lease: Lease) -> list[str]:
    """Throttles that are left, and when they go."""
    if not lease:
        return []
    places = [f"broker {name}" for name in lease.brokers] + [f"topic {n}" for n in lease.topics]
    return [
        f"{counted(lease.settings(), 'throttle setting')} left on {named(places)}, which could not "
        "be changed; the next kedge command that can removes them (kedge throttle lists them)"
    ]


def outcome_row(outcome: Outcome, run: str) -> dict[str, object]:
    """The same for programs."""
    return {
        "run": run,
        "complete": outcome.complete,
        "stopped": outcome.stopped,
        "done": outcome.moved,
        "left": [tp._asdict() | {"status": s.value} for tp, s in sorted(outcome.left.items())],
        "skipped": [tp._asdict() | {"why": s.value} for tp, s in sorted(outcome.skipped.items())],
        "refused": [tp._asdict() | {"why": str(e)} for tp, e in sorted(outcome.refused.items())],
        "gone": [tp._asdict() for tp in sorted(outcome.gone)],
        "throttles_left": lease_rows(run, outcome.unreleased),
        "rate_changes": rate_change_rows(outcome.rate_changes),
    }


def cancelled_lines(cancelled: Cancelled, run: str) -> list[str]:
    """What cancelling a run did."""
    if cancelled.reverting:
        moves = counted(cancelled.reverting, "move")
        kept = "; throttles stay meanwhile" if cancelled.unreleased else ""
        return [
            f"{moves} of run {run} not back yet ({named(cancelled.reverting)}): replicas are on a "
            f"broker that is down, or still being removed{kept}. Run kedge cancel again",
        ]
    done = f"{counted(cancelled.cancelled, 'move')} of run {run} cancelled"
    gone = "" if cancelled.unreleased else "; its throttles are gone"
    uncordoned = [f"Broker {broker} uncordoned" for broker in cancelled.uncordoned]
    return [f"{done}{gone}", *uncordoned, *unreleased_lines(cancelled.unreleased)]


def cancelled_row(cancelled: Cancelled, run: str) -> dict[str, object]:
    """The same for programs."""
    return {
        "run": run,
        "cancelled": [tp._asdict() for tp in cancelled.cancelled],
        "reverting": [tp._asdict() for tp in cancelled.reverting],
        "throttles_left": lease_rows(run, cancelled.unreleased),
        "uncordoned": list(cancelled.uncordoned),
    }


def lease_rows(run: str, lease: Lease) -> list[dict[str, str]]:
    """The throttles of a run, one row each."""
    return [
        {"run": run, "of": f"{each.scope} {each.name}", "config": each.config, "value": each.value}
        for each in lease.settings()
    ]


# ---- from any terminal --------------------------------------------------------------------------


def status_row(status: RunStatus, now: float) -> dict[str, Any]:
    """How far a run is."""
    record, statuses = status.record, status.statuses
    figures = status.work.progress(status.limits)
    counts = {each.value: 0 for each in MoveStatus}
    for each in statuses.values():
        counts[each.value] += 1
    involved = {broker for change in status.changes for broker in (*change.before, *change.after)}
    return {
        **_run_fields(status.name, record, status.state, now),
        "partitions": counts,
        "moving": [tp._asdict() for tp, s in sorted(statuses.items()) if s is MoveStatus.MOVING],
        "brokers_down": sorted(involved - status.seen.alive),
        "bytes_total": figures.bytes_total,
        "bytes_done": figures.bytes_done,
        "seconds_left": figures.seconds_left,
        "prediction": _prediction_row(status, now),
        "throttled": bool(record.lease),
        "rate": record.rate,
        "at_work": status.at_work,
        "owner": None if status.owner is None else status.owner.name,
        "owner_seen_at": None if status.owner is None else _time(status.owner.renewed_at),
        **steering_fields(record),
    }


def elapsed_of(status: RunStatus, now: float) -> Elapsed | None:
    """The time since the run, or what was left of it, was predicted; None without a prediction.

    The time in which it was paused, as outside of its windows, does not count.
    """
    record, made = status.record, status.record.prediction
    if made is None:
        return None
    until = record.changed_at if record.state in AT_REST else now
    at_work = until - made.at - record.paused_until(until)
    return Elapsed(status.speed * max(0.0, at_work), made.seconds)


def _prediction_row(status: RunStatus, now: float) -> dict[str, Any] | None:
    made, elapsed = status.record.prediction, elapsed_of(status, now)
    if made is None or elapsed is None:
        return None
    return {"made_at": _time(made.at), **elapsed_fields(elapsed)}


def _run_fields(run: str, record: RunRecord, state: RunState, now: float) -> dict[str, Any]:
    until = record.changed_at if record.state in AT_REST else now
    return {
        "run": run,
        "kind": record.kind.value,
        "undoes": record.undoes,
        "plan": record.plan_file,
        "state": state.value,
        "begun_at": _time(record.begun_at),
        "elapsed_seconds": round(max(0.0, until - record.begun_at), 1),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_lines(row: Mapping[str, Any]) -> list[str]:
    """The same as lines."""
    counts = ", ".join(f"{count} {name}" for name, count in row["partitions"].items() if count)
    what = f"run {row['undoes']}" if row["undoes"] else row["plan"]
    of = f" of {what}" if what else ""
    lines = [
        f"run {row['run']} ({row['kind']}{of}): {row['state']}",
        f"begun {row['begun_at']}, {duration_text(row['elapsed_seconds'])} elapsed",
        f"partitions: {counts}",
        f"bytes: {bytes_text(row['bytes_done'])} of {bytes_text(row['bytes_total'])}",
    ]
    if told := row.get("prediction"):  # servers of an earlier version send none
        elapsed = Elapsed(told["elapsed_seconds"], told["predicted_seconds"])
        lines.append(f"time: {elapsed_text(elapsed)}")
    if row["moving"]:
        moving = [f"{each['topic']}-{each['partition']}" for each in row["moving"]]
        lines.append(f"moving: {named(moving)}")
    if row["brokers_down"]:
        lines.append(f"down: broker {', '.join(map(str, row['brokers_down']))}")
    if row["throttled"]:
        lines.append(f"throttled to {bytes_text(row['rate'] or 0)}/s in and out of each broker")
    if row["owner"]:
        lines.append(f"owner {row['owner']}, last seen {row['owner_seen_at']}")
    return lines + steering_lines(row)


def run_row(
    run: str, record: RunRecord, state: RunState, *, moved: int, partitions: int, now: float
) -> dict[str, Any]:
    """One run of a list; `moved` are its partitions in place."""
    return {
        **_run_fields(run, record, state, now),
        "done": moved,
        "partitions": partitions,
        "throttle_settings": len(record.lease.settings()),
    }


def run_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same as lines."""
    if not rows:
        return ["No runs"]
    shown = [
        [
            row["run"],
            row["kind"],
            row["state"],
            f"{row['done']}/{row['partitions']}",
            row["begun_at"],
            duration_text(row["elapsed_seconds"]),
            row["undoes"] or row["plan"] or "-",
        ]
        for row in rows
    ]
    header = ["RUN", "KIND", "STATE", "IN PLACE", "BEGUN", "ELAPSED", "PLAN OR RUN UNDONE"]
    return table_lines(header, shown)
