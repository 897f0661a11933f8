"""Liveness, readiness and metrics, for what watches over the server itself."""

from __future__ import annotations

import asyncio
from math import nan
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from kedge.web.access.roles import Role
from kedge.web.api.requests import Account, ServicesOf, answer, services_in
from kedge.web.loop.loop_rows import OPEN
from kedge.web.services import Services, state_of

router = APIRouter(tags=["health"])

PROPOSALS_MAX = 200
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


# The probes take no thread of the pool that requests share: those may all wait for a dead cluster.


@router.get("/health/live")
async def live() -> Response:
    """Whether the process answers."""
    return answer({"status": "live"})


@router.get("/health/ready")
async def ready(request: Request) -> Response:
    """Whether requests can be served: the database answers. Clusters may be down."""
    available = await asyncio.to_thread(services_in(request).database.is_available)
    return answer({"status": "ready" if available else "no database"}, 200 if available else 503)


@router.get("/metrics")
def metrics(principal: Account, services: ServicesOf) -> Response:
    """Figures of the server and its clusters in Prometheus' text form; needs a token that reads."""
    principal.require_everywhere(Role.READ)
    return Response(metrics_of(services), media_type=CONTENT_TYPE_LATEST)


def metrics_of(services: Services) -> bytes:
    """The figures as Prometheus reads them."""
    return generate_latest(_collected(services))


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
    _collect_loops(registry, services)
    return registry


def _collect_loops(registry: CollectorRegistry, services: Services) -> None:
    """Figures of the loops; a loop that no server leads shows by the age of its last sample."""

    def gauge(name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"kedge_loop_{name}", text, ("cluster", *labels), registry=registry)

    leads = gauge("leads", "Whether this server leads the loop of the cluster")
    found = gauge("findings", "Findings of the last sample")
    age = gauge("sample_age_seconds", "Seconds since the loop has last looked at the cluster")
    proposals = gauge("proposals", "Proposals that have not ended, by state", "state")
    now = services.database.clock()
    for name, records in services.loops.records.items():
        at, findings = records.findings_at()
        leads.labels(name).set(services.loops.leads(name))
        found.labels(name).set(len(findings))
        age.labels(name).set(nan if at is None else max(now - at, 0.0))
        states = [each.state for each in records.latest_proposals(PROPOSALS_MAX, OPEN)]
        for state in OPEN:
            proposals.labels(name, state.value).set(states.count(state))
