"""The store in memory: what can be done to it on purpose, and its laws."""

from __future__ import annotations

import time

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from kedge.errors import SessionExpired, StoreUnavailable
from kedge.store.memory import Delivery, MemoryEnsemble, MemoryStore
from kedge.store.port import (
    Change,
    Check,
    Committed,
    Create,
    Created,
    Delete,
    Done,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Node,
    Presence,
    Refused,
    Session,
    SessionChanged,
    SetData,
    StoreEvent,
    WatchFired,
    Write,
    Written,
)


def listening(store: MemoryStore) -> list[StoreEvent]:
    heard: list[StoreEvent] = []
    store.listen(heard.append)
    return heard


def test_a_disconnected_store_does_nothing_and_hears_later() -> None:
    ensemble = MemoryEnsemble()
    store, other = MemoryStore(ensemble), MemoryStore(ensemble)
    heard = listening(store)
    store.batch([Create("/a", ephemeral=True), GetData("/a", watch=True)])
    store.disconnect()
    with pytest.raises(StoreUnavailable):
        store.batch([Create("/b")])
    other.batch([SetData("/a", b"1")])
    assert heard == [SessionChanged(Session.SUSPENDED)]
    store.reconnect()
    assert heard[1:] == [SessionChanged(Session.CONNECTED), WatchFired("/a", Change.DATA)]
    assert store.batch([Exists("/b")]) == [Presence(None)]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_reply_may_be_lost_after_any_request(after: int) -> None:
    store = MemoryStore()
    heard = listening(store)
    store.disconnect_during_next_batch(after=after)
    with pytest.raises(StoreUnavailable, match="unknown"):
        store.batch([Create("/a"), Create("/b")])
    assert heard == [SessionChanged(Session.SUSPENDED)]
    store.reconnect()
    present = [isinstance(a, Node) for a in store.batch([GetData("/a"), GetData("/b")])]
    assert present == [after > 0, after > 1]


def test_a_session_that_ended_while_disconnected_is_known_at_reconnecting() -> None:
    ensemble = MemoryEnsemble()
    store, other = MemoryStore(ensemble), MemoryStore(ensemble)
    heard = listening(store)
    store.batch([Create("/e", ephemeral=True), GetData("/e", watch=True)])
    store.disconnect()
    store.expire()
    assert other.batch([Exists("/e")]) == [Presence(None)]
    with pytest.raises(StoreUnavailable):
        store.renew_session()
    store.reconnect()
    assert heard == [SessionChanged(Session.SUSPENDED), SessionChanged(Session.EXPIRED)]
    with pytest.raises(SessionExpired):
        store.batch([])
    store.renew_session()
    assert isinstance(store.batch([Create("/e", ephemeral=True)])[0], Created)


def test_notices_can_be_held_back_and_late_ones_of_an_old_session_are_dropped() -> None:
    under_way: list[Delivery] = []
    ensemble = MemoryEnsemble(deliver=under_way.append)
    store = MemoryStore(ensemble)
    heard = listening(store)
    store.batch([Create("/a"), GetData("/a", watch=True), SetData("/a", b"1")])
    assert heard == []
    assert [d.event for d in under_way] == [WatchFired("/a", Change.DATA)]
    late = under_way.pop()
    store.renew_session()
    late()
    assert heard == []
    under_way.pop()()
    assert heard == [SessionChanged(Session.CONNECTED)]


def test_sessions_are_told_in_the_order_of_the_commits() -> None:
    order: list[tuple[str, StoreEvent]] = []
    ensemble = MemoryEnsemble()
    stores = {name: MemoryStore(ensemble) for name in "xyz"}
    for name, store in stores.items():
        store.listen(lambda notice, name=name: order.append((name, notice)))
    stores["x"].batch([Create("/a"), Create("/b")])
    for name in "zy":
        stores[name].batch([GetData("/b", watch=True), GetData("/a", watch=True)])
    stores["x"].batch([SetData("/a", b""), SetData("/b", b"")])
    data_a, data_b = WatchFired("/a", Change.DATA), WatchFired("/b", Change.DATA)
    assert order == [("z", data_a), ("y", data_a), ("z", data_b), ("y", data_b)]


def test_a_listener_may_ask_the_store() -> None:
    store = MemoryStore()
    seen: list[object] = []
    store.listen(lambda notice: seen.extend(store.batch([GetData("/a")])))
    store.batch([Create("/a"), GetData("/a", watch=True), SetData("/a", b"1")])
    assert [answer.data for answer in seen if isinstance(answer, Node)] == [b"1"]


