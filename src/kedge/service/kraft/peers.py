"""Requests of this node to other controllers: raft's, and the registration of a standby."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

from kedge.kraft import Registration
from kedge.kraft_rpc.raft_calls import Call, call_of, response_of
from kedge.metadata.brokers import RegisterController
from kedge.protocol.controller_messages import CONTROLLER_REGISTRATION_REQUEST, FEATURE, LISTENER
from kedge.protocol.kraft_apis import CONTROLLER_REGISTRATION
from kedge.quorum.messages import ApiVersionsRequest, ApiVersionsResponse
from kedge.quorum.node import Send
from kedge.quorum.values import Endpoints
from kedge.service.kraft.channels import AuthenticationRefused, Channels
from kedge.service.kraft.properties import ServerProperties


class Peers:
    """The other controllers; every call raises one of `channels.CALL_FAILED` if it fails."""

    def __init__(
        self, properties: ServerProperties, *, timeout_ms: int, note: Callable[..., None]
    ) -> None:
        self._properties = properties
        self._note = note
        self._refused: dict[int, str] = {}  # why a peer or this node does not trust the other
        self._channels = Channels(timeout_ms=timeout_ms, security=properties.security)

    async def ask(self, send: Send) -> Any:
        """The answer to a request of raft."""
        try:
            answer = await self._answer(send)
        except (AuthenticationRefused, ssl.SSLError) as problem:
            self._on_refusal(send.peer, str(problem))
            raise
        self._refused.pop(send.peer, None)
        return answer

    def _on_refusal(self, peer: int, why: str) -> None:
        """Log it once: it is the configuration that must change, and raft tries again for ever."""
        if self._refused.get(peer) != why:
            self._refused[peer] = why
            self._note("peer refused", peer=peer, why=why)

    async def _answer(self, send: Send) -> Any:
        host, port = self._address(send)
        channel = self._channels.to(send.peer, host, port)
        if isinstance(send.message, ApiVersionsRequest):
            versions = (await channel.versions()).features.get("kraft.version")
            return ApiVersionsResponse(kraft_versions=versions)
        call = call_of(send.message)
        version, body = await channel.call(call)
        return response_of(call, version, body, self._properties.listener.listener)

    def _address(self, send: Send) -> tuple[str, int]:
        if send.endpoint is not None:
            return send.endpoint.host, send.endpoint.port
        if send.peer in self._properties.bootstrap:
            return self._properties.bootstrap[send.peer]
        known = self._properties.voters.endpoints(send.peer)
        if not known:
            raise OSError(f"the address of node {send.peer} is not known")
        return known[0].host, known[0].port

    async def register(self, registration: Registration, endpoints: Endpoints) -> None:
        """Register this node with the active controller."""
        at = endpoints[0]
        channel = self._channels.to(registration.leader, at.host, at.port, purpose="registration")
        await channel.call(Call(CONTROLLER_REGISTRATION, _registration(registration.request)))

    def close(self) -> None:
        """Drop all connections."""
        self._channels.close()


def _registration(request: RegisterController) -> Any:
    listeners = tuple(
        LISTENER(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
        for e in request.listeners
    )
    features = tuple(
        FEATURE(name=f.name, lowest=f.min_supported_version, highest=f.max_supported_version)
        for f in request.features
    )
    return CONTROLLER_REGISTRATION_REQUEST(
        controller_id=request.controller,
        incarnation=request.incarnation,
        listeners=listeners,
        features=features,
    )
