"""Events of all clusters in one stream: a browser has few connections to a server."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from kedge.errors import KedgeError
from kedge.web.api.clusters import STREAM_HEADERS, readable_clusters
from kedge.web.api.requests import Account, ServicesOf, services_in, signed_in
from kedge.web.events import KEEP_ALIVE, Listener, encode_event
from kedge.web.services import cluster_channel, observed_event

router = APIRouter(prefix="/api/v1/events", tags=["clusters"])


def listens_to_all(request: Request, principal: Account) -> Listener:
    """An account, for as long as it may read the clusters that it may read now, and no others."""
    services = services_in(request)
    names = readable_clusters(services, principal)

    def may_listen() -> bool:
        try:
            return readable_clusters(services, signed_in(request)) == names
        except KedgeError:
            return False

    return Listener(principal.name, may_listen)


@router.get(
    "",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
def watch_all_clusters(
    principal: Account,
    listener: Annotated[Listener, Depends(listens_to_all)],
    services: ServicesOf,
) -> StreamingResponse:
    """Server-sent events of every cluster that the account may read, as of each of them.

    `cluster` of an event names it. The stream ends when the account may read other clusters.
    """
    names = readable_clusters(services, principal)

    def first() -> bytes:
        seen = (observed_event(name, services.watchers[name].observed) for name in names)
        return b"".join(encode_event("observed", each) for each in seen) or KEEP_ALIVE

    services.broadcaster.check_room(listener.account)
    channels = [cluster_channel(name) for name in names]
    stream = services.broadcaster.stream_of(channels, first, listener)
    return StreamingResponse(stream, 200, STREAM_HEADERS, "text/event-stream")
