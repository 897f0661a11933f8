"""What `kedge apply` and its siblings do and show on the way."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedge.apply import Outcome, Pacing, Run, RunFiles
from kedge.apply.looking import observe, sizes_of
from kedge.cli.options import console, say
from kedge.cluster.port import Cluster
from kedge.errors import KedgeError
from kedge.execution import (
    SETTLED,
    Observation,
    Pace,
    Progress,
    Sizes,
    Standing,
    in_order,
    progress_of,
    standings_of,
)
from kedge.files import read_bytes, said_of
from kedge.model import TopicPartition
from kedge.plan import Change, Plan, is_plan, parse_execute, parse_plan
from kedge.report.amounts import bytes_text, duration_text

Standings = Mapping[TopicPartition, Standing]


def read_plan(path: Path, cluster: Cluster) -> Plan:
    """A plan, or a file of Kafka's tool with what the cluster shows as its `before`."""
    data = read_bytes(path)
    with said_of(path):
        if is_plan(data):
            return parse_plan(data)
        file = parse_execute(data.decode("utf-8", "replace"))
    topics = sorted({entry.tp.topic for entry in file.entries})
    before: dict[TopicPartition, Any] = {}
    for name, topic in cluster.describe_topics(topics).items():
        if isinstance(topic, KedgeError):
            raise topic
        before |= {TopicPartition(name, p): ids for p, ids in topic.replicas().items()}
    known = {entry.tp: before.get(entry.tp, entry.replicas) for entry in file.entries}
    return Plan(file.entries, known, cluster_id=cluster.describe().cluster_id)


# ---- before -------------------------------------------------------------------------------------


def preview_lines(
    cluster: Cluster,
    changes: Sequence[Change],
    standings: Standings,
    seen: Observation,
    rate: int | None,
) -> list[str]:
    """What is about to happen."""
    sizes = sizes_of(cluster, changes, seen.alive)
    figures = progress_of(list(changes), standings, sizes, Pace(), 0.0)
    left = figures.bytes_total - figures.bytes_done
    lines = [
        f"{len(changes)} partitions: {figures.done} in place, "
        f"{len(changes) - figures.done} to change, {bytes_text(left)} to copy"
    ]
    if rate is not None and left:
        lines.append(
            f"throttle {bytes_text(rate)}/s in and out of each broker: "
            f"at least {duration_text(_busiest(changes, standings, seen, sizes) / rate)}"
        )
    return lines


def _busiest(
    changes: Sequence[Change], standings: Standings, seen: Observation, sizes: Sizes
) -> int:
    """The bytes through the broker with the most to send or to receive."""
    through: Counter[tuple[str, int]] = Counter()
    for change in changes:
        leader = seen.leaders.get(change.tp)
        if standings[change.tp] in SETTLED or leader is None:
            continue
        size = sizes.get((change.tp, leader), 0)
        through["out", leader] += size * len(change.added)
        for broker in change.added:
            through["in", broker] += size
    return max(through.values(), default=0)


# ---- while it runs ------------------------------------------------------------------------------


def carry_out(
    cluster: Cluster, files: RunFiles, changes: list[Change], interval_s: float
) -> Outcome:
    """Run to the end, with a live line where somebody looks; an interrupt ends it in order."""
    with _interruptible() as stopping, _live() as show:
        pacing = Pacing(
            interval_s=interval_s, stopping=stopping, on_progress=show, on_note=_say_note
        )
        return Run(cluster, files, pacing).carry_out(changes)


def _say_note(text: str) -> None:
    say(f"note: {text}")


