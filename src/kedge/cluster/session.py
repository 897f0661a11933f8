"""Connections to the brokers of a cluster, and the rules of asking again.

Reads are asked again, of another broker where it does not matter which, until the deadline. A
change is asked again only where nothing can have happened: the connection was not there, or the
broker said that it is not the controller, or that we are too fast. Otherwise the fault is told.
A wrong password or an untrusted certificate is told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from kedge.cluster.access import Access
from kedge.cluster.deadline import Deadline
from kedge.cluster.error_mapping import NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED
from kedge.cluster.tls import tls_context
from kedge.cluster.wire import Address, Connection, NothingSent
from kedge.errors import (
    ClusterUnavailable,
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

_MOVING = NotController("the controller is moving", hint="try again")
_TOO_FAST = QuotaExceeded("too many changes in too short a time", hint="try again later")

Response = TypeVar("Response")
Codes = Callable[[Any], Iterable[int]]


def no_codes(response: Any) -> Iterable[int]:
    """For answers whose codes do not matter to the asking."""
    return ()


class _Waits:
    """Ever longer waits between attempts; at the deadline the last fault is the answer."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._pause_s = PAUSE_S

    def before_asking_again(
        self, fault: Unavailable, *, change: bool = False, at_least_s: float = 0.0
    ) -> None:
        """Wait, or raise the fault: a change that may have happened is not asked for again."""
        if (change and not isinstance(fault, NothingSent)) or not fault.retriable:
            raise fault
        try:
            self._deadline.pause(max(self._pause_s, at_least_s))
            self._deadline.left_s()
        except RequestTimedOut:
            raise fault from None
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)


class Session:
    """The brokers of one cluster, connected to as they are needed."""

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

    # ---- who is there ---------------------------------------------------------------------------

    def refresh(self, deadline: Deadline) -> tuple[Broker, ...]:
        """Ask who is alive and in charge."""
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        self._learn(self.ask(request, MetadataResponse, deadline))
        return tuple(self._brokers[b] for b in sorted(self._brokers))

    @property
    def controller(self) -> BrokerId | None:
        """Who was in charge when last asked."""
        return self._controller

    def _learn(self, metadata: MetadataResponse) -> None:
        self._brokers = {BrokerId(each.node_id): _broker(each) for each in metadata.brokers}
        known = BrokerId(metadata.controller_id)
        self._controller = known if known in self._brokers else None
        self.cluster_id = metadata.cluster_id or ""

    # ---- asking ---------------------------------------------------------------------------------

    def ask(
        self,
        request: Any,
        kind: type[Response],
        deadline: Deadline,
        *,
        node: BrokerId | None = None,
        change: bool = False,
    ) -> Response:
        """Ask any broker, or a certain one, until there is an answer."""
        waits = self._waits(deadline)
        while True:
            try:
                return self._ask_once(request, kind, deadline, node)
            except Unavailable as fault:
                waits.before_asking_again(fault, change=change)

    def ask_controller(
        self,
        request: Any,
        kind: type[Response],
        deadline: Deadline,
        codes: Codes,
        *,
        change: bool = True,
    ) -> Response:
        """Ask the controller, looking for it anew as often as it has moved or died."""
        self._in_charge(deadline)
        waits = _Waits(deadline)
        while True:
            try:
                answer = self._ask_once(request, kind, deadline, self._in_charge(deadline))
            except UnknownBroker:
                self._controller = None
                waits.before_asking_again(_MOVING)
                continue
            except Unavailable as fault:
                self._controller = None
                waits.before_asking_again(fault, change=change)
                continue
            found = set(codes(answer))
            if not found or not found <= {NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED}:
                return answer
            self._controller = None
            slow_s = getattr(answer, "throttle_time_ms", 0) / 1000
            fault = _MOVING if NOT_CONTROLLER in found else _TOO_FAST
            waits.before_asking_again(fault, at_least_s=slow_s)

    def _waits(self, deadline: Deadline) -> _Waits:
        # Whom nobody has ever reached is told so soon; whom we knew may only be restarting.
        return _Waits(deadline if self._brokers else deadline.within(FIRST_CONTACT_MS))

    def knows(self, request: Any, deadline: Deadline) -> bool:
        """Whether the brokers know such requests (one of them is asked)."""
        return self._any_connection(deadline).knows(request)

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _ask_once(
        self, request: Any, kind: type[Response], deadline: Deadline, node: BrokerId | None
    ) -> Response:
        if node is None:
            connection = self._any_connection(deadline)
        else:
            connection = self._connection_to(node, deadline)
        try:
            return connection.ask(request, kind, deadline.within(self._access.request_timeout_ms))
        except Unavailable:
            self._drop(connection)
            raise

    def _in_charge(self, deadline: Deadline) -> BrokerId:
        waits = _Waits(deadline)
        while self._controller is None:
            self.refresh(deadline)
            if self._controller is None:
                waits.before_asking_again(NotController("the cluster has no controller"))
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
            del self._brokers[node]  # it may be gone or elsewhere: the next attempt looks first
            raise

    def _any_connection(self, deadline: Deadline) -> Connection:
        """One that is there, else to a known broker, else to the first that lets us in."""
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
        raise _nobody(faults)

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


def _nobody(faults: Sequence[ClusterUnavailable]) -> ClusterUnavailable:
    """One sentence for all that were tried; the last one's words stand for the others'."""
    last = faults[-1]
    others = f" ({len(faults) - 1} more tried)" if len(faults) > 1 else ""
    return NothingSent(f"no broker reached: {last.what}{others}", hint=last.hint)
