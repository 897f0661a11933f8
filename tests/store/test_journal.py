"""The journal: what was written survives, whatever happens to the process or the file."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kedge.errors import InvalidRequest, JournalDamaged, StoreUnavailable
from kedge.store.journal import MAGIC, Fsync, Journal
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import (
    Create,
    Created,
    Delete,
    Exists,
    GetData,
    Multi,
    Node,
    Presence,
    Request,
    SetData,
)
from kedge.store.tree import Tree


def contents(tree: Tree) -> dict[str, tuple[object, ...]]:
    """Everything that a tree remembers, but for its counter of transactions."""
    return {
        path: (
            n.data,
            n.version,
            n.created,
            n.modified,
            n.children_created,
            sorted(n.children or ()),
        )
        for path, n in tree.nodes.items()
    }


BATCHES: list[list[Request]] = [
    [Create("/a", b"1"), Create("/b", None), Create("/a/ä", b"\x00\xff")],
    [SetData("/a", b"2"), Create("/a/n", sequential=True)],
    [Multi((Delete("/b"), Create("/b", b"new"), SetData("/b", None)))],
    [Delete("/a/ä"), SetData("/b", b"")],
]


def write_batches(path: Path) -> list[tuple[int, dict[str, tuple[object, ...]]]]:
    """A journal of four batches; its length and the tree after each of them."""
    journal = Journal(path, fsync="never")
    ensemble = MemoryEnsemble(journal=journal)
    store = MemoryStore(ensemble)
    steps = [(journal.size_bytes, contents(ensemble.tree))]
    for batch in BATCHES:
        for request in batch:
            store.batch([request])
            steps.append((journal.size_bytes, contents(ensemble.tree)))
    ensemble.close()
    return steps


def test_a_reopened_journal_holds_the_same_tree(tmp_path: Path) -> None:
    steps = write_batches(tmp_path / "j")
    journal = Journal(tmp_path / "j")
    assert contents(journal.tree) == steps[-1][1]
    assert journal.dropped_bytes == 0
    journal.close()


def test_a_journal_cut_off_anywhere_holds_what_was_whole(tmp_path: Path) -> None:
    steps = write_batches(tmp_path / "j")
    whole = (tmp_path / "j").read_bytes()
    assert len(whole) == steps[-1][0]
    for cut in range(len(whole) + 1):
        path = tmp_path / f"cut-{cut}"
        path.write_bytes(whole[:cut])
        journal = Journal(path, fsync="never")
        end, tree = max(((e, t) for e, t in steps if e <= cut), default=(0, steps[0][1]), key=_end)
        assert contents(journal.tree) == tree
        assert journal.dropped_bytes == cut - end
        ensemble = MemoryEnsemble(journal=journal)
        assert isinstance(MemoryStore(ensemble).batch([Create("/after")])[0], Created)
        ensemble.close()
        again = Journal(path, fsync="never")
        assert "/after" in again.tree.nodes
        assert again.dropped_bytes == 0
        again.close()


def _end(step: tuple[int, object]) -> int:
    return step[0]


def test_a_byte_changed_anywhere_is_found_and_never_misread(tmp_path: Path) -> None:
    steps = write_batches(tmp_path / "j")
    whole = (tmp_path / "j").read_bytes()
    last_record = steps[-2][0]
    for at in range(len(whole)):
        path = tmp_path / f"bad-{at}"
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            journal = Journal(path, fsync="never")
        except JournalDamaged as error:
            assert at < last_record + 12, "only the tail may be dropped"
            assert str(path) in str(error)  # noqa: PT017 -- both outcomes are looked at
        else:
            assert at >= last_record + 12
            assert contents(journal.tree) == steps[-2][1]
            assert journal.dropped_bytes == len(whole) - last_record
            journal.close()


def test_damage_in_the_middle_is_told_with_its_place(tmp_path: Path) -> None:
    steps = write_batches(tmp_path / "j")
    content = bytearray((tmp_path / "j").read_bytes())
    content[steps[1][0] + 20] ^= 1
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(JournalDamaged, match=f"byte {steps[1][0]}"):
        Journal(tmp_path / "j")
    (tmp_path / "j").write_bytes(bytes(content[: steps[0][0]]))
    Journal(tmp_path / "j").close()  # the refused journal let go of its lock


def test_a_tail_of_zeros_is_dropped(tmp_path: Path) -> None:
    steps = write_batches(tmp_path / "j")
    with (tmp_path / "j").open("ab") as file:
        file.write(bytes(4096))
    journal = Journal(tmp_path / "j")
    assert (contents(journal.tree), journal.dropped_bytes) == (steps[-1][1], 4096)
    journal.close()


def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("buy milk, and some more text than the first line has")
    with pytest.raises(JournalDamaged, match="not a journal"):
        Journal(tmp_path / "notes")
    assert (tmp_path / "notes").read_text().startswith("buy milk")


def test_a_journal_is_open_once(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j")
    with pytest.raises(StoreUnavailable, match="in use"):
        Journal(tmp_path / "j")
    first.close()
    Journal(tmp_path / "j").close()


def test_a_directory_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="No such file"):
        Journal(tmp_path / "none" / "j")
    with pytest.raises(InvalidRequest, match="always, interval, never"):
        Journal(tmp_path / "j", fsync="sometimes")  # pyright: ignore[reportArgumentType]


def test_ephemeral_nodes_do_not_survive_and_numbers_go_on(tmp_path: Path) -> None:
    first = Journal(tmp_path / "j", fsync="never")
    store = MemoryStore(MemoryEnsemble(journal=first))
    store.batch([Create("/p"), Create("/p/e", ephemeral=True), Create("/p/s", sequential=True)])
    zxid = first.tree.zxid
    first.close()  # as a killed process would: the session was not ended
    second = Journal(tmp_path / "j", fsync="never")
    assert second.tree.nodes["/p/e"].owner == store.session
    ensemble = MemoryEnsemble(journal=second)
    after = MemoryStore(ensemble)
    assert after.session > store.session
    gone, made = after.batch([Exists("/p/e"), Create("/p/s", sequential=True)])
    assert gone == Presence(None)
    assert isinstance(made, Created)
    assert made.path == "/p/s0000000002"
    assert made.stat.created > zxid + 1  # the burial was a transaction too
    ensemble.close()
    third = Journal(tmp_path / "j", fsync="never")
    assert "/p/e" not in third.tree.nodes
    third.close()


@pytest.mark.parametrize("fsync", ["always", "interval", "never"])
def test_a_growing_journal_is_compacted_and_holds_the_same(tmp_path: Path, fsync: Fsync) -> None:
    path = tmp_path / "j"
    journal = Journal(
        path, fsync=fsync, interval_s=0.0, compact_bytes_min=2_000, compact_growth=2.0
    )
    ensemble = MemoryEnsemble(journal=journal)
    store = MemoryStore(ensemble)
    store.batch([Create("/a"), Create("/a/s", sequential=True), Delete("/a/s0000000000")])
    for i in range(300):
        store.batch([SetData("/a", b"%d" % i)])
        assert path.stat().st_size == journal.size_bytes < 2_200
    before, zxid = contents(ensemble.tree), ensemble.tree.zxid
    ensemble.close()
    again = Journal(path)
    assert (contents(again.tree), again.tree.zxid) == (before, zxid)
    assert again.tree.nodes["/a"].version == 300
    again.close()
    assert not path.with_name("j.new").exists()


def test_a_compaction_that_was_cut_off_costs_nothing(tmp_path: Path) -> None:
    steps = write_batches(tmp_path / "j")
    (tmp_path / "j.new").write_bytes(MAGIC + b"half a snapsh")
    journal = Journal(tmp_path / "j")
    assert contents(journal.tree) == steps[-1][1]
    journal.close()
    assert not (tmp_path / "j.new").exists()


def test_a_journal_that_cannot_be_written_stops_the_store_until_it_can(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", fsync="never")
    ensemble = MemoryEnsemble(journal=journal)
    store, other = MemoryStore(ensemble), MemoryStore(ensemble)
    heard: list[object] = []
    other.listen(heard.append)
    store.batch([Create("/a", b"kept")])
    other.batch([GetData("/a", watch=True)])
    whole = os.dup(journal._file)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, journal._file)
    os.close(full)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="No space left"):
            store.batch([SetData("/a", b"unknown")])
    with pytest.raises(StoreUnavailable):
        other.batch([GetData("/a")])
    assert heard == []
    assert "No space left" in ensemble.journal_failure()
    os.dup2(whole, journal._file)
    os.close(whole)
    assert ensemble.journal_failure() == ""
    # the one write whose outcome was not known is done; those refused after it are not
    (node,) = other.batch([GetData("/a")])
    assert isinstance(node, Node)
    assert (node.data, node.stat.version) == (b"unknown", 1)
    assert len(heard) == 1
    journal.close()
    again = Journal(tmp_path / "j")
    assert again.tree.nodes["/a"].data == b"unknown"
    again.close()


def test_half_a_record_is_taken_back_when_the_disk_is_full(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", fsync="never")
    store = MemoryStore(MemoryEnsemble(journal=journal))
    store.batch([Create("/a", b"kept")])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.size_bytes + 100, before[1]))
    try:
        with pytest.raises(StoreUnavailable, match="File too large"):
            store.batch([SetData("/a", bytes(1000))])
        assert (tmp_path / "j").stat().st_size == journal.size_bytes
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    store.batch([Create("/b", b"more")])
    journal.close()
    again = Journal(tmp_path / "j")
    assert (again.dropped_bytes, again.tree.nodes["/b"].data) == (0, b"more")
    again.close()


WRITER = """
import sys
from pathlib import Path
from kedge.store.journal import Journal
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Create, SetData
journal = Journal(Path(sys.argv[1]), fsync=sys.argv[2], compact_bytes_min=3_000)
store = MemoryStore(MemoryEnsemble(journal=journal))
store.batch([Create("/n", b"0"), Create("/e", ephemeral=True)])
for i in range(1, 1_000_000):
    store.batch([SetData("/n", b"%d" % i)])
    print(i, flush=True)
