"""Threads that do the work of jobs, heartbeats, and the jobs of servers that died."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kedge.apply.outcome import LeftAtOnce
from kedge.apply.this_process import has_ended, owner_text, this_process
from kedge.database import Database
from kedge.errors import KedgeError, RunTakenOver, TooManyRequests, UnknownResource
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
        self._clock = database.clock
        self._broadcaster, self._registry, self._kinds = broadcaster, registry, kinds
        self.documents = Documents(database)
        self._waiting_max = waiting_max
        self._computing = threading.BoundedSemaphore(COMPUTING_AT_ONCE)
        self._lock = threading.Lock()
        self._at_work: dict[str, tuple[JobContext, threading.Thread]] = {}
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
        for context, _ in at_work:
            context.leaving.set()
            context.stopping.set()
        for _, thread in at_work:
            thread.join(timeout_s)
        self.store.release()

    def _beat(self) -> None:
        while not self._stopping.wait(BEAT_S):
            try:
                self.store.beat()
                self.adopt_orphans()
            except Exception:
                log.exception("the heartbeat of jobs failed; it is tried again")

    def adopt_orphans(self) -> None:
        """Go on with the jobs of servers that are dead; a read-only server takes none."""
        if self._registry.read_only:
            return
        for row in self.store.unfinished():
            if self._is_orphan(row) and self.store.adopt(row):
                log.warning("job %s (%s) of a server that died goes on here", row.id, row.kind)
                self._launch(row)

    def _is_orphan(self, row: JobRow) -> bool:
        if row.owner == self.store.owner:
            return False
        return has_ended(row.owner) or (self._clock() - row.beat_at > DEAD_AFTER_S)

    # ---- jobs -----------------------------------------------------------------------------------

    def submit(self, kind: str, cluster: str, who: str, request: dict[str, Any]) -> JobContext:
        """Start a job, or let it wait for a free core."""
        with self._lock:
            if len(self._at_work) >= self._waiting_max:
                raise TooManyRequests(
                    f"{len(self._at_work)} jobs are at work or waiting",
                    hint="wait for one to end; [limits] waiting_jobs sets the limit",
                )
        return self._launch(self.store.create(kind, cluster, who, request))

    def context(self, job_id: str) -> JobContext | None:
        """A job that this server is doing."""
        with self._lock:
            found = self._at_work.get(job_id)
        return None if found is None else found[0]

    def working_on(self, cluster: str, *kinds: str) -> list[JobContext]:
        """The jobs of a cluster that this server is doing."""
        with self._lock:
            contexts = [context for context, _ in self._at_work.values()]
        return [c for c in contexts if c.row.cluster == cluster and c.row.kind in kinds]

    def stop_job(self, job_id: str) -> None:
        """End a search after its current step, with the best that it has found."""
        context = self.context(job_id)
        if context is None:
            raise UnknownResource(f"This server is not at work on a job {job_id!r}")
        context.stopping.set()

    def _launch(self, row: JobRow) -> JobContext:
        context = JobContext(row, self.store, self._broadcaster, self._registry, self.documents)
        name = f"job-{row.kind}-{row.id}"
        thread = threading.Thread(target=self._do, args=(context,), name=name, daemon=True)
        with self._lock:
            self._at_work[row.id] = (context, thread)
        thread.start()
        return context

    def _do(self, context: JobContext) -> None:
        row = context.row
        kind = self._kinds[row.kind]
        try:
            if kind.computes:
                with self._computing:
                    self._work(context, kind.work)
            else:
                self._work(context, kind.work)
        except LeftAtOnce:
            if not self._stopping.is_set():  # a cancel or a rollback goes on with the run
                self.store.end(row.id, JobState.DONE, result={"left": True})
        except RunTakenOver as error:
            self.store.end(row.id, JobState.FAILED, problem=problem_row(error))
        except KedgeError as error:
            self.store.end(row.id, JobState.FAILED, problem=problem_row(error))
        except Exception as error:
            log.exception("job %s failed", row.id)
            problem = problem_row(KedgeError(f"The job failed: {type(error).__name__}"))
            self.store.end(row.id, JobState.FAILED, problem=problem)
        finally:
            with self._lock:
                self._at_work.pop(row.id, None)
            context.ended.set()
            context.begun.set()
            self._publish_end(row.id)

    def _work(self, context: JobContext, work: Work) -> None:
        if context.stopping.is_set():
            raise LeftAtOnce
        self.store.set_values(context.row.id, state=str(JobState.RUNNING))
        result = work(context)
        self.store.set_values(context.row.id, progress=context.latest)
        self.store.end(context.row.id, JobState.DONE, result=result)

    def _publish_end(self, job_id: str) -> None:
        row = job_row(self.store.get(job_id))
        self._broadcaster.publish(job_channel(job_id), "job", row)
        self._broadcaster.publish(f"cluster:{row['cluster']}", "job", _brief(row))


def _brief(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "kind", "state", "run")}
