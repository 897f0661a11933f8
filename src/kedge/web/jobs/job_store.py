"""The rows of jobs: made, advanced, ended, and adopted from servers that died."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import select, update

from kedge.database import Database
from kedge.errors import UnknownResource
from kedge.web.access.secrets import new_id
from kedge.web.tables import JobRow

Document = dict[str, Any]


class JobState(StrEnum):
    """Where a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


OPEN = (JobState.WAITING, JobState.RUNNING)


class JobStore:
    """The jobs of a database; `owner` names the server of this process."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database, self.owner = database, owner

    def new_row(self, kind: str, cluster: str, who: str, request: Document) -> JobRow:
        """A new job of this server, which is not stored yet."""
        return JobRow(
            id=new_id(),
            kind=kind,
            cluster=cluster,
            who=who,
            state=JobState.WAITING,
            request=request,
            progress={},
            stopping=False,
            owner=self.owner,
            beat_at=self.now(),
            created_at=self._database.clock(),
        )

    def add(self, row: JobRow) -> None:
        """Store a new job."""
        with self._database.begin() as session:
            session.add(row)

    def now(self) -> float:
        """The time that heartbeats have: of one clock for all servers."""
        return self._database.now()

    def get(self, job_id: str) -> JobRow:
        """One job."""
        with self._database.read() as session:
            row = session.get(JobRow, job_id)
        if row is None:
            raise UnknownResource(f"No job has the id {job_id!r}")
        return row

    def latest(self, cluster: str, limit: int = 50) -> list[JobRow]:
        """The newest jobs of a cluster first."""
        wanted = select(JobRow).where(JobRow.cluster == cluster)
        ordered = wanted.order_by(JobRow.created_at.desc()).limit(limit)
        with self._database.read() as session:
            return list(session.scalars(ordered))

    def of_run(self, cluster: str, run: str) -> JobRow | None:
        """The newest job that worked on a run."""
        wanted = select(JobRow).where(JobRow.cluster == cluster, JobRow.run == run)
        with self._database.read() as session:
            return session.scalar(wanted.order_by(JobRow.created_at.desc()).limit(1))

    def of_others(self, job_ids: Collection[str]) -> list[JobRow]:
        """Those of these jobs that other servers own."""
        wanted = select(JobRow).where(JobRow.id.in_(job_ids), JobRow.owner != self.owner)
        with self._database.read() as session:
            return list(session.scalars(wanted))

    def unfinished(self) -> list[JobRow]:
        """Every job that has not ended, oldest first."""
        wanted = select(JobRow).where(JobRow.state.in_(OPEN)).order_by(JobRow.created_at)
        with self._database.read() as session:
            return list(session.scalars(wanted))

    # ---- changes --------------------------------------------------------------------------------

    def set_values(self, job_id: str, **values: Any) -> bool:
        """Change a job, if this server still owns it."""
        mine = update(JobRow).where(JobRow.id == job_id, JobRow.owner == self.owner)
        with self._database.begin() as session:
            changed = session.execute(mine.values(**values))
        return bool(getattr(changed, "rowcount", 0))

    def beat(self, at_work: Collection[str]) -> None:
        """Show that this server lives, on the jobs that it is at work on."""
        mine = update(JobRow).where(JobRow.owner == self.owner, JobRow.id.in_(at_work))
        now = self.now()
        with self._database.begin() as session:
            session.execute(mine.values(beat_at=now))

    def ask_to_stop(self, job_id: str) -> bool:
        """Tell the server that does a job, whichever it is, to end it; False where it has ended."""
        still_open = update(JobRow).where(JobRow.id == job_id, JobRow.state.in_(OPEN))
        with self._database.begin() as session:
            changed = session.execute(still_open.values(stopping=True))
        return bool(getattr(changed, "rowcount", 0))

    def to_stop(self, at_work: Collection[str]) -> list[str]:
        """Those of these jobs that a server was asked to end."""
        wanted = select(JobRow.id).where(JobRow.id.in_(at_work), JobRow.stopping)
        with self._database.read() as session:
            return list(session.scalars(wanted))

    def give_back(self, job_id: str) -> None:
        """Let any server go on with a job, this one too."""
        self.set_values(job_id, state=str(JobState.WAITING), beat_at=0.0)

    def release(self) -> None:
        """Give all open jobs up: the next server that looks goes on with them."""
        mine = update(JobRow).where(JobRow.owner == self.owner, JobRow.state.in_(OPEN))
        with self._database.begin() as session:
            session.execute(mine.values(beat_at=0.0))

    def end(
        self,
        job_id: str,
        state: JobState,
        *,
        result: Mapping[str, Any] | None = None,
        problem: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> bool:
        """Write how a job ended."""
        return self.set_values(
            job_id,
            state=str(state),
            result=None if result is None else dict(result),
            problem=None if problem is None else dict(problem),
            ended_at=self._database.clock(),
            **values,
        )

    def adopt(self, row: JobRow) -> bool:
        """Take a job that no server is at work on; False where another server was first."""
        as_read = (JobRow.owner == row.owner) & (JobRow.beat_at == row.beat_at)
        taken = update(JobRow).where(JobRow.id == row.id, as_read, JobRow.state.in_(OPEN))
        now = self.now()
        with self._database.begin() as session:
            changed = session.execute(taken.values(owner=self.owner, beat_at=now))
        return bool(getattr(changed, "rowcount", 0))


def job_row(row: JobRow) -> Document:
    """A job for programs."""
    return {
        "id": row.id,
        "kind": row.kind,
        "cluster": row.cluster,
        "who": row.who,
        "state": row.state,
        "request": row.request,
        "progress": row.progress,
        "result": row.result,
        "problem": row.problem,
        "run": row.run,
        "created_at": row.created_at,
        "ended_at": row.ended_at,
    }
