"""Snapshots: taken of the live cluster, listed, and downloaded as files of the command line."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from kedge.web.access.roles import Role
from kedge.web.api.requests import (
    Change,
    ClusterName,
    Done,
    Reader,
    ServicesOf,
    answer,
    changes,
)
from kedge.web.tables import SnapshotRow

router = APIRouter(prefix="/api/v1/clusters/{cluster}/snapshots", tags=["snapshots"])

DocumentId = Annotated[str, Path(min_length=1, max_length=32, pattern="^[0-9a-f]+$")]


@router.get("")
def list_snapshots(cluster: ClusterName, _: Reader, services: ServicesOf) -> Response:
    """The newest snapshots first."""
    rows = services.jobs.documents.snapshots(cluster)
    return answer({"snapshots": [snapshot_row(row) for row in rows]})


@router.post("", status_code=201)
def create_snapshot(
    cluster: ClusterName,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.PLAN, "snapshot.take", in_read_only=True)],
) -> Response:
    """Take a snapshot of the live cluster and keep it."""

    def act() -> Done:
        with services.registry.open(cluster) as opened:
            snapshot = services.registry.snapshot_of(opened, cluster)
        kept = services.jobs.documents.keep_snapshot(cluster, snapshot, change.principal.name)
        return Done(snapshot_row(kept), 201, f"snapshot {kept.id}")

    return change.make(act)


@router.get("/{snapshot}")
def show_snapshot(
    cluster: ClusterName, snapshot: DocumentId, _: Reader, services: ServicesOf
) -> Response:
    """The snapshot as a file that `kedge plan --snapshot` reads."""
    row = services.jobs.documents.snapshot_row(cluster, snapshot)
    return download(row.data, f"{cluster}-{row.id}.snapshot.json.gz", "application/gzip")


def download(data: bytes, name: str, media: str) -> Response:
    """A file for the browser to keep."""
    return Response(data, 200, {"Content-Disposition": f'attachment; filename="{name}"'}, media)


def snapshot_row(row: SnapshotRow) -> dict[str, Any]:
    """A snapshot for programs, without its content."""
    names = ("id", "cluster", "taken_at", "sha256", "partitions", "brokers", "who")
    return {name: getattr(row, name) for name in names}
