"""What every adapter of the store does alike: the port's promises, one by one."""

from __future__ import annotations

from typing import TypeVar

import pytest

from kedge.errors import (
    InvalidRequest,
    NodeEphemeral,
    NodeExists,
    NodeMissing,
    NodeNotEmpty,
    SessionExpired,
    StaleVersion,
    StoreUnavailable,
)
from kedge.store.port import (
    Change,
    Check,
    Children,
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
    Request,
    Session,
    SessionChanged,
    SetData,
    Store,
    WatchFired,
    Written,
)
from tests.contract.store_backends import NoticeLog, StoreBackend

T = TypeVar("T")


@pytest.fixture
def store(backend: StoreBackend) -> Store:
    return backend.open()


def ask(store: Store, request: Request, kind: type[T]) -> T:
    (answer,) = store.batch([request])
    assert isinstance(answer, kind), answer
    return answer


# ---- nodes and versions ----


def test_a_node_is_read_as_it_was_created(store: Store) -> None:
    created = ask(store, Create("/a", b"one"), Created)
    node = ask(store, GetData("/a"), Node)
    assert (created.path, node.data, node.stat) == ("/a", b"one", created.stat)
    assert (node.stat.version, node.stat.children, node.stat.ephemeral) == (0, 0, False)
    assert node.stat.created == node.stat.modified


def test_no_data_is_not_empty_data(store: Store) -> None:
    store.batch([Create("/none", None), Create("/empty", b"")])
    assert ask(store, GetData("/none"), Node).data is None
    assert ask(store, GetData("/empty"), Node).data == b""
    store.batch([SetData("/empty", None), Multi((Create("/m", None), SetData("/none", None)))])
    assert [ask(store, GetData(p), Node).data for p in ("/empty", "/m", "/none")] == [None] * 3


def test_versions_begin_at_zero_and_count_writes(store: Store) -> None:
    store.batch([Create("/a"), SetData("/a", b"1")])
    written = ask(store, SetData("/a", b"2", version=1), Written)
    assert written.stat.version == 2
    assert written.stat.modified > written.stat.created


def test_a_write_that_expects_another_version_is_refused(store: Store) -> None:
    store.batch([Create("/a", b"0"), SetData("/a", b"1")])
    ask(store, SetData("/a", b"2", version=0), StaleVersion)
    ask(store, Delete("/a", version=0), StaleVersion)
    ask(store, Check("/a", version=0), StaleVersion)
    ask(store, Check("/a", version=1), Done)
    ask(store, Check("/a"), Done)
    assert ask(store, GetData("/a"), Node).data == b"1"


def test_refusals_stand_among_the_answers_and_the_batch_goes_on(store: Store) -> None:
    answers = store.batch(
        [Create("/a"), Create("/a"), Create("/x/y"), Delete("/x"), SetData("/x", b""), Exists("/a")]
    )
    assert [type(answer) for answer in answers] == [
        Created,
        NodeExists,
        NodeMissing,
        NodeMissing,
        NodeMissing,
        Presence,
    ]


def test_reads_of_a_missing_node(store: Store) -> None:
    ask(store, GetData("/a"), NodeMissing)
    ask(store, GetChildren("/a"), NodeMissing)
    ask(store, Check("/a"), NodeMissing)
    assert ask(store, Exists("/a"), Presence).stat is None


def test_a_node_with_children_cannot_be_deleted(store: Store) -> None:
    store.batch([Create("/a"), Create("/a/b")])
    assert "/a" in str(ask(store, Delete("/a"), NodeNotEmpty))
    assert [type(a) for a in store.batch([Delete("/a/b"), Delete("/a")])] == [Done, Done]


def test_children_are_sorted_names_of_the_next_level_only(store: Store) -> None:
    store.batch([Create("/a"), Create("/a/c"), Create("/a/b"), Create("/a/b/x"), Create("/ab")])
    assert ask(store, GetChildren("/a"), Children).names == ("b", "c")
    assert ask(store, GetData("/a"), Node).stat.children == 2
    assert set(ask(store, GetChildren("/"), Children).names) == {"a", "ab"}


