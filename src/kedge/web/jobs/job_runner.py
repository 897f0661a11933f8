"""Threads that do the work of jobs, heartbeats, and the jobs of servers that died."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from kedge.apply.outcome import LeftAtOnce
from kedge.apply.this_process import has_ended, owner_text, this_process
from kedge.database import Database
from kedge.errors import (
    Conflict,
    KedgeError,
    ReassignmentInProgress,
    RunLeft,
    TooManyRequests,
    UnknownResource,
)
from kedge.web.clusters.registry import ClusterRegistry
from kedge.web.documents import Documents
from kedge.web.events import Broadcaster
from kedge.web.jobs.job_context import JobContext, job_channel
from kedge.web.jobs.job_store import JobState, JobStore, job_row
from kedge.web.problems import problem_row
from kedge.web.tables import JobRow

Work = Callable[[JobContext], Mapping[str, Any]]

BEAT_S = 5.0
DEAD_AFTER_S = 30.0
END_S, END_AGAIN_S = 60.0, 1.0  # for so long, and so often, the end of a job is written
COMPUTING_AT_ONCE = 2
log = logging.getLogger("kedge.web")


@dataclass(frozen=True, slots=True)
class JobKind:
    """How the jobs of one kind are done; those that compute wait for a free core."""

    work: Work
    computes: bool = True


class JobRunner:
    """Does the jobs of this server, each on a thread of its own."""

    def __init__(
        self,
        database: Database,
        broadcaster: Broadcaster,
        registry: ClusterRegistry,
        kinds: Mapping[str, JobKind],
        *,
        waiting_max: int,
    ) -> None:
        self.store = JobStore(database, owner_text(this_process()))
        self._broadcaster, self._registry, self._kinds = broadcaster, registry, kinds
        self.documents = Documents(database)
        self._waiting_max = waiting_max
        self._computing = threading.BoundedSemaphore(COMPUTING_AT_ONCE)
        self._lock = threading.Lock()
        self._at_work: dict[str, JobContext] = {}
        self._stopping = threading.Event()
        self._beats = threading.Thread(target=self._beat, name="job-beats", daemon=True)

    # ---- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Adopt what dead servers have left, and go on looking for it."""
        self.adopt_orphans()
        self._beats.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Leave all work as it is: runs continue from their journals at the next start."""
        self._stopping.set()
        with self._lock:
            at_work = list(self._at_work.values())
        for context in at_work:
            context.leaving.set()
            context.stopping.set()
        for context in at_work:
            context.ended.wait(timeout_s)
        self.store.release()

    def _beat(self) -> None:
        while not self._stopping.wait(BEAT_S):
            try:
                self.beat()
            except Exception:
                log.exception("the heartbeat of jobs failed; it is tried again")

    def beat(self) -> None:
        """Show that this server lives, and go on with jobs that no server is at work on."""
        with self._lock:
            at_work = list(self._at_work)
        self.store.beat(at_work)
        for job_id in self.store.to_stop(at_work):
            self._stop_here(job_id)
        self.adopt_orphans()

    def adopt_orphans(self) -> None:
        """Go on with the jobs that no server is at work on; a read-only server takes no run."""
        now = self.store.now()
        for row in self.store.unfinished():
            if self._may_do(row) and self._is_orphan(row, now) and self.store.adopt(row):
                self._go_on(row)

    def _may_do(self, row: JobRow) -> bool:
        return not self._registry.read_only or self._kinds[row.kind].computes

    def _is_orphan(self, row: JobRow, now: float) -> bool:
        if row.owner == self.store.owner:
            return self.context(row.id) is None  # the database failed when the work ended
        return has_ended(row.owner) or now - row.beat_at > DEAD_AFTER_S

    def _go_on(self, row: JobRow) -> None:
        if self.context(row.id) is not None:
            # This server had lost the database and another one took the job for abandoned.
            self.store.set_values(row.id, state=str(JobState.RUNNING))
            return
        log.warning("job %s (%s) was abandoned and goes on here", row.id, row.kind)
        self._start(self._registered(row, adopted=True))

    # ---- jobs -----------------------------------------------------------------------------------

    def submit(self, kind: str, cluster: str, who: str, request: dict[str, Any]) -> JobContext:
        """Start a job, or let it wait for a free core."""
        if self._kinds[kind].computes:
            self._check_room()
        context = self._registered(self.store.new_row(kind, cluster, who, request))
        try:
            self.store.add(context.row)
        except BaseException:
            self._forget(context)
            raise
        return self._start(context)

    def _check_room(self) -> None:
        """Jobs that compute are limited; a run is never kept from being ended by them."""
        with self._lock:
            contexts = list(self._at_work.values())
        waiting = sum(self._kinds[each.row.kind].computes for each in contexts)
        if waiting >= self._waiting_max:
            raise TooManyRequests(
                f"{waiting} jobs are at work or waiting",
                hint="wait for one to end; [limits] waiting_jobs sets the limit",
            )

    def context(self, job_id: str) -> JobContext | None:
        """A job that this server is doing."""
        with self._lock:
            return self._at_work.get(job_id)

    def working_on(self, cluster: str, *kinds: str) -> list[JobContext]:
        """The jobs of a cluster that this server is doing."""
        with self._lock:
            contexts = list(self._at_work.values())
        return [c for c in contexts if c.row.cluster == cluster and c.row.kind in kinds]

    def stop_job(self, job_id: str) -> None:
        """End a search after its current step, with the best that it has found.

        The server that does the job, or goes on with it, reads the wish at its next heartbeat.
        """
        if not self.store.ask_to_stop(job_id):
            raise Conflict(f"Job {job_id} has ended")
        self._stop_here(job_id)

    def _stop_here(self, job_id: str) -> None:
        context = self.context(job_id)
        if context is not None:
            context.stopping.set()

    # ---- the work of one job --------------------------------------------------------------------

    def _registered(self, row: JobRow, *, adopted: bool = False) -> JobContext:
        """A job that counts as at work here, before others can see its row."""
        context = JobContext(
            row, self.store, self._broadcaster, self._registry, self.documents, adopted
        )
        if row.stopping:
            context.stopping.set()
        with self._lock:
            self._at_work[row.id] = context
        return context

    def _forget(self, context: JobContext) -> None:
        with self._lock:
            self._at_work.pop(context.row.id, None)

    def _start(self, context: JobContext) -> JobContext:
        name = f"job-{context.row.kind}-{context.row.id}"
        threading.Thread(target=self._do, args=(context,), name=name, daemon=True).start()
        return context

    def _do(self, context: JobContext) -> None:
        kind = self._kinds[context.row.kind]
        try:
            with self._computing if kind.computes else nullcontext():
                result = self._work(context, kind.work)
            self._end(context, JobState.DONE, result=result)
        except (LeftAtOnce, RunLeft):
            if not self._stopping.is_set():  # a cancel or a rollback goes on with the run
                self._end(context, JobState.DONE, result={"left": True})
        except Exception as error:
            if not kind.computes and _may_go_on_later(context, error):
                self._give_back(context, error)
            else:
                self._end(context, JobState.FAILED, problem=_problem_of(context, error))
        finally:
            self._forget(context)
            self._publish_end(context.row.id)
            context.ended.set()
            context.begun.set()

    def _work(self, context: JobContext, work: Work) -> Mapping[str, Any]:
        if context.stopping.is_set():
            raise LeftAtOnce
        if not self.store.set_values(context.row.id, state=str(JobState.RUNNING)):
            raise LeftAtOnce  # another server has adopted the job
        return work(context)

    def _give_back(self, context: JobContext, error: Exception) -> None:
        """Leave a run's job open: it is abandoned, until a server goes on with it."""
        log.warning("job %s is tried again: %s", context.row.id, error)
        with suppress(SQLAlchemyError):
            self.store.give_back(context.row.id)

    def _end(self, context: JobContext, state: JobState, **outcome: Any) -> None:
        """Write how a job ended, again and again while the database fails."""
        give_up = time.monotonic() + END_S
        outcome |= {"run": context.row.run, "progress": context.progress}
        while True:
            try:
                self.store.end(context.row.id, state, **outcome)
                return
            except SQLAlchemyError:
                if time.monotonic() > give_up or self._stopping.wait(END_AGAIN_S):
                    log.exception("the end of job %s was not written", context.row.id)
                    return

    def _publish_end(self, job_id: str) -> None:
        try:
            row = job_row(self.store.get(job_id))
        except (SQLAlchemyError, UnknownResource):
            return  # those who watch see the end when they read the job again
        self._broadcaster.publish(job_channel(job_id), "job", row)
        self._broadcaster.publish(f"cluster:{row['cluster']}", "job", _brief(row))


def _brief(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "kind", "cluster", "state", "run")}


def _may_go_on_later(context: JobContext, error: Exception) -> bool:
    """Whether a run's job fails for now only: by the database, or while its run has an owner.

    A server that has lost the database, but not the cluster, still works on the run of the job.
    """
    owned = context.adopted and isinstance(error, ReassignmentInProgress)
    return owned or isinstance(error, SQLAlchemyError)


def _problem_of(context: JobContext, error: Exception) -> dict[str, Any]:
    if isinstance(error, KedgeError):
        return problem_row(error)
    log.error("job %s failed", context.row.id, exc_info=error)
    return problem_row(KedgeError(f"The job failed: {type(error).__name__}"))