@contextmanager
def _interruptible() -> Generator[Any]:
    """The first interrupt is a wish, told by the function that this gives; the second ends us."""
    asked: list[int] = []

    def wish(number: int, _frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        say("starting nothing more and waiting for what is under way; again to leave it as it is")

    before = {number: signal.signal(number, wish) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _live() -> Generator[Any]:
    """A bar on a terminal; elsewhere a line whenever another tenth is done."""
    import sys

    if sys.stderr.isatty():
        with _bar() as show:
            yield show
        return
    told = -1

    def tell(progress: Progress) -> None:
        nonlocal told
        tenth = int(progress.share * 10)
        if tenth > told:
            told = tenth
            say(progress_line(progress))

    yield tell


@contextmanager
def _bar() -> Generator[Any]:
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TextColumn("{task.percentage:>5.1f} %"), TextColumn("{task.fields[x]}"))
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("moving", total=1.0, x="")

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.share, x=progress_line(progress))

        yield show


def progress_line(progress: Progress) -> str:
    """One line: what is done, how fast it goes, how long it will take."""
    parts = [f"{progress.done}/{progress.partitions} partitions, {progress.moving} moving"]
    if progress.bytes_total:
        parts.append(f"{bytes_text(progress.bytes_done)} of {bytes_text(progress.bytes_total)}")
    if progress.bytes_per_second:
        parts.append(f"{bytes_text(progress.bytes_per_second)}/s")
    if progress.seconds_left:
        parts.append(f"{duration_text(progress.seconds_left)} left")
    return ", ".join(parts)


# ---- after --------------------------------------------------------------------------------------


def outcome_lines(outcome: Outcome, files: RunFiles) -> list[str]:
    """How it ended, and what to do next."""
    if outcome.complete:
        return [f"{outcome.done} partitions are in place; run {files.name} has ended"]
    lines = [f"{outcome.done} partitions are in place, {len(outcome.left)} are not"]
    lines += [f"  {tp}: {refusal}" for tp, refusal in sorted(outcome.refused.items())]
    return [*lines, "go on with kedge resume, or go back with kedge rollback"]


def outcome_row(outcome: Outcome, files: RunFiles) -> dict[str, object]:
    """The same for programs."""
    return {
        "run": files.name,
        "complete": outcome.complete,
        "stopped": outcome.stopped,
        "done": outcome.done,
        "left": [tp._asdict() | {"standing": s.value} for tp, s in sorted(outcome.left.items())],
        "refused": [tp._asdict() | {"why": str(e)} for tp, e in sorted(outcome.refused.items())],
    }


def status_row(cluster: Cluster, run: RunFiles) -> dict[str, Any]:
    """Where a run stands, told from the cluster."""
    state, changes = run.state(), in_order(run.plan())
    seen = observe(cluster, changes)
    standings = standings_of(changes, seen)
    figures = progress_of(changes, standings, sizes_of(cluster, changes, seen.alive), Pace(), 0.0)
    counts = {each.value: 0 for each in Standing}
    for standing in standings.values():
        counts[standing.value] += 1
    return {
        "run": run.name,
        "ending": None if state.ending is None else state.ending.value,
        "partitions": counts,
        "bytes_total": figures.bytes_total,
        "bytes_done": figures.bytes_done,
        "throttled": bool(state.lease),
        "rate": state.rate,
    }


def status_lines(row: Mapping[str, Any]) -> list[str]:
    """The same for people."""
    counts = ", ".join(f"{count} {name}" for name, count in row["partitions"].items() if count)
    lines = [
        f"run {row['run']}: {row['ending'] or 'not ended'}",
        f"partitions: {counts}",
        f"bytes: {bytes_text(row['bytes_done'])} of {bytes_text(row['bytes_total'])}",
    ]
    if row["throttled"]:
        lines.append(f"throttled to {bytes_text(row['rate'] or 0)}/s in and out of each broker")
    return lines


def lease_rows(run: RunFiles) -> list[dict[str, str]]:
    """The throttles of a run, one row each."""
    lease = run.state().lease
    return [
        {"run": run.name, "of": f"{kind} {name}", "config": config, "value": value}
        for kind, settings in (("broker", lease.brokers), ("topic", lease.topics))
        for name, configs in settings.items()
        for config, value in configs.items()
    ]