def test_a_failover_over_many_partitions_is_quick() -> None:
    store = MemoryStore()
    count = 50_000
    store.batch([Create("/t"), *(Create(f"/t/{i}", b"{}") for i in range(count))])
    reads = [GetData(f"/t/{i}", watch=True) for i in range(count)]
    began = time.perf_counter()
    answers = store.batch(reads)
    # a quarter of the largest cluster; a quadratic step would take minutes
    assert time.perf_counter() - began < 5.0
    assert len(answers) == count
    store.close()


# ---- beside the dullest possible model ----

names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
datas = st.sampled_from([None, b"", b"1"])
versions = st.sampled_from([-1, 0, 1, 2])
writes = st.one_of(
    st.builds(Create, paths, datas, st.booleans(), st.booleans()),
    st.builds(SetData, paths, datas, versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)

Dull = dict[str, tuple[bytes | None, int, int]]  # path: data, version, owner


def dull_write(nodes: Dull, made: dict[str, int], write: Write, owner: int) -> bool:
    """Do a write to a dict; whether it is allowed."""
    path = write.path
    if isinstance(write, Create):
        parent = path.rpartition("/")[0] or "/"
        if write.sequential:
            path = f"{path}{made.get(parent, 0):010d}"
        if parent not in nodes or path in nodes or nodes[parent][2]:
            return False
        nodes[path] = (write.data, 0, owner if write.ephemeral else 0)
        made[parent] = made.get(parent, 0) + 1
        made[path] = 0
        return True
    if path not in nodes or write.version not in (-1, nodes[path][1]):
        return False
    if isinstance(write, SetData):
        nodes[path] = (write.data, nodes[path][1] + 1, nodes[path][2])
    elif isinstance(write, Delete):
        if any(other.startswith(path + "/") for other in nodes):
            return False
        del nodes[path]
    return True


class MemoryBesideDict(RuleBasedStateMachine):
    """Two sessions write to the tree and to a dict; both must hold the same after each step."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.ensemble = MemoryEnsemble()
        self.nodes: Dull = {"/": (b"", 0, 0)}
        self.made: dict[str, int] = {}
        self.zxids: list[int] = []

    @rule(target=sessions)
    def open(self) -> MemoryStore:
        return MemoryStore(self.ensemble)

    @rule(store=sessions, batch=st.lists(writes, max_size=4))
    def write(self, store: MemoryStore, batch: list[Write]) -> None:
        answers = store.batch(batch)
        for write, answer in zip(batch, answers, strict=True):
            allowed = dull_write(self.nodes, self.made, write, store.session)
            assert allowed == isinstance(answer, Created | Written | Done), (write, answer)
            if isinstance(answer, Created):
                self.zxids.append(answer.stat.created)

    @rule(store=sessions, batch=st.lists(writes, max_size=5))
    def multi(self, store: MemoryStore, batch: list[Write]) -> None:
        (answer,) = store.batch([Multi(tuple(batch))])
        nodes, made = dict(self.nodes), dict(self.made)
        for index, write in enumerate(batch):
            if not dull_write(nodes, made, write, store.session):
                assert isinstance(answer, Refused)
                assert answer.index == index
                return
        assert isinstance(answer, Committed)
        self.nodes, self.made = nodes, made

    @rule(store=sessions)
    def renew(self, store: MemoryStore) -> None:
        self.nodes = {p: n for p, n in self.nodes.items() if n[2] != store.session}
        store.renew_session()

    @invariant()
    def both_hold_the_same(self) -> None:
        reader = MemoryStore(self.ensemble)
        for path, (data, version, owner) in self.nodes.items():
            below = [p for p in self.nodes if p != "/" and (p.rpartition("/")[0] or "/") == path]
            node, children = reader.batch([GetData(path), GetChildren(path)])
            assert isinstance(node, Node)
            assert (node.data, node.stat.version) == (data, version)
            assert node.stat.ephemeral == bool(owner)
            assert children.names == tuple(sorted(p.rpartition("/")[2] for p in below))  # pyright: ignore
            assert node.stat.children == len(below)
        assert len(self.ensemble.tree.nodes) == len(self.nodes)
        reader.close()

    @invariant()
    def numbers_only_grow(self) -> None:
        assert self.zxids == sorted(set(self.zxids))


MemoryBesideDict.TestCase.settings = settings(
    max_examples=60, stateful_step_count=20, deadline=None
)
test_memory_beside_a_dict = MemoryBesideDict.TestCase
