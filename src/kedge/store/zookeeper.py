"""The store on ZooKeeper, through kazoo.

A batch is sent whole before the client waits for its first reply (in bounded chunks, two of them in
flight), so ten thousand writes cost one round trip and not ten thousand. No request is ever sent
twice: when the connection breaks, the outcome is unknown, and the caller has to read before it
sends the request again.

An expired session stays expired for the caller until `renew_session`, although kazoo opens a new
one automatically: a client that lost its ephemeral nodes must know it before it writes again.

    store = ZooKeeperStore("zk1:2181,zk2:2181/kafka", session_timeout_ms=18_000)

Options of kazoo's client (TLS, SASL, digest users by `auth_data`) are passed in `options`. Secrets
among them are neither shown by `repr` nor logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError
from kazoo.protocol import serialization as wire
from kazoo.protocol.states import Callback, KazooState
from kazoo.retry import KazooRetry
from kazoo.security import OPEN_ACL_UNSAFE

from kedge.errors import InvalidRequest, SessionExpired, StoreUnavailable
from kedge.store.in_flight import Chunk, PendingReply
from kedge.store.kazoo_codec import KazooCodec, unknown_outcome
from kedge.store.multi_read import group_reads, supports_multi_read
from kedge.store.pipelining import PipeliningHandler
from kedge.store.port import (
    Answer,
    Exists,
    GetChildren,
    GetData,
    Listener,
    Multi,
    Request,
    Session,
    SessionChanged,
    StoreEvent,
    WatchFired,
    Write,
)
from kedge.store.request_checks import PACKET_BYTES_MAX, check_requests
from kedge.store.watch_recovery import (
    WatchedChildren,
    WatchedData,
    WatchedExists,
    Watcher,
    WatchRecovery,
    change_of,
)

IN_FLIGHT = 2_000

_KAZOO_READS: dict[type, Any] = {
    GetData: WatchedData,
    GetChildren: WatchedChildren,
    Exists: WatchedExists,
}


class ZooKeeperStore:
    """One session with a ZooKeeper ensemble; the constructor connects it."""

    def __init__(
        self,
        hosts: str,
        *,
        session_timeout_ms: int = 18_000,
        request_timeout_ms: int = 30_000,
        create_chroot: bool = False,
        bytes_max: int = PACKET_BYTES_MAX,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._hosts, self._root = _split_chroot(hosts)
        self._request_timeout_s = request_timeout_ms / 1000
        self._bytes_max = bytes_max
        options = dict(options or {})
        acl = options.pop("default_acl", None) or OPEN_ACL_UNSAFE
        self._codec = KazooCodec(self._root, acl)
        self._listener: Listener = _ignore_event
        self._expiries = 0
        self._expiries_acknowledged = 0
        self._closed = False
        self._restarting = False
        self._lost_watchers: list[Watcher] = []
        self._last_kazoo_event: Any = None
        self._client = KazooClient(
            hosts=self._hosts,
            timeout=session_timeout_ms / 1000,
            handler=PipeliningHandler(),
            connection_retry=KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=1.0),
            logger=_quiet_logger(),
            **options,
        )
        self._connect()
        self._client.add_listener(self._on_state)
        self._multi_read = self._server_supports_multi_read()
        self._find_chroot(create=create_chroot)

    def __repr__(self) -> str:
        return f"ZooKeeperStore({self._hosts}{self._root})"

    # ---- the port ----

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        check_requests(requests, bytes_max=self._bytes_max)
        self._check_reachable()
        kazoo_requests: Iterable[Any] = map(self._kazoo_request, requests)
        replies = self._replies(group_reads(kazoo_requests) if self._multi_read else kazoo_requests)
        return list(map(self._codec.answer, requests, replies))

    def renew_session(self) -> None:
        if self._closed:
            raise StoreUnavailable("this session with the store is closed")
        expiries = self._expiries
        if self._expired:
            self._await_connection()
        else:
            self._restart()
        self._expiries_acknowledged = expiries
        self._dispatch(self._on_renewed)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._client.remove_listener(self._on_state)
            self._client.stop()
            self._client.close()

    @property
    def _expired(self) -> bool:
        """Whether a session ended that the caller has not renewed yet."""
        return self._expiries != self._expiries_acknowledged

    # ---- sending ----

    def _kazoo_request(self, request: Request) -> Any:
        request_type = _KAZOO_READS.get(type(request))
        if request_type is None:
            return self._codec.write(cast("Write | Multi", request))
        read = cast("GetData | GetChildren | Exists", request)
        watcher = None
        if read.watch:
            watcher = Watcher(read.path, isinstance(read, GetChildren), self._on_watch)
        return request_type(self._codec.server_path(read.path), watcher)

    def _replies(self, requests: Iterable[Any]) -> list[Any]:
        """Return one reply for each request, errors included; two chunks are in flight."""
        deadline = time.monotonic() + self._request_timeout_s
        in_flight: deque[Chunk] = deque()
        replies: list[Any] = []
        rest = iter(requests)
        while some := list(islice(rest, IN_FLIGHT)):
            in_flight.append(self._send(some))
            if len(in_flight) > 1:
                replies += in_flight.popleft().wait(deadline)
        while in_flight:
            replies += in_flight.popleft().wait(deadline)
        return replies

    def _send(self, requests: list[Any]) -> Chunk:
        chunk = Chunk(requests)
        # kazoo's public calls add checks and callbacks that double the cost
        call = self._client._call  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]
        for index, request_type in enumerate(requests):
            call(request_type, PendingReply(chunk, index))
        return chunk

    def _check_reachable(self) -> None:
        if self._closed:
            raise StoreUnavailable("this session with the store is closed")
        if self._expired:
            raise SessionExpired("the session has expired", hint="begin a new one")
        if not self._client.connected:
            raise StoreUnavailable(f"no connection to {self._hosts}")

    # ---- connecting ----

    def _connect(self) -> None:
        live = cast("threading.Event", self._client.start_async())
        if not live.wait(self._request_timeout_s):
            self._closed = True
            self._client.stop()
            self._client.close()
            raise StoreUnavailable(
                f"No ZooKeeper server answers at {self._hosts}",
                hint="check the address and the servers",
            )

    def _await_connection(self) -> None:
        live = cast("threading.Event", self._client._live)  # pyright: ignore[reportPrivateUsage]
        if not live.wait(self._request_timeout_s):
            raise StoreUnavailable(f"no connection to {self._hosts}")

    def _restart(self) -> None:
        self._restarting = True
        try:
            self._client.stop()
            self._connect()
        finally:
            self._restarting = False

    def _server_supports_multi_read(self) -> bool:
        try:
            return supports_multi_read(cast("str", self._client.command(b"srvr")))
        except (OSError, KazooException, self._client.handler.timeout_exception):
            return False  # single reads are slower, but equivalent

    def _find_chroot(self, *, create: bool) -> None:
        if not self._root:
            return
        parts = self._root.split("/")
        if create:
            paths = ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]
            made = self._replies([wire.Create(p, None, OPEN_ACL_UNSAFE, 0) for p in paths])
            errors = [e for e in made if isinstance(e, Exception)]
            for error in errors:
                if not isinstance(error, NodeExistsError):
                    self.close()
                    raise unknown_outcome(error, self._root)
        elif self._replies([wire.Exists(self._root, None)])[0] is None:
            self.close()
            raise InvalidRequest(
                f"{self._hosts} has no node {self._root}", hint="check the path after the hosts"
            )

    # ---- kazoo's callbacks; watch events come on its one callback thread ----

    def _on_state(self, state: str) -> None:
        if self._restarting or self._closed:
            return
        if state == KazooState.LOST:
            self._expiries += 1
            self._dispatch(lambda: self._notify(SessionChanged(Session.EXPIRED)))
        elif not self._expired:
            self._dispatch(
                self._on_suspended if state == KazooState.SUSPENDED else self._on_resumed
            )

    def _on_suspended(self) -> None:
        self._notify(SessionChanged(Session.SUSPENDED))

    def _on_resumed(self) -> None:
        self._notify(SessionChanged(Session.CONNECTED))
        lost, self._lost_watchers = self._lost_watchers, []
        for watcher in lost:
            recovery = WatchRecovery(watcher, self._notify_later, self._recover_later)
            request_type = recovery.request(self._codec.server_path(watcher.path))
            self._client._call(request_type, recovery)  # pyright: ignore[reportPrivateUsage]

    def _on_renewed(self) -> None:
        self._lost_watchers.clear()
        self._notify(SessionChanged(Session.CONNECTED))

    def _notify_later(self, event: StoreEvent) -> None:
        self._dispatch(lambda: self._notify(event))

    def _recover_later(self, watcher: Watcher) -> None:
        self._dispatch(lambda: self._lost_watchers.append(watcher))

    def _on_watch(self, watcher: Watcher, event: Any) -> None:
        change = change_of(event)
        if change is None:
            self._lost_watchers.append(watcher)
        elif event is not self._last_kazoo_event:
            # kazoo calls both watchers of a deleted node, with one event
            self._last_kazoo_event = event
            self._notify(WatchFired(watcher.path, change))

    def _notify(self, event: StoreEvent) -> None:
        if not self._closed:
            self._listener(event)

    def _dispatch(self, function: Any) -> None:
        """Run on kazoo's callback thread, so that events keep their sequence."""
        self._client.handler.dispatch_callback(Callback("session", function, ()))


def _split_chroot(hosts: str) -> tuple[str, str]:
    servers, slash, path = hosts.partition("/")
    root = f"/{path.strip('/')}" if slash and path.strip("/") else ""
    if not servers:
        raise InvalidRequest(f"{hosts!r} names no ZooKeeper server", hint="as in zk1:2181/kafka")
    return servers, root


def _quiet_logger() -> logging.Logger:
    """Return a logger that drops kazoo's debug lines, which contain requests with credentials.

    Its warnings about lost connections repeat the store's session events.
    """
    logger = logging.getLogger("kedge.store.kazoo")
    logger.setLevel(logging.ERROR)
    return logger


def _ignore_event(_event: StoreEvent) -> None:
    """The listener until `listen` sets one."""
