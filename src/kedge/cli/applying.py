"""Reading plans, and the terminal while a run goes on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedge.apply import Outcome, Pacing, Proposal, RunFiles, Runs, carry_out
from kedge.cli.options import console, say
from kedge.cluster.port import Cluster
from kedge.errors import KedgeError
from kedge.execution import Progress
from kedge.files import read_bytes, said_of
from kedge.model import TopicPartition
from kedge.plan import Plan, is_plan, parse_execute, parse_plan
from kedge.report.runs import progress_line


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


def carried_out(
    cluster: Cluster, runs: Runs, proposal: Proposal, interval_s: float
) -> tuple[RunFiles, Outcome]:
    """Run to the end, with a live line on a terminal; an interrupt stops it in order."""
    with _interruptible() as stopping, _live() as show:
        pacing = Pacing(
            interval_s=interval_s, stopping=stopping, on_progress=show, on_note=_say_note
        )
        return carry_out(cluster, runs, proposal, pacing)


def _say_note(text: str) -> None:
    say(f"note: {text}")


@contextmanager
def _interruptible() -> Generator[Callable[[], bool]]:
    """The first interrupt asks the run to stop; the second leaves it as it is, at once."""
    asked: list[int] = []

    def on_signal(number: int, _frame: object) -> None:
        if asked:
            say(
                "Left at once: moves under way go on, and throttles stay set. Continue with "
                "kedge resume; kedge cancel cancels the moves and removes the throttles"
            )
            raise KeyboardInterrupt
        asked.append(number)
        say("Stopping: no more moves start; waiting for those under way (again to leave at once)")

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _live() -> Generator[Any]:
    """A bar on a terminal; elsewhere a line whenever another tenth is done."""
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
