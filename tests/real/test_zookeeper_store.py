"""The store on a real ZooKeeper: what only a network and a server can do to it."""

from __future__ import annotations

import logging
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from jvm import free_port
from jvm.zookeeper import zookeeper
from kedge.errors import Conflict, InvalidRequest, StoreUnavailable
from kedge.store.memory import MemoryStore
from kedge.store.port import (
    Answer,
    Change,
    Check,
    Committed,
    Create,
    Created,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Node,
    Presence,
    Refused,
    Request,
    Session,
    SessionChanged,
    SetData,
    Stat,
    WatchFired,
    Written,
)
from kedge.store.zookeeper import ZooKeeperStore
from tests.contract.store_backends import PATIENCE_S, NoticeLog
from tests.real.relay import Relay

pytestmark = pytest.mark.real


class Server:
    """A ZooKeeper that can be stopped and started again on its data."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self._running: AbstractContextManager[str] | None = None
        self.address = f"127.0.0.1:{self._port}"

    def start(self) -> None:
        self._running = zookeeper(self._directory, port=self._port)
        self._running.__enter__()

    def stop(self) -> None:
        if self._running is not None:
            self._running.__exit__(None, None, None)
            self._running = None


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("zookeeper"))
    made.start()
    yield made
    made.stop()


def opened(server: Server | Relay, **options: Any) -> ZooKeeperStore:
    hosts = f"{server.address}/{uuid.uuid4().hex}/deep"
    return ZooKeeperStore(hosts, create_chroot=True, session_timeout_ms=20_000, **options)


@pytest.fixture
def store(server: Server) -> Iterator[ZooKeeperStore]:
    with closing(opened(server)) as made:
        yield made


def break_connection(store: ZooKeeperStore) -> None:
    """As a network would: the session knows nothing of it."""
    connection: Any = store._client._connection
    connection._socket._socket.shutdown(socket.SHUT_RDWR)


def test_watches_survive_a_broken_connection(server: Server, store: ZooKeeperStore) -> None:
    notices = NoticeLog(store)
    root = store._root
    store.batch([Create(p) for p in ("/same", "/data", "/gone", "/parent", "/calm", "/calm/x")])
    store.batch([GetData(p, watch=True) for p in ("/same", "/data", "/gone")])
    store.batch([GetChildren("/parent", watch=True), GetChildren("/calm", watch=True)])
    store.batch([Exists("/born", watch=True), Exists("/never", watch=True)])
    store.batch([Create("/mine", ephemeral=True)])
    # another client writes in the very moment of our silence: our connection is broken first
    other = KazooClient(server.address)
    other.start()
    break_connection(store)
    other.set(f"{root}/data", b"new")
    other.delete(f"{root}/gone")
    other.create(f"{root}/parent/child")
    other.create(f"{root}/born")
    assert notices.next() == SessionChanged(Session.SUSPENDED)
    assert notices.next() == SessionChanged(Session.CONNECTED)
    expected = {
        WatchFired("/data", Change.DATA),
        WatchFired("/gone", Change.DELETED),
        WatchFired("/parent", Change.CHILDREN),
        WatchFired("/born", Change.CREATED),
    }
    assert {notices.next() for _ in expected} == expected
    assert notices.received() == []
    # what did not change is still watched
    other.set(f"{root}/same", b"new")
    assert notices.next() == WatchFired("/same", Change.DATA)
    other.create(f"{root}/never")
    assert notices.next() == WatchFired("/never", Change.CREATED)
    other.delete(f"{root}/calm/x")
    assert notices.next() == WatchFired("/calm", Change.CHILDREN)
    assert store.batch([Exists("/mine")]) != [Presence(None)]
    other.stop()
    other.close()


def test_a_stopped_server_is_told_and_waited_for(server: Server, store: ZooKeeperStore) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/a", b"kept"), Create("/e", ephemeral=True), GetData("/a", watch=True)])
    server.stop()
    assert notices.next() == SessionChanged(Session.SUSPENDED)
    with pytest.raises(StoreUnavailable, match="no connection"):
        store.batch([GetData("/a")])
    server.start()
    assert notices.next() == SessionChanged(Session.CONNECTED)
    node, mine = store.batch([GetData("/a"), Exists("/e")])
    assert isinstance(node, Node)
    assert node.data == b"kept"
    assert mine != Presence(None)
    store.batch([SetData("/a", b"changed")])
    assert notices.next() == WatchFired("/a", Change.DATA)


def test_a_lost_reply_is_an_unknown_outcome_and_nothing_is_sent_twice(server: Server) -> None:
    with closing(Relay(server.address)) as relay, closing(opened(relay)) as store:
        notices = NoticeLog(store)
        store.batch([Create("/n", b"")])
        relay.swallow_next_reply = True
        with pytest.raises(StoreUnavailable, match="unknown"):
            store.batch([SetData("/n", b"written"), GetData("/n")])
        assert notices.next() == SessionChanged(Session.SUSPENDED)
        assert notices.next() == SessionChanged(Session.CONNECTED)
        (node,) = store.batch([GetData("/n")])
        assert isinstance(node, Node)
        assert (node.data, node.stat.version) == (b"written", 1)


def test_an_answer_that_does_not_come_in_time_is_an_unknown_outcome(store: ZooKeeperStore) -> None:
    store._request_timeout_s = 0.0
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="in time"):
        store.batch([Create("/a")])
    assert time.monotonic() - began < PATIENCE_S


def test_nobody_at_the_address_is_one_sentence() -> None:
    with pytest.raises(StoreUnavailable, match="No ZooKeeper server answers at 127"):
        ZooKeeperStore(f"127.0.0.1:{free_port()}", request_timeout_ms=300)


def test_a_server_that_takes_the_call_and_is_silent_is_given_up_soon(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hosts = f"127.0.0.1:{silent.getsockname()[1]},{server.address}"
        options = {"randomize_hosts": False}
        began = time.monotonic()
        store = ZooKeeperStore(hosts, session_timeout_ms=24_000, options=options)
        # kazoo's own patience would be half of the session timeout, with two servers
        assert 1.0 < time.monotonic() - began < 11.0
        store.close()


def test_a_chroot_that_is_not_there_is_refused_unless_it_may_be_made(server: Server) -> None:
    with pytest.raises(InvalidRequest, match="no node /typo"):
        ZooKeeperStore(f"{server.address}/typo")
    with pytest.raises(InvalidRequest, match="names no ZooKeeper"):
        ZooKeeperStore("/kafka")


def test_a_user_has_its_own_nodes_and_its_password_is_nowhere(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    acl = make_digest_acl("ann", "s3cret", all=True)
    options = {"auth_data": [("digest", "ann:s3cret")], "default_acl": [acl]}
    path = f"/{uuid.uuid4().hex}"
    with (
        closing(ZooKeeperStore(f"{server.address}/", options=options)) as store,
        closing(ZooKeeperStore(server.address)) as stranger,
    ):
        assert isinstance(store.batch([Create(path, b"private")])[0], Created)
        with pytest.raises(StoreUnavailable, match="not authorized by ZooKeeper"):
            stranger.batch([GetData(path)])
        assert "s3cret" not in repr(store) + caplog.text


def test_two_thousand_fenced_writes_are_one_quick_round(store: ZooKeeperStore) -> None:
    store.batch([Create("/epoch")])
    writes = [Multi((Check("/epoch", 0), Create(f"/t{i}", b"x" * 100))) for i in range(2_000)]
    began = time.perf_counter()
    answers = store.batch(writes)
    # one by one they would need a round trip each
    assert time.perf_counter() - began < 5.0
    assert all(isinstance(answer, Committed) for answer in answers)


# ---- the same as in memory ----

paths = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(lambda p: "/" + "/".join(p))
datas = st.sampled_from([None, b"", b"1"])
versions = st.sampled_from([-1, 0, 1])
watch = st.booleans()
writes = st.one_of(
    st.builds(Create, paths, datas, st.booleans(), st.booleans()),
    st.builds(SetData, paths, datas, versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
requests = st.one_of(
    writes,
    st.lists(writes, max_size=4).map(lambda w: Multi(tuple(w))),
    st.builds(GetData, paths, watch),
    st.builds(GetChildren, paths, watch),
    st.builds(Exists, paths, watch),
)


def comparable(answer: Answer) -> object:
    """An answer without what two stores number differently."""

    def plain(stat: Stat | None) -> object:
        return stat and (stat.version, stat.children, stat.ephemeral, stat.modified > stat.created)

    match answer:
        case Created(path, stat):
            return path, plain(stat)
        case Written(stat) | Presence(stat):
            return type(answer), plain(stat)
        case Node(data, stat):
            return data, plain(stat)
        case Committed(answers):
            return [comparable(each) for each in answers]
        case Refused(index, error):
            return index, type(error)
        case Conflict():
            return type(answer)
        case _:
            return answer


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batches=st.lists(st.lists(requests, min_size=1, max_size=12), min_size=1, max_size=5))
def test_memory_answers_as_zookeeper_does(server: Server, batches: list[list[Request]]) -> None:
    real, memory = opened(server), MemoryStore()
    real_ears, memory_ears = NoticeLog(real), NoticeLog(memory)
    try:
        for batch in batches:
            expected = [comparable(answer) for answer in real.batch(batch)]
            assert [comparable(answer) for answer in memory.batch(batch)] == expected
        assert memory_ears.received() == real_ears.received()
    finally:
        real.close()
