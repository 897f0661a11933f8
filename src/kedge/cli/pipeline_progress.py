"""Shows the progress of a Spark job on stderr: stage, rows, rate and tasks."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kedge.cli.options import console

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.progress import Progress as Bar

LOOK_EVERY_S = 0.5


class Shown:
    """The bar of a job; Spark's status tracker has the number of finished tasks."""

    def __init__(self, bar: Bar, first: str) -> None:
        self.bar = bar
        self.task = bar.add_task(first, total=None, rows=0, rate="")
        self.ended = threading.Event()
        self.tracker: Any = None
        self.rows = 0
        self.watcher = threading.Thread(target=self._watch, daemon=True)
        self.watcher.start()

    def attach(self, session: SparkSession) -> None:
        """Watch the tasks of this session, if it has a status tracker."""
        try:
            self.tracker = session.sparkContext.statusTracker()
        except Exception:  # a session of Spark Connect has no tracker
            self.tracker = None

    def stage(self, name: str, rows: int) -> None:
        """Begin a line for the next stage."""
        self.bar.update(self.task, total=1, completed=1)
        self.rows = rows
        self.task = self.bar.add_task(name, total=None, rows=rows, rate="")

    def close(self) -> None:
        """Draw no more."""
        self.ended.set()
        self.watcher.join()
        self.bar.update(self.task, total=1, completed=1)

    def _watch(self) -> None:
        while not self.ended.wait(LOOK_EVERY_S):
            done, total = self._tasks()
            elapsed = self.bar.tasks[self.task].elapsed or 0.0
            if total:
                rate = f"{self.rows * done / total / max(elapsed, 0.1):,.0f} rows/s"
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


@contextmanager
def shown(first: str = "starting Spark") -> Generator[Shown]:
    """A progress bar for the time of a block; `first` names what comes before the first stage."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<16}"),
        BarColumn(),
        TextColumn("{task.fields[rows]:>12,} rows"),
        TextColumn("{task.fields[rate]:>18}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True)) as bar:
        progress = Shown(bar, first)
        try:
            yield progress
        finally:
            progress.close()