def test_a_node_that_was_replaced_has_a_larger_creation_number(store: Store) -> None:
    first = ask(store, Create("/a"), Created)
    store.batch([SetData("/a", b""), Delete("/a")])
    second = ask(store, Create("/a"), Created)
    assert second.stat.created > first.stat.modified
    assert second.stat.version == 0


def test_the_root_is_there_and_cannot_be_made_or_deleted(store: Store) -> None:
    ask(store, Create("/"), NodeExists)
    assert ask(store, Exists("/"), Presence).stat is not None
    with pytest.raises(InvalidRequest):
        store.batch([Delete("/")])


def test_an_empty_batch_has_no_answers(store: Store) -> None:
    assert store.batch([]) == []
    assert store.batch([Multi(())]) == [Committed(())]


@pytest.mark.parametrize("path", ["", "a", "/a/", "//", "/a//b", "/a/../b", "/./a", "/a\0"])
def test_what_is_not_a_path_is_refused_before_anything_is_done(store: Store, path: str) -> None:
    for bad in (GetData(path), Create(path), Multi((Create("/n"), Check(path)))):
        with pytest.raises(InvalidRequest):
            store.batch([Create("/before"), bad])
    assert ask(store, Exists("/before"), Presence).stat is None


def test_what_does_not_fit_in_a_packet_is_refused_before_anything_is_done(store: Store) -> None:
    big = b"x" * 1_048_576
    half = b"x" * 600_000
    for bad in (Create("/a", big), Multi((Create("/a", half), Create("/b", half)))):
        with pytest.raises(InvalidRequest, match="bytes"):
            store.batch([Create("/before"), bad])
    answers = store.batch([Exists("/before"), Create("/a", half), Create("/b", half)])
    assert [type(answer) for answer in answers] == [Presence, Created, Created]
    assert answers[0] == Presence(None)


# ---- sequential and ephemeral nodes ----


def test_sequential_nodes_count_the_children_ever_made(store: Store) -> None:
    store.batch([Create("/s"), Create("/s/plain"), Delete("/s/plain")])
    paths = [ask(store, Create("/s/n_", sequential=True), Created).path for _ in range(2)]
    assert paths == ["/s/n_0000000001", "/s/n_0000000002"]
    store.batch([Delete(path) for path in paths])
    assert ask(store, Create("/s/", sequential=True), Created).path == "/s/0000000003"


def test_a_refused_multi_gives_no_number_away(store: Store) -> None:
    ask(store, Create("/s"), Created)
    ask(store, Multi((Create("/s/n", sequential=True), Check("/none"))), Refused)
    assert ask(store, Create("/s/n", sequential=True), Created).path == "/s/n0000000000"


def test_sequential_nodes_within_one_multi_differ(store: Store) -> None:
    twice = (Create("/n", sequential=True), Create("/n", sequential=True))
    done = ask(store, Multi(twice), Committed)
    first, second = (a.path for a in done.answers if isinstance(a, Created))
    assert int(second[-10:]) == int(first[-10:]) + 1


def test_an_ephemeral_node_can_have_no_children(store: Store) -> None:
    created = ask(store, Create("/e", ephemeral=True), Created)
    assert created.stat.ephemeral
    ask(store, Create("/e/x"), NodeEphemeral)


def test_ephemeral_nodes_go_with_their_session(backend: StoreBackend) -> None:
    owner, other = backend.open(), backend.open()
    owner.batch([Create("/p"), Create("/p/e", ephemeral=True)])
    notices = NoticeLog(other)
    other.batch([GetData("/p/e", watch=True), GetChildren("/p", watch=True)])
    owner.close()
    assert notices.next() == WatchFired("/p/e", Change.DELETED)
    assert notices.next() == WatchFired("/p", Change.CHILDREN)
    assert ask(other, GetChildren("/p"), Children).names == ()
    assert ask(other, Exists("/p"), Presence).stat is not None


def test_another_session_may_delete_an_ephemeral_node(backend: StoreBackend) -> None:
    owner, other = backend.open(), backend.open()
    ask(owner, Create("/e", b"mine", ephemeral=True), Created)
    take_over = Multi((Delete("/e"), Create("/e", b"yours", ephemeral=True)))
    ask(other, take_over, Committed)
    owner.close()
    assert ask(other, GetData("/e"), Node).data == b"yours"


# ---- multis ----


