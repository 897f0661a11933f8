"""Figures of a plan, and the reasons of its changes, as rows and lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, Plan


def summary_row(plan: Plan) -> dict[str, Any]:
    """The figures of a plan, and its goals."""
    summary = plan.summary
    figures: dict[str, Any] = {}
    if summary is not None:
        figures = {
            "replicas_moved": summary.replicas_moved,
            "leaders_moved": summary.leaders_moved,
            "bytes_moved": summary.bytes_moved,
            "bytes_moved_lower_bound": summary.bytes_moved_lower_bound,
            "imbalance_before": dict(summary.imbalance_before),
            "imbalance_after": dict(summary.imbalance_after),
            "imbalance_lower_bound": dict(summary.imbalance_lower_bound),
            "eta_seconds": summary.eta_seconds,
            "eta_lower_bound_seconds": summary.eta_lower_bound_seconds,
            "planning_seconds": summary.planning_seconds,
        }
    return {
        "cluster_id": plan.cluster_id,
        "partitions": len(plan.partitions),
        "waves": len(plan.waves),
        "goals": plan.goals,
        "notes": list(plan.notes),
        **figures,
    }


def broker_lines(plan: Plan, broker: BrokerId, limit: int = 20) -> list[str]:
    """What a plan does with one broker."""
    comes = [c for c in plan.changes if broker in c.added]
    goes = [c for c in plan.changes if broker in c.removed]
    leads = [c for c in plan.changes if _starts_leading(c, broker)]
    stops = [c for c in plan.changes if _stops_leading(c, broker)]
    lines = [
        f"broker {broker}: {len(comes)} replicas come, {len(goes)} go; "
        f"it starts to lead {len(leads)} partitions and stops leading {len(stops)}"
    ]
    if plan.summary is not None and broker in plan.summary.peak_disk:
        lines.append(f"fullest disk on the way: {100 * plan.summary.peak_disk[broker]:.0f} %")
    listed = [c for c in plan.changes if broker in c.before or broker in c.after]
    lines += [line for change in listed[:limit] for line in partition_lines(plan, change)]
    if len(listed) > limit:
        lines.append(f"and {len(listed) - limit} more partitions")
    return lines


def partition_lines(plan: Plan, change: Change) -> list[str]:
    """One partition: from where to where, in which wave, and why."""
    wave = next((i for i, wave in enumerate(plan.waves) if _place(plan, change.tp) in wave), None)
    when = "" if wave is None else f", wave {wave + 1} of {len(plan.waves)}"
    before, after = (",".join(map(str, ids)) for ids in (change.before, change.after))
    lines = [f"{change.tp}  {before} → {after}{when}"]
    why = plan.reasons.get(change.tp)
    return [*lines, f"  {why}"] if why else lines


def change_row(plan: Plan, change: Change) -> dict[str, Any]:
    """One partition for programs."""
    return {
        "topic": change.tp.topic,
        "partition": change.tp.partition,
        "before": change.before,
        "after": change.after,
        "why": plan.reasons.get(change.tp),
    }


def change_of(plan: Plan, tp: TopicPartition) -> Change | None:
    """What a plan does with one partition."""
    return next((c for c in plan.changes if c.tp == tp), None)


def grounds(plan: Plan, limit: int = 12) -> Iterator[tuple[str, int]]:
    """The grounds that most changes have, each with how many; the first clause counts.

    A clause that names its own partition is the same ground for every partition.
    """
    first = (
        why.partition(";")[0].replace(str(tp), "a partition") for tp, why in plan.reasons.items()
    )
    yield from Counter(first).most_common(limit)


def _place(plan: Plan, tp: TopicPartition) -> int:
    return next(i for i, each in enumerate(plan.partitions) if each.tp == tp)


def _starts_leading(change: Change, broker: BrokerId) -> bool:
    return change.after[:1] == (broker,) and change.before[:1] != (broker,)


def _stops_leading(change: Change, broker: BrokerId) -> bool:
    return change.before[:1] == (broker,) and change.after[:1] != (broker,)
