"""Liveness, readiness and metrics, for what watches over the server itself."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from kedge.web.access.roles import Role
from kedge.web.api.requests import Account, ServicesOf, answer
from kedge.web.services import Services, state_of

router = APIRouter(tags=["health"])

FIGURES = {
    "brokers": "Brokers of the cluster",
    "brokers_down": "Brokers that hold replicas and are not alive",
    "partitions": "Partitions of the cluster",
    "under_replicated": "Partitions with replicas that are not in sync",
    "offline": "Partitions without a leader",
    "moving": "Partitions that are being moved",
    "away_from_preferred": "Partitions that are not led by their preferred replica",
    "bytes": "Bytes that all replicas take",
}


@router.get("/health/live")
def live() -> Response:
    """Whether the process answers."""
    return answer({"status": "live"})


@router.get("/health/ready")
def ready(services: ServicesOf) -> Response:
    """Whether requests can be served: the database answers. Clusters may be down."""
    available = services.database.is_available()
    return answer({"status": "ready" if available else "no database"}, 200 if available else 503)


@router.get("/metrics")
def metrics(principal: Account, services: ServicesOf) -> Response:
    """Figures of the server and its clusters in Prometheus' text form; needs a token that reads."""
    principal.require_everywhere(Role.READ)
    return Response(generate_latest(_collected(services)), media_type=CONTENT_TYPE_LATEST)


def _collected(services: Services) -> CollectorRegistry:
    registry = CollectorRegistry()

    def gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"kedge_{name}", text, labels, registry=registry)

    gauge("server_streams", "Open streams of events").set(services.broadcaster.listeners)
    unfinished = services.jobs.store.unfinished()
    gauge("server_jobs", "Jobs that have not ended").set(len(unfinished))
    reachable = gauge("cluster_reachable", "Whether the cluster was read", ("cluster",))
    age = gauge("cluster_read_seconds", "Seconds that the last read took", ("cluster",))
    figures = {name: gauge(f"cluster_{name}", text, ("cluster",)) for name, text in FIGURES.items()}
    for name, watcher in services.watchers.items():
        observed = watcher.observed
        reachable.labels(name).set(state_of(observed) not in ("unreachable", "unknown"))
        if observed.view is None:
            continue
        age.labels(name).set(observed.view.took_s)
        summary: dict[str, Any] = observed.view.summary
        for figure, collector in figures.items():
            collector.labels(name).set(summary[figure])
    return registry
