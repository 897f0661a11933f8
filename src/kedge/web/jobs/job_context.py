"""What the work of a job is given: its request, the server's parts, and where progress goes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from kedge.apply.outcome import LeftAtOnce
from kedge.web.events import Broadcaster
from kedge.web.jobs.job_store import JobStore
from kedge.web.tables import JobRow

if TYPE_CHECKING:
    from kedge.web.clusters.registry import ClusterRegistry
    from kedge.web.documents import Documents

KEPT_EVERY_S = 1.0
NOTES_MAX = 50
log = logging.getLogger("kedge.web")


@dataclass
class JobContext:
    """One job at work. `stopping` ends it after its current step, `leaving` at once.

    `adopted` jobs were begun before: by a server that died, or before the database failed.
    """

    row: JobRow
    store: JobStore
    broadcaster: Broadcaster
    registry: ClusterRegistry
    documents: Documents
    adopted: bool = False
    stopping: threading.Event = field(default_factory=threading.Event)
    leaving: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    latest: dict[str, Any] = field(default_factory=dict[str, Any])
    _kept_at: float = 0.0
    _unkept: bool = False

    @property
    def channel(self) -> str:
        """Where the events of this job go."""
        return job_channel(self.row.id)

    def report(self, event: Mapping[str, Any], *, keep: bool = False) -> None:
        """Publish an event; the newest progress is kept in the database now and then."""
        kind = str(event.get("event", "progress"))
        if kind == "progress":
            self.latest = {**self.latest, **event}
        elif kind == "note":
            notes = [*self.latest.get("notes", []), {"text": event["text"], "at": time.time()}]
            self.latest = {**self.latest, "notes": notes[-NOTES_MAX:]}
        self.broadcaster.publish(self.channel, kind, event)
        now = time.monotonic()
        if keep or now - self._kept_at >= KEPT_EVERY_S:
            self._kept_at = now
            self._keep()

    def began(self, run: str | None = None) -> None:
        """The checks are over and the work goes on by itself; `run` is the run that it is about."""
        if run is not None:
            self.row.run = run
            self._keep()
        self.begun.set()

    def _keep(self) -> None:
        """Keep how far the job is; the work itself goes on without its database."""
        try:
            self.store.set_values(self.row.id, run=self.row.run, progress=self.progress)
            self._unkept = False
        except SQLAlchemyError:
            if not self._unkept:
                log.exception("the progress of job %s is not kept for now", self.row.id)
            self._unkept = True

    @property
    def progress(self) -> dict[str, Any]:
        """The newest progress; that of before, while a job which goes on has none."""
        return self.latest or self.row.progress

    def sleep(self, seconds: float) -> None:
        """Wait, unless the work is to be left at once."""
        if self.leaving.wait(seconds):
            raise LeftAtOnce


CHANNEL = "job:"


def job_channel(job_id: str) -> str:
    """The channel of one job's events."""
    return f"{CHANNEL}{job_id}"


def jobs_of_channels(channels: Iterable[str]) -> list[str]:
    """The jobs whose channels are among these."""
    return [each.removeprefix(CHANNEL) for each in channels if each.startswith(CHANNEL)]
