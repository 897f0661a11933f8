"""Snapshots, plans and predictions that the server keeps, as compressed documents."""

from __future__ import annotations

import gzip
import hashlib
from typing import Any, TypeVar

import orjson
from sqlalchemy import select
from sqlalchemy.orm import undefer

from kedge.database import Database
from kedge.errors import UnknownResource
from kedge.model import Snapshot, sha256_of_snapshot
from kedge.model.snapshot_json import parse_snapshot, snapshot_to_json
from kedge.plan import Plan, parse_plan, plan_to_json
from kedge.web.access.secrets import new_id
from kedge.web.tables import PlanRow, PredictionRow, SnapshotRow

Document = dict[str, Any]
T = TypeVar("T")


class Documents:
    """What was kept, by id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # ---- snapshots ------------------------------------------------------------------------------

    def keep_snapshot(self, cluster: str, snapshot: Snapshot, who: str) -> SnapshotRow:
        """Keep a snapshot; one with the same content is kept once."""
        digest = sha256_of_snapshot(snapshot)
        same = select(SnapshotRow).where(
            SnapshotRow.cluster == cluster, SnapshotRow.sha256 == digest
        )
        with self._database.read() as session:
            known = session.scalar(same.limit(1))
        if known is not None:
            return known
        taken_at = snapshot.taken_at
        row = SnapshotRow(
            id=new_id(),
            cluster=cluster,
            taken_at=self._database.clock() if taken_at is None else taken_at.timestamp(),
            sha256=digest,
            partitions=len(snapshot),
            brokers=len(snapshot.brokers),
            who=who,
            data=gzip.compress(snapshot_to_json(snapshot), 3),
        )
        with self._database.begin() as session:
            session.add(row)
        return row

    def snapshots(self, cluster: str, limit: int = 100) -> list[SnapshotRow]:
        """The newest snapshots of a cluster first."""
        wanted = select(SnapshotRow).where(SnapshotRow.cluster == cluster)
        with self._database.read() as session:
            return list(session.scalars(wanted.order_by(SnapshotRow.taken_at.desc()).limit(limit)))

    def snapshot(self, cluster: str, snapshot_id: str) -> Snapshot:
        """One snapshot."""
        return parse_snapshot(gzip.decompress(self.snapshot_row(cluster, snapshot_id).data))

    def snapshot_row(self, cluster: str, snapshot_id: str) -> SnapshotRow:
        """One snapshot with its document."""
        wanted = select(SnapshotRow).where(
            SnapshotRow.cluster == cluster, SnapshotRow.id == snapshot_id
        )
        with self._database.read() as session:
            row = session.scalar(wanted.options(undefer(SnapshotRow.data)))
        return _found(row, "snapshot", snapshot_id)

    # ---- plans ----------------------------------------------------------------------------------

    def keep_plan(
        self,
        cluster: str,
        snapshot_id: str,
        plan: Plan,
        who: str,
        *,
        summary: Document,
        details: Document,
    ) -> PlanRow:
        """Keep a plan with its figures (`summary`) and what pages draw of it (`details`)."""
        text = plan_to_json(plan)
        row = PlanRow(
            id=new_id(),
            cluster=cluster,
            snapshot_id=snapshot_id,
            created_at=self._database.clock(),
            who=who,
            summary=summary,
            details=details,
            sha256=hashlib.sha256(text).hexdigest(),
            data=gzip.compress(text, 3),
        )
        with self._database.begin() as session:
            session.add(row)
        return row

    def plans(self, cluster: str, limit: int = 100, *, sha256: str | None = None) -> list[PlanRow]:
        """The newest plans of a cluster first; those whose file has this digest, where given."""
        wanted = select(PlanRow).where(PlanRow.cluster == cluster)
        if sha256 is not None:
            wanted = wanted.where(PlanRow.sha256 == sha256)
        with self._database.read() as session:
            return list(session.scalars(wanted.order_by(PlanRow.created_at.desc()).limit(limit)))

    def plan_row(self, cluster: str, plan_id: str) -> PlanRow:
        """One plan with its document."""
        wanted = select(PlanRow).where(PlanRow.cluster == cluster, PlanRow.id == plan_id)
        with self._database.read() as session:
            row = session.scalar(wanted.options(undefer(PlanRow.data)))
        return _found(row, "plan", plan_id)

    def plan(self, cluster: str, plan_id: str) -> Plan:
        """One plan."""
        return parse_plan(gzip.decompress(self.plan_row(cluster, plan_id).data))

    # ---- predictions ----------------------------------------------------------------------------

    def keep_prediction(
        self, cluster: str, plan_id: str, who: str, options: Document, row: Document
    ) -> PredictionRow:
        """Keep a prediction; its moves, disks and brokers are in the document alone."""
        short = {name: v for name, v in row.items() if name not in ("moves", "disks", "brokers")}
        kept = PredictionRow(
            id=new_id(),
            cluster=cluster,
            plan_id=plan_id,
            created_at=self._database.clock(),
            who=who,
            options=options,
            summary=short,
            data=gzip.compress(orjson.dumps(row), 3),
        )
        with self._database.begin() as session:
            session.add(kept)
        return kept

    def predictions(self, cluster: str, plan_id: str) -> list[PredictionRow]:
        """The predictions of a plan, newest first."""
        wanted = select(PredictionRow).where(
            PredictionRow.cluster == cluster, PredictionRow.plan_id == plan_id
        )
        with self._database.read() as session:
            return list(session.scalars(wanted.order_by(PredictionRow.created_at.desc())))

    def prediction_row(self, cluster: str, prediction_id: str) -> PredictionRow:
        """One prediction with its document."""
        wanted = select(PredictionRow).where(
            PredictionRow.cluster == cluster, PredictionRow.id == prediction_id
        )
        with self._database.read() as session:
            row = session.scalar(wanted.options(undefer(PredictionRow.data)))
        return _found(row, "prediction", prediction_id)


def _found(row: T | None, kind: str, name: str) -> T:
    if row is None:
        raise UnknownResource(f"No {kind} has the id {name!r}")
    return row
