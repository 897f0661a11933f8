"""Clusters, their brokers and partitions, from what was last read of them; and their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from kedge.errors import ClusterUnavailable, TooManyRequests, UnknownBroker
from kedge.web.access.roles import Principal
from kedge.web.api.requests import (
    Account,
    ClusterName,
    ListenerOf,
    Reader,
    ServicesOf,
    answer,
    answer_encoded,
)
from kedge.web.clusters.view import ClusterView
from kedge.web.clusters.watcher import Observed
from kedge.web.events import Listener, encode_event
from kedge.web.services import Services, cluster_channel, observed_event, observed_row

router = APIRouter(prefix="/api/v1/clusters", tags=["clusters"])


class LoadsShown(BaseModel):
    """The rates of a cluster; `source` is null where the settings name none."""

    source: str | None
    known: bool
    as_of: float | None
    statistic: str | None
    partitions: int
    minutes: int
    rules: dict[str, int]
    cpu_explained: float | None
    problem: str | None


FIRST_READ_S = 20.0
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get("")
def list_clusters(principal: Account, services: ServicesOf) -> Response:
    """Every cluster that the account may read, with its health."""
    names = readable_clusters(services, principal)
    return answer({"clusters": [_cluster_row(services, name, principal) for name in names]})


@router.get("/{cluster}")
def show_cluster(cluster: ClusterName, principal: Reader, services: ServicesOf) -> Response:
    """One cluster with its health."""
    return answer(_cluster_row(services, cluster, principal))


@router.get("/{cluster}/brokers")
def list_brokers(
    cluster: ClusterName, request: Request, _: Reader, services: ServicesOf
) -> Response:
    """The brokers as columns: racks, replicas, leaders, disks."""
    return answer_encoded(request, view_of(services, cluster).encoded_brokers)


@router.get("/{cluster}/brokers/{broker}")
def show_broker(
    cluster: ClusterName,
    broker: Annotated[int, Path(ge=0, le=2**31 - 1)],
    _: Reader,
    services: ServicesOf,
) -> Response:
    """One broker."""
    found = [row for row in view_of(services, cluster).brokers if row["id"] == broker]
    if not found:
        raise UnknownBroker(f"The cluster {cluster} has no broker {broker}")
    return answer(found[0])


@router.get("/{cluster}/partitions")
def list_partitions(
    cluster: ClusterName, request: Request, _: Reader, services: ServicesOf
) -> Response:
    """Every partition, as columns beside the list of topics."""
    return answer_encoded(request, view_of(services, cluster).encoded_partitions)


@router.get("/{cluster}/loads", response_model=LoadsShown)
def show_loads(cluster: ClusterName, _: Reader, services: ServicesOf) -> Response:
    """Where the rates of partitions come from, how many have them, and what went wrong last."""
    return answer(services.registry.loads[cluster].row())


@router.get(
    "/{cluster}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
def watch_cluster(
    cluster: ClusterName, listener: ListenerOf, services: ServicesOf
) -> StreamingResponse:
    """Server-sent events of a cluster.

    `observed` after each read, `changes` where it found any, `job` when one ends; of the loop:
    `loop` after each sample, `proposal` and `finding` when one appears or changes.
    """
    watcher = services.watchers[cluster]

    def first() -> bytes:
        return encode_event("observed", observed_event(cluster, watcher.observed))

    return stream_response(services, cluster_channel(cluster), first, listener)


def stream_response(
    services: Services, channel: str, first: Callable[[], bytes], listener: Listener
) -> StreamingResponse:
    """Events of a channel for a browser's EventSource."""
    services.broadcaster.check_room(listener.account)
    stream = services.broadcaster.stream(channel, first, listener)
    return StreamingResponse(stream, 200, STREAM_HEADERS, "text/event-stream")


def view_of(services: Services, cluster: str) -> ClusterView:
    """The latest view of a cluster; the first request waits for the first read.

    Raises:
        ClusterUnavailable: the cluster was never read.
    """
    observed = services.watchers[cluster].observed
    if not observed.version:
        observed = _first_read(services, cluster)
    if observed.view is None:
        what = (observed.problem or {}).get("detail", "it was not read yet")
        raise ClusterUnavailable(f"The cluster {cluster} cannot be read: {what}")
    return observed.view


def _first_read(services: Services, cluster: str) -> Observed:
    """What the first read shows, for as many requests as may hold a thread for a cluster."""
    try:
        with services.registry.places[cluster].held():
            return services.watchers[cluster].await_version(1, FIRST_READ_S)
    except TooManyRequests as error:  # pages ask again where it is not read yet
        raise ClusterUnavailable(f"The cluster {cluster} was not read yet") from error


def readable_clusters(services: Services, principal: Principal) -> list[str]:
    """The clusters that an account may read."""
    return [name for name in services.registry.names if principal.role_on(name) is not None]


def _cluster_row(services: Services, name: str, principal: Any) -> dict[str, Any]:
    role = principal.role_on(name)
    return {
        "name": name,
        "role": None if role is None else str(role),
        "bootstrap_servers": services.registry.of(name).bootstrap_servers,
        **observed_row(services.watchers[name].observed),
    }
