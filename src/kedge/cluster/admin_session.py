"""Keeps connections to the brokers of a cluster, and retries requests where that is safe.

Reads are retried until the deadline, on another broker where any will do. A change is retried only
where nothing can have happened: the connection did not exist, the broker is not the controller, or
the quota of changes is exceeded. Any other fault is raised. A wrong password or an untrusted
certificate is raised at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from kedge.cluster.access import Access
from kedge.cluster.broker_connection import Address, Connection, NothingSent
from kedge.cluster.deadline import Deadline
from kedge.cluster.error_mapping import NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED
from kedge.cluster.tls import tls_context
from kedge.errors import (
    ClusterUnavailable,
    KedgeError,
    MalformedInput,
    NotController,
    QuotaExceeded,
    RequestTimedOut,
    Unavailable,
    UnknownBroker,
)
from kedge.model import Broker, BrokerId, Endpoint
from kedge.protocol.messages import MetadataRequest, MetadataResponse

PAUSE_S = 0.1
PAUSE_MAX_S = 2.0
CONNECT_MS = 10_000
FIRST_CONTACT_MS = 5_000
# The share of the time to an answer that a broker may spend on waiting.
PATIENCE = 0.9

_MOVING = NotController("the controller is moving", hint="try again")
_TOO_FAST = QuotaExceeded("too many changes in too short a time", hint="try again later")

Response = TypeVar("Response")
Codes = Callable[[Any], Iterable[int]]


def no_codes(response: Any) -> Iterable[int]:
    """For responses whose error codes do not matter to retries."""
    return ()


class _Backoff:
    """Exponential backoff between attempts; at the deadline the last fault is raised."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._pause_s = PAUSE_S

    def wait_or_raise(
        self, fault: Unavailable, *, change: bool = False, at_least_s: float = 0.0
    ) -> None:
        """Wait, or raise the fault: a change that may have happened is not sent again."""
        if (change and not isinstance(fault, NothingSent)) or not fault.retriable:
            raise fault
        try:
            self._deadline.pause(max(self._pause_s, at_least_s))
            self._deadline.left_s()
        except RequestTimedOut:
            raise fault from None
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)


