"""Removes what is older than its retention from the database of a server, once an hour.

    audit        entries older than `audit_days`
    jobs         that ended more than `documents_days` ago
    predictions  as old, unless a job that remains names them
    plans        likewise, without the predictions of others
    snapshots    likewise, that no plan was made from
    proposals    that ended as long ago, and no rule of the loop looks back to

0 days keep a kind for good. Several servers may do it at once: each removes what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from kedge.database import Database
from kedge.watch.loop import memory_of
from kedge.watch.policy import DAY_S
from kedge.watch_runtime.retention import forget_proposals
from kedge.web.audit import Audit
from kedge.web.jobs.job_store import OPEN
from kedge.web.periodic import PeriodicTask
from kedge.web.settings import ServerSettings
from kedge.web.tables import JobRow, PlanRow, PredictionRow, SnapshotRow

EVERY_S = 3600.0
ABANDONED_S = 3600.0  # a server that lives goes on with a job much sooner
ROWS_AT_ONCE = 500  # databases limit the parameters of a statement


class Housekeeping(PeriodicTask):
    """Removes what is past its retention, the first time at the start."""

    def __init__(self, database: Database, settings: ServerSettings) -> None:
        self._database, self._settings = database, settings
        super().__init__("housekeeping", EVERY_S, self.clean, at_once=True)

    def clean(self) -> None:
        """Remove what is past its retention now."""
        retention, now = self._settings.retention, self._database.clock()
        if retention.audit_days:
            Audit(self._database).forget_before(now - retention.audit_days * DAY_S)
        if retention.documents_days:
            self._clean_documents(now, now - retention.documents_days * DAY_S)

    def _clean_documents(self, now: float, before: float) -> None:
        for name, cluster in self._settings.clusters.items():
            looked_back_to = now - memory_of(cluster.policy)
            forget_proposals(self._database, name, min(before, looked_back_to))
        beats_since = self._database.now() - ABANDONED_S
        with self._database.begin() as session:
            session.execute(delete(JobRow).where(JobRow.ended_at < before))
            # a plan that is being made has its snapshot already, and names it only at its end
            if not _is_planning(session, beats_since):
                _forget_documents(session, before)


def _is_planning(session: Session, beats_since: float) -> bool:
    """Whether a plan is being made; the job of a server that died has no heartbeat."""
    alive = JobRow.beat_at > beats_since
    planning = select(JobRow.id).where(JobRow.kind == "plan", JobRow.state.in_(OPEN), alive)
    return session.scalar(planning.limit(1)) is not None


def _forget_documents(session: Session, before: float) -> None:
    """Delete old documents that nothing refers to: predictions first, then what they need."""
    named = _named_by_jobs(session)
    old = select(PredictionRow.id).where(PredictionRow.created_at < before)
    _delete(session, PredictionRow, set(session.scalars(old)) - named)
    old = select(PlanRow.id).where(PlanRow.created_at < before)
    predicted = set(session.scalars(select(PredictionRow.plan_id)))
    _delete(session, PlanRow, set(session.scalars(old)) - named - predicted)
    old = select(SnapshotRow.id).where(SnapshotRow.taken_at < before)
    planned = set(session.scalars(select(PlanRow.snapshot_id)))
    _delete(session, SnapshotRow, set(session.scalars(old)) - named - planned)


def _named_by_jobs(session: Session) -> set[str]:
    """Every text in the requests and results of jobs, ids of documents among them."""
    rows = session.execute(select(JobRow.request, JobRow.result))
    documents = (document for row in rows for document in row if document)
    return {value for each in documents for value in each.values() if isinstance(value, str)}


def _delete(session: Session, table: Any, ids: Iterable[str]) -> None:
    remaining = iter(sorted(ids))
    while some := list(islice(remaining, ROWS_AT_ONCE)):
        session.execute(delete(table).where(table.id.in_(some)))