def test_a_multi_happens_whole_under_one_number(store: Store) -> None:
    ask(store, Create("/epoch", b"1"), Created)
    writes = (Check("/epoch", 0), Create("/a", b"x"), SetData("/epoch", b"2", 0), Delete("/a"))
    check, created, written, deleted = ask(store, Multi(writes), Committed).answers
    assert (check, deleted) == (Done(), Done())
    assert isinstance(created, Created)
    assert isinstance(written, Written)
    assert created.path == "/a"
    assert (written.stat.version, written.stat.modified) == (1, created.stat.created)


def test_a_refused_multi_changes_nothing_and_names_the_write(store: Store) -> None:
    store.batch([Create("/a", b"0"), Create("/d")])
    before = store.batch([GetData("/a"), GetData("/d"), GetChildren("/")])
    writes = (
        SetData("/a", b"1"),
        Delete("/d"),
        Create("/new"),
        Create("/new/child"),
        SetData("/a", b"2", version=0),
        Check("/none"),
    )
    refused = ask(store, Multi(writes), Refused)
    assert (refused.index, type(refused.error)) == (4, StaleVersion)
    assert store.batch([GetData("/a"), GetData("/d"), GetChildren("/")]) == before


def test_the_writes_of_a_multi_see_each_other(store: Store) -> None:
    ask(store, Multi((Create("/a"), Create("/a/b"), SetData("/a/b", b"1", 0))), Committed)
    ask(store, Multi((Check("/a/b", 1), Delete("/a/b", 1), Delete("/a"))), Committed)
    assert ask(store, Multi((Create("/a"), Create("/a"))), Refused).index == 1
    ask(store, Exists("/a"), Presence)


def test_a_fenced_write_is_refused_at_its_check(store: Store) -> None:
    store.batch([Create("/epoch"), SetData("/epoch", b"")])
    answers = store.batch(
        [Multi((Check("/epoch", v), Create(f"/t{v}"))) for v in (0, 1)] + [Multi((Delete("/t1"),))]
    )
    refused, done, deleted = answers
    assert isinstance(refused, Refused)
    assert (refused.index, type(refused.error)) == (0, StaleVersion)
    assert isinstance(done, Committed)
    assert deleted == Committed((Done(),))


def test_a_large_batch_is_answered_in_order(store: Store) -> None:
    count = 4_500
    store.batch([Create("/many")])
    made = store.batch([Create(f"/many/{i}", b"%d" % i) for i in range(count)])
    assert [a.path for a in made if isinstance(a, Created)] == [f"/many/{i}" for i in range(count)]
    read = store.batch([GetData(f"/many/{i}") for i in range(count + 1)])
    assert [a.data for a in read if isinstance(a, Node)] == [b"%d" % i for i in range(count)]
    assert isinstance(read[-1], NodeMissing)
    assert len(ask(store, GetChildren("/many"), Children).names) == count


# ---- watches ----