"""


@pytest.mark.parametrize("fsync", ["always", "never"])
def test_what_was_answered_survives_kill_9(tmp_path: Path, fsync: Fsync) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "j"), fsync],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as writer:
        assert writer.stdout is not None
        for _ in range(150):
            writer.stdout.readline()
        with pytest.raises(StoreUnavailable, match="in use"):
            Journal(tmp_path / "j")
        writer.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in writer.stdout if line.endswith(b"\n")]
    ensemble = MemoryEnsemble(journal=Journal(tmp_path / "j"))
    node, ephemeral = MemoryStore(ensemble).batch([GetData("/n"), Exists("/e")])
    assert isinstance(node, Node)
    assert int(node.data or b"") >= max(acknowledged, default=150)
    assert int(node.data or b"") == node.stat.version
    assert ephemeral == Presence(None)
    ensemble.close()


names = st.sampled_from(["/a", "/b", "/a/x", "/a/y", "/b/x"])
requests = st.one_of(
    st.builds(Create, names, st.none() | st.binary(max_size=9), st.booleans(), st.booleans()),
    st.builds(SetData, names, st.none() | st.binary(max_size=9)),
    st.builds(Delete, names),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(requests, max_size=4), max_size=12), compact=st.integers(0, 12))
def test_any_history_is_read_back(
    tmp_path: Path, batches: list[list[Request]], compact: int
) -> None:
    path = tmp_path / "j"
    path.unlink(missing_ok=True)
    journal = Journal(path, fsync="never")
    ensemble = MemoryEnsemble(journal=journal)
    store = MemoryStore(ensemble)
    for index, batch in enumerate(batches):
        store.batch([Multi(tuple(batch[:2])), *batch[2:]])  # pyright: ignore[reportArgumentType]
        if index == compact:
            journal.compact(ensemble.tree)
    before = contents(ensemble.tree)
    journal.close()
    again = Journal(path, fsync="never")
    assert contents(again.tree) == before
    assert again.tree.ephemerals == ensemble.tree.ephemerals
    again.close()