class Session:
    """The brokers of one cluster; connections are opened when they are needed."""

    def __init__(self, bootstrap: Sequence[Address], access: Access) -> None:
        self._bootstrap = tuple(bootstrap)
        self._access = access
        self._context = tls_context(access) if access.tls else None
        self._connections: dict[BrokerId | Address, Connection] = {}
        self._brokers: dict[BrokerId, Broker] = {}
        self._controller: BrokerId | None = None
        self.cluster_id = ""

    def deadline(self) -> Deadline:
        """The end of a call that begins now."""
        return Deadline(self._access.call_timeout_ms)

    def patience_ms(self, deadline: Deadline) -> int:
        """How long a broker may wait for the end of a change before it answers all the same.

        Sooner than this client stops listening: the answer then tells topic by topic what is done,
        where a time-out would leave all of them unknown.
        """
        listening_ms = min(self._access.request_timeout_ms, deadline.left_ms())
        return max(1, int(PATIENCE * listening_ms))

    # ---- metadata -------------------------------------------------------------------------------

    def refresh(self, deadline: Deadline) -> tuple[Broker, ...]:
        """Read the live brokers and the controller."""
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        self._update(self.send(request, MetadataResponse, deadline))
        return tuple(self._brokers[b] for b in sorted(self._brokers))

    @property
    def controller(self) -> BrokerId | None:
        """The controller at the last refresh."""
        return self._controller

    def _update(self, metadata: MetadataResponse) -> None:
        self._brokers = {BrokerId(each.node_id): _broker(each) for each in metadata.brokers}
        known = BrokerId(metadata.controller_id)
        self._controller = known if known in self._brokers else None
        self.cluster_id = metadata.cluster_id or ""

    # ---- requests -------------------------------------------------------------------------------

    def send(
        self,
        request: Any,
        kind: type[Response],
        deadline: Deadline,
        *,
        node: BrokerId | None = None,
        change: bool = False,
    ) -> Response:
        """Send a request to any broker, or to a certain one, until it responds."""
        backoff = self._backoff(deadline)
        while True:
            try:
                return self._send_once(request, kind, deadline, node)
            except Unavailable as fault:
                backoff.wait_or_raise(fault, change=change)

    def round_trip(self, node: BrokerId, timeout_ms: int) -> float | KedgeError:
        """The seconds that a broker takes to answer; a fault is not retried.

        An open connection is used where there is one: connecting is not what is measured.
        """
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        deadline = Deadline(timeout_ms)
        try:
            self._connection_to(node, deadline)
            began = time.monotonic()
            self._send_once(request, MetadataResponse, deadline, node)
        except (Unavailable, UnknownBroker) as fault:
            return fault
        return time.monotonic() - began

    def send_to_controller(
        self,
        request: Any,
        kind: type[Response],
        deadline: Deadline,
        codes: Codes,
        *,
        change: bool = True,
    ) -> Response:
        """Send a request to the controller; it is looked up again whenever it has moved or died."""
        self._known_controller(deadline)
        backoff = _Backoff(deadline)
        while True:
            try:
                answer = self._send_once(request, kind, deadline, self._known_controller(deadline))
            except UnknownBroker:
                self._controller = None
                backoff.wait_or_raise(_MOVING)
                continue
            except Unavailable as fault:
                self._controller = None
                backoff.wait_or_raise(fault, change=change)
                continue
            found = set(codes(answer))
            if not found or not found <= {NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED}:
                return answer
            self._controller = None
            slow_s = getattr(answer, "throttle_time_ms", 0) / 1000
            fault = _MOVING if NOT_CONTROLLER in found else _TOO_FAST
            backoff.wait_or_raise(fault, at_least_s=slow_s)

    def _backoff(self, deadline: Deadline) -> _Backoff:
        # A cluster that was never reached is reported soon; a known one may be restarting.
        return _Backoff(deadline if self._brokers else deadline.within(FIRST_CONTACT_MS))

    def supports(self, request: Any, deadline: Deadline) -> bool:
        """Whether the brokers support such requests, by the versions of one of them."""
        return self._any_connection(deadline).supports(request)

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _send_once(
        self, request: Any, kind: type[Response], deadline: Deadline, node: BrokerId | None
    ) -> Response:
        if node is None:
            connection = self._any_connection(deadline)
        else:
            connection = self._connection_to(node, deadline)
        try:
            return connection.send(request, kind, deadline.within(self._access.request_timeout_ms))
        except Unavailable:
            self._drop(connection)
            raise

    def _known_controller(self, deadline: Deadline) -> BrokerId:
        backoff = _Backoff(deadline)
        while self._controller is None:
            self.refresh(deadline)
            if self._controller is None:
                backoff.wait_or_raise(NotController("the cluster has no controller"))
        return self._controller

    # ---- connections ----------------------------------------------------------------------------

    def _connection_to(self, node: BrokerId, deadline: Deadline) -> Connection:
        if node in self._connections:
            return self._connections[node]
        if node not in self._brokers:
            self.refresh(deadline)
        if node not in self._brokers:
            raise UnknownBroker(f"Broker {node} is down")
        try:
            return self._connect(node, _address_of(self._brokers[node]), deadline)
        except ClusterUnavailable:
            del self._brokers[node]  # it may have moved: the next attempt refreshes first
            raise

    def _any_connection(self, deadline: Deadline) -> Connection:
        """An open connection, else one to a known broker, else to the first bootstrap server."""
        if self._connections:
            return next(iter(self._connections.values()))
        known = {
            b.id: Address(b.endpoints[0].host, b.endpoints[0].port) for b in self._brokers.values()
        }
        places: list[tuple[BrokerId | Address, Address]] = [
            *known.items(),
            *((address, address) for address in self._bootstrap),
        ]
        faults: list[ClusterUnavailable] = []
        for key, address in places:
            try:
                return self._connect(key, address, deadline)
            except ClusterUnavailable as fault:
                faults.append(fault)
        raise _none_reached(faults)

    def _connect(self, key: BrokerId | Address, address: Address, deadline: Deadline) -> Connection:
        made = Connection(address, self._access, self._context, deadline.within(CONNECT_MS))
        self._connections[key] = made
        return made

    def _drop(self, connection: Connection) -> None:
        connection.close()
        self._connections = {k: c for k, c in self._connections.items() if c is not connection}


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """The addresses of `--bootstrap-server`: `host:port`, separated by commas."""
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if not pieces:
        raise MalformedInput("no address", place="--bootstrap-server", hint="write host:port")
    return tuple(_address(piece) for piece in pieces)


def _address(piece: str) -> Address:
    host, colon, port = piece.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise MalformedInput(
            f"{piece!r} is not an address", place="--bootstrap-server", hint="write host:port"
        )
    return Address(host, int(port))


def _address_of(broker: Broker) -> Address:
    (endpoint,) = broker.endpoints
    return Address(endpoint.host, endpoint.port)


def _broker(each: MetadataResponse.MetadataResponseBroker) -> Broker:
    endpoint = Endpoint("", each.host, each.port)
    return Broker(BrokerId(each.node_id), each.rack, endpoints=(endpoint,))


def _none_reached(faults: Sequence[ClusterUnavailable]) -> ClusterUnavailable:
    """One sentence for all addresses that were tried, with the fault of the last."""
    last = faults[-1]
    others = f" ({len(faults) - 1} more tried)" if len(faults) > 1 else ""
    return NothingSent(f"no broker reached: {last.what}{others}", hint=last.hint)
