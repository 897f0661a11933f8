"""The store on ZooKeeper, through kazoo.

A batch is sent whole before its first reply is waited for (in bounded chunks, two of them in
flight), so ten thousand writes cost one round trip and not ten thousand. Nothing is ever sent
twice: when the connection breaks, the outcome is unknown, and only the caller can tell by looking
whether to ask again.

A session that expires stays expired for the caller until `renew_session`, although kazoo opens a
new one by itself: whoever lost its ephemeral nodes must know it before it writes again.

    store = ZooKeeperStore("zk1:2181,zk2:2181/kafka", session_timeout_ms=18_000)

Options of kazoo's client (TLS, SASL, digest users by `auth_data`) pass through `options`. Secrets
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
from kedge.store.border import Border, unknown_outcome
from kedge.store.bulk import in_bulk, knows_bulk_reads
from kedge.store.flight import Chunk, Slot
from kedge.store.pipelining import PipeliningHandler
from kedge.store.port import (
    Answer,
    Exists,
    GetChildren,
    GetData,
    Listener,
    Multi,
    Notice,
    Request,
    Session,
    SessionChanged,
    WatchFired,
    Write,
)
from kedge.store.requests import PACKET_BYTES_MAX, check_requests
from kedge.store.rewatch import (
    Rewatch,
    WatchedChildren,
    WatchedData,
    WatchedExists,
    Watcher,
    change_of,
)

IN_FLIGHT = 2_000

_READ_FORMS: dict[type, Any] = {
    GetData: WatchedData,
    GetChildren: WatchedChildren,
    Exists: WatchedExists,
}


class ZooKeeperStore:
    """One session with a ZooKeeper ensemble; connected once constructed."""

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
        self._border = Border(self._root, acl)
        self._listener: Listener = _nobody_listens
        self._expiries = 0
        self._expiries_known = 0
        self._closed = False
        self._restarting = False
        self._lost: list[Watcher] = []
        self._last_event: Any = None
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
        self._bulk_reads = self._ask_for_bulk_reads()
        self._find_chroot(create=create_chroot)

    def __repr__(self) -> str:
        return f"ZooKeeperStore({self._hosts}{self._root})"

    # ---- the port ----

    def listen(self, listener: Listener) -> None:
        self._listener = listener

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        check_requests(requests, bytes_max=self._bytes_max)
        self._check_reachable()
        forms: Iterable[Any] = map(self._in_kazoo_form, requests)
        replies = self._replies(in_bulk(forms) if self._bulk_reads else forms)
        return list(map(self._border.answer, requests, replies))

    def renew_session(self) -> None:
        if self._closed:
            raise StoreUnavailable("this session with the store is closed")
        expiries = self._expiries
        if self._expired:
            self._await_connection()
        else:
            self._restart()
        self._expiries_known = expiries
        self._dispatch(self._begin_anew)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._client.remove_listener(self._on_state)
            self._client.stop()
            self._client.close()

    @property
    def _expired(self) -> bool:
        """Whether a session ended that the caller has not replaced yet."""
        return self._expiries != self._expiries_known

    # ---- sending ----

    def _in_kazoo_form(self, request: Request) -> Any:
        form = _READ_FORMS.get(type(request))
        if form is None:
            return self._border.write(cast("Write | Multi", request))
        read = cast("GetData | GetChildren | Exists", request)
        watcher = None
        if read.watch:
            watcher = Watcher(read.path, isinstance(read, GetChildren), self._on_watch)
        return form(self._border.inside(read.path), watcher)

    def _replies(self, forms: Iterable[Any]) -> list[Any]:
        """One reply for each request, errors among them; two chunks are in flight at a time."""
        deadline = time.monotonic() + self._request_timeout_s
        flying: deque[Chunk] = deque()
        replies: list[Any] = []
        rest = iter(forms)
        while some := list(islice(rest, IN_FLIGHT)):
            flying.append(self._send(some))
            if len(flying) > 1:
                replies += flying.popleft().wait(deadline)
        while flying:
            replies += flying.popleft().wait(deadline)
        return replies

    def _send(self, forms: list[Any]) -> Chunk:
        chunk = Chunk(forms)
        # kazoo's public calls wrap this one in checks and callbacks that cost as much as the rest
        call = self._client._call  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]
        for index, form in enumerate(forms):
            call(form, Slot(chunk, index))
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

    def _ask_for_bulk_reads(self) -> bool:
        try:
            return knows_bulk_reads(cast("str", self._client.command(b"srvr")))
        except (OSError, KazooException, self._client.handler.timeout_exception):
            return False  # reads one by one are slower, not worse

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

    # ---- what kazoo tells; watches and what follows from them on its one callback thread ----

    def _on_state(self, state: str) -> None:
        if self._restarting or self._closed:
            return
        if state == KazooState.LOST:
            self._expiries += 1
            self._dispatch(lambda: self._tell(SessionChanged(Session.EXPIRED)))
        elif not self._expired:
            self._dispatch(self._suspended if state == KazooState.SUSPENDED else self._resumed)

    def _suspended(self) -> None:
        self._tell(SessionChanged(Session.SUSPENDED))

    def _resumed(self) -> None:
        self._tell(SessionChanged(Session.CONNECTED))
        lost, self._lost = self._lost, []
        for watcher in lost:
            rewatch = Rewatch(watcher, self._tell_later, self._keep_for_later)
            form = rewatch.request(self._border.inside(watcher.path))
            self._client._call(form, rewatch)  # pyright: ignore[reportPrivateUsage]

    def _begin_anew(self) -> None:
        self._lost.clear()
        self._tell(SessionChanged(Session.CONNECTED))

    def _tell_later(self, notice: Notice) -> None:
        self._dispatch(lambda: self._tell(notice))

    def _keep_for_later(self, watcher: Watcher) -> None:
        self._dispatch(lambda: self._lost.append(watcher))

    def _on_watch(self, watcher: Watcher, event: Any) -> None:
        change = change_of(event)
        if change is None:
            self._lost.append(watcher)
        elif event is not self._last_event:
            # kazoo calls both watchers of a deleted node, with one event
            self._last_event = event
            self._tell(WatchFired(watcher.path, change))

    def _tell(self, notice: Notice) -> None:
        if not self._closed:
            self._listener(notice)

    def _dispatch(self, function: Any) -> None:
        """Run on kazoo's one thread for callbacks, so that notices keep their order."""
        self._client.handler.dispatch_callback(Callback("session", function, ()))


def _split_chroot(hosts: str) -> tuple[str, str]:
    servers, slash, path = hosts.partition("/")
    root = f"/{path.strip('/')}" if slash and path.strip("/") else ""
    if not servers:
        raise InvalidRequest(f"{hosts!r} names no ZooKeeper server", hint="as in zk1:2181/kafka")
    return servers, root


def _quiet_logger() -> logging.Logger:
    """kazoo prints whole requests when debugging, credentials among them: not on our account.

    Its warnings of lost connections are our notices already.
    """
    logger = logging.getLogger("kedge.store.kazoo")
    logger.setLevel(logging.ERROR)
    return logger


def _nobody_listens(_notice: Notice) -> None:
    """The listener until there is one."""
