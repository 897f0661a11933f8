"""Shows the progress of a Spark job on stderr: stage, amount, rate and tasks."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kedge.cli.options import console
from kedge.model.amounts import bytes_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.progress import Progress as Bar

LOOK_EVERY_S = 0.5


class Shown:
    """The bar of a job; Spark's status tracker has the number of finished tasks."""

    def __init__(self, bar: Bar, first: str) -> None:
        self.bar = bar
        self.task = bar.add_task(first, total=None, amount="", rate="")
        self.ended = threading.Event()
        self.tracker: Any = None
        self.amount, self.unit = 0, "rows"
        self.watcher = threading.Thread(target=self._watch, daemon=True)
        self.watcher.start()

    def attach(self, session: SparkSession) -> None:
        """Watch the tasks of this session, if it has a status tracker."""
        try:
            self.tracker = session.sparkContext.statusTracker()
        except Exception:  # a session of Spark Connect has no tracker
            self.tracker = None

    def stage(self, name: str, amount: int, unit: str = "rows") -> None:
        """Begin a line for the next stage."""
        self._complete()
        self.amount, self.unit = amount, unit
        self.task = self.bar.add_task(name, total=None, amount=amount_text(amount, unit), rate="")

    def close(self) -> None:
        """Draw no more."""
        self.ended.set()
        self.watcher.join()
        self._complete()

    def _complete(self) -> None:
        self.bar.update(self.task, total=1, completed=1, rate=self._rate(1.0))

    def _rate(self, share: float) -> str:
        elapsed = self.bar.tasks[self.task].elapsed or 0.0
        return rate_text(self.amount * share, self.unit, elapsed)

    def _watch(self) -> None:
        while not self.ended.wait(LOOK_EVERY_S):
            done, total = self._tasks()
            if total:
                rate = self._rate(done / total)
                self.bar.update(self.task, total=total, completed=done, rate=rate)

    def _tasks(self) -> tuple[int, int]:
        if self.tracker is None:
            return 0, 0
        try:
            stages = [self.tracker.getStageInfo(i) for i in self.tracker.getActiveStageIds()]
        except Exception:  # the session has just ended
            return 0, 0
        known = [stage for stage in stages if stage is not None]
        return sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known)


def amount_text(amount: int, unit: str) -> str:
    """`12,096,000 rows` or `2.78 GB`; nothing where the stage has no amount."""
    if not amount:
        return ""
    return bytes_text(amount) if unit == "bytes" else f"{amount:,} {unit}"


def rate_text(amount: float, unit: str, seconds: float) -> str:
    """The amount per second, from the first second on."""
    per_second = amount / seconds if seconds >= 1 else 0.0
    return f"{amount_text(round(per_second), unit)}/s" if per_second >= 1 else ""


@contextmanager
def shown(first: str = "starting Spark") -> Generator[Shown]:
    """A progress bar for the time of a block; `first` names what comes before the first stage."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<16}"),
        BarColumn(),
        TextColumn("{task.fields[amount]:>17}"),
        TextColumn("{task.fields[rate]:>18}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True)) as bar:
        progress = Shown(bar, first)
        try:
            yield progress
        finally:
            progress.close()
