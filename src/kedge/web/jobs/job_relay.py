"""Progress and ends of other servers' jobs, for the browsers that listen to them here.

The events of a job are published by the server that does it. Behind one address a browser may reach
another: that one reads the job's row every second, while someone listens to it.
"""

from __future__ import annotations

from typing import Any

from kedge.web.events import Broadcaster
from kedge.web.jobs.job_context import job_channel, jobs_of_channels
from kedge.web.jobs.job_store import OPEN, JobStore, job_row
from kedge.web.periodic import PeriodicTask
from kedge.web.tables import JobRow

Progress = dict[str, Any]
EVERY_S = 1.0


class JobRelay(PeriodicTask):
    """Publishes what other servers have stored of jobs that are listened to here."""

    def __init__(self, store: JobStore, broadcaster: Broadcaster) -> None:
        self._store, self._broadcaster = store, broadcaster
        self._told: dict[str, Progress] = {}  # progress that was published, or the end
        super().__init__("job-relay", EVERY_S, self.pass_on)

    def pass_on(self) -> None:
        """Publish what is new of the jobs that are listened to."""
        listened = jobs_of_channels(self._broadcaster.channels)
        self._told = {job: self._told[job] for job in listened if job in self._told}
        for row in self._store.of_others(listened) if listened else ():
            self._tell(row)

    def _tell(self, row: JobRow) -> None:
        is_open = row.state in OPEN
        now = row.progress if is_open else {"ended": row.ended_at}
        before = self._told.get(row.id)
        if now == before:
            return
        self._told[row.id] = now
        channel = job_channel(row.id)
        if not is_open:
            self._broadcaster.publish(channel, "job", job_row(row))
            return
        for note in _new_notes(before, now):
            self._broadcaster.publish(channel, "note", note)
        self._broadcaster.publish(channel, "progress", now)


def _new_notes(before: Progress | None, now: Progress) -> list[Any]:
    """Notes since the progress that was told; the first event of a stream has those before."""
    if before is None:
        return []
    return [note for note in now.get("notes", ()) if note not in before.get("notes", ())]