def test_a_watch_fires_once(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/a"), GetData("/a", watch=True), SetData("/a", b"1"), SetData("/a", b"2")])
    assert notices.received() == [WatchFired("/a", Change.DATA)]


def test_a_watch_left_twice_fires_once(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/a"), GetData("/a", watch=True), Exists("/a", watch=True)])
    store.batch([GetData("/a", watch=True), SetData("/a", b"1")])
    assert notices.received() == [WatchFired("/a", Change.DATA)]


def test_a_watch_of_existence_sees_creation(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Exists("/a", watch=True), Create("/a")])
    assert notices.received() == [WatchFired("/a", Change.CREATED)]


def test_a_read_of_a_missing_node_leaves_no_watch(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([GetData("/a", watch=True), GetChildren("/a", watch=True)])
    store.batch([Create("/a"), Create("/a/b"), SetData("/a", b"")])
    assert notices.received() == []


def test_a_child_watch_sees_children_come_and_go_but_not_their_data(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/p"), Create("/p/c"), GetChildren("/p", watch=True)])
    store.batch([SetData("/p/c", b"1"), SetData("/p", b"1"), Create("/p/c/deeper")])
    assert notices.received() == []
    ask(store, Create("/p/d"), Created)
    assert notices.received() == [WatchFired("/p", Change.CHILDREN)]
    store.batch([GetChildren("/p", watch=True), Delete("/p/d")])
    assert notices.received() == [WatchFired("/p", Change.CHILDREN)]


def test_a_data_watch_does_not_see_children(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/p"), GetData("/p", watch=True), Create("/p/c"), Delete("/p/c")])
    assert notices.received() == []


def test_a_deletion_is_told_once_to_a_session_with_both_watches(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/p"), Create("/p/c"), GetChildren("/p", watch=True)])
    store.batch([GetData("/p/c", watch=True), GetChildren("/p/c", watch=True), Delete("/p/c")])
    assert notices.received() == [
        WatchFired("/p/c", Change.DELETED),
        WatchFired("/p", Change.CHILDREN),
    ]


def test_a_refused_write_fires_nothing(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/a"), GetData("/a", watch=True)])
    store.batch([SetData("/a", b"", version=7), Multi((SetData("/a", b"1"), Check("/none")))])
    assert notices.received() == []
    ask(store, SetData("/a", b""), Written)
    assert notices.received() == [WatchFired("/a", Change.DATA)]


def test_a_multi_fires_in_the_order_of_its_writes(store: Store) -> None:
    notices = NoticeLog(store)
    store.batch([Create("/a"), Create("/b"), GetData("/a", watch=True), GetData("/b", watch=True)])
    store.batch([Exists("/c", watch=True), Multi((SetData("/b", b""), Create("/c"), Delete("/a")))])
    assert notices.received() == [
        WatchFired("/b", Change.DATA),
        WatchFired("/c", Change.CREATED),
        WatchFired("/a", Change.DELETED),
    ]


def test_each_session_has_its_own_watches(backend: StoreBackend) -> None:
    first, second = backend.open(), backend.open()
    first_notices, second_notices = NoticeLog(first), NoticeLog(second)
    first.batch([Create("/a"), GetData("/a", watch=True)])
    second.batch([SetData("/a", b"1"), GetData("/a", watch=True)])
    assert first_notices.next() == WatchFired("/a", Change.DATA)
    assert second_notices.received() == []
    first.batch([SetData("/a", b"2")])
    assert second_notices.next() == WatchFired("/a", Change.DATA)
    assert first_notices.received() == []


# ---- sessions ----


def test_an_expired_session_stays_expired_until_it_is_renewed(backend: StoreBackend) -> None:
    store, witness = backend.open(), backend.open()
    notices = NoticeLog(store)
    store.batch([Create("/e", ephemeral=True), Create("/w"), GetData("/w", watch=True)])
    backend.expire(store)
    while (notice := notices.next()) != SessionChanged(Session.EXPIRED):
        assert notice == SessionChanged(Session.SUSPENDED)
    for _ in range(2):
        with pytest.raises(SessionExpired):
            store.batch([GetData("/w")])
    assert ask(witness, Exists("/e"), Presence).stat is None
    store.renew_session()
    assert notices.next() == SessionChanged(Session.CONNECTED)
    store.batch([SetData("/w", b"unwatched"), Create("/e", ephemeral=True)])
    assert notices.received() == []


def test_renewing_a_living_session_ends_it(backend: StoreBackend) -> None:
    store, witness = backend.open(), backend.open()
    notices = NoticeLog(store)
    store.batch([Create("/e", ephemeral=True), Create("/w"), GetData("/w", watch=True)])
    store.renew_session()
    assert notices.next() == SessionChanged(Session.CONNECTED)
    assert ask(witness, Exists("/e"), Presence).stat is None
    ask(witness, SetData("/w", b""), Written)
    assert notices.received() == []


def test_a_closed_store_is_unavailable_and_may_be_closed_again(backend: StoreBackend) -> None:
    store = backend.open()
    store.close()
    store.close()
    with pytest.raises(StoreUnavailable):
        store.batch([GetData("/")])
    with pytest.raises(StoreUnavailable):
        store.renew_session()


def test_a_second_listener_replaces_the_first(store: Store) -> None:
    first = NoticeLog(store)
    second = NoticeLog(store)
    store.batch([Create("/a"), GetData("/a", watch=True), SetData("/a", b"")])
    assert second.received() == [WatchFired("/a", Change.DATA)]
    assert first._notices.empty()
