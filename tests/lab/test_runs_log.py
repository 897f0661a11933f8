"""The log of runs in a lab's store: whole batches, one writer, the last record of each key."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kedge.cluster.access import PLAIN_ACCESS
from kedge.cluster.lab_log import LabLog
from kedge.cluster.log_port import LogEntry
from kedge.errors import InvalidRequest, StoreUnavailable, WriterFenced
from kedge.lab import runs_log
from kedge.lab.runs_log import ROOT, RunsLog
from kedge.protocol.runs_log import (
    RUNS_LOG,
    RunsLogOp,
    RunsLogRequest,
    RunsLogResponse,
    SentEntry,
)
from kedge.store.memory import MemoryStore
from kedge.store.port import Children, GetChildren
from tests.lab.labs import running

READ = RunsLogRequest(RunsLogOp.READ)


def append(log: RunsLog, *entries: tuple[str, bytes | None], epoch: int = 0) -> RunsLogResponse:
    sent = tuple(SentEntry(*entry) for entry in entries)
    return log.answer(RunsLogRequest(RunsLogOp.APPEND, epoch=epoch, entries=sent))


def content(log: RunsLog) -> dict[str, bytes | None]:
    return {record.key: record.value for record in log.answer(READ).records}


def nodes(store: MemoryStore) -> int:
    (found,) = store.batch([GetChildren(ROOT)])
    assert isinstance(found, Children)
    return len(found.names)


def test_of_records_with_one_key_the_last_is_kept_and_read_after_a_restart() -> None:
    store = MemoryStore()
    log = RunsLog(store, now=lambda: 5.0)
    append(log, ("lease", b"1"), ("line", b"a"))
    assert append(log, ("lease", b"2"), ("lease", b"3")).last == 3
    assert content(log) == {"line": b"a", "lease": b"3"}
    assert nodes(store) == 2
    again = RunsLog(store)
    assert again.answer(READ) == log.answer(READ)
    assert [(each.offset, each.at_ms) for each in again.answer(READ).records] == [
        (1, 5000),
        (3, 5000),
    ]
    (new,) = again.answer(READ._replace(after=1)).records
    assert new.key == "lease"


def test_a_removed_key_is_told_to_readers_until_the_lab_starts_again() -> None:
    store = MemoryStore()
    log = RunsLog(store)
    append(log, ("plan", b"p"), ("lease", b"1"))
    append(log, ("plan", None))
    assert content(log) == {"lease": b"1", "plan": None}
    assert content(RunsLog(store)) == {"lease": b"1"}
    assert nodes(store) == 1


def test_a_new_writer_fences_the_one_before_and_does_so_after_a_restart() -> None:
    store = MemoryStore()
    log = RunsLog(store)
    become = RunsLogRequest(RunsLogOp.BECOME_WRITER)
    first, second = log.answer(become).epoch, log.answer(become).epoch
    append(log, ("lease", b"2"), epoch=second)
    for each in (log, RunsLog(store)):
        with pytest.raises(WriterFenced):
            append(each, ("lease", b"1"), epoch=first)
    assert content(log) == {"lease": b"2"}
    assert log.answer(become).epoch > second


@pytest.mark.parametrize("done", range(7))
def test_a_batch_that_breaks_off_is_there_as_a_whole_or_not_at_all(done: int) -> None:
    store = MemoryStore()
    log = RunsLog(store)
    append(log, ("a", b"1"), ("b", b"1"))
    store.disconnect_during_next_batch(after=done)
    with pytest.raises(StoreUnavailable):
        append(log, ("a", b"2"), ("b", b"2"), ("c", b"2"))
    store.reconnect()
    before, after = {"a": b"1", "b": b"1"}, {"a": b"2", "b": b"2", "c": b"2"}
    found = content(log)
    assert found in (before, after)
    assert content(RunsLog(store)) == found
    append(log, ("a", b"3"), ("c", b"3"))
    assert content(log) == found | {"a": b"3", "c": b"3"}
    assert nodes(store) == len(content(log))


def test_a_long_log_is_read_in_parts() -> None:
    size = runs_log.READ_BYTES_MAX // 9
    with running(brokers=1) as (lab, _):
        log = LabLog(lab.bootstrap_servers, PLAIN_ACCESS)
        log.become_writer()
        log.append([LogEntry(f"k{number}", bytes(size)) for number in range(10)])
        assert [each.key for each in log.read(-1)] == [f"k{number}" for number in range(10)]
        assert [each.offset for each in log.read(6)] == [7, 8, 9]
        log.close()


def test_what_is_too_much_or_makes_no_sense_is_refused_and_changes_nothing() -> None:
    log = RunsLog(MemoryStore())
    append(log, ("a", b"1"))
    with pytest.raises(InvalidRequest, match="no records"):
        append(log)
    with pytest.raises(InvalidRequest, match="no operation"):
        log.answer(RunsLogRequest(op=9))
    with pytest.raises(InvalidRequest, match="MiB of runs"):
        append(log, *((f"k{number}", bytes(1 << 20)) for number in range(256)))
    with pytest.raises(InvalidRequest, match="fit in one request"):
        append(log, ("a", bytes(2 << 20)))
    assert content(log) == {"a": b"1"}


def test_a_client_that_has_not_authenticated_does_not_reach_the_log(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("ada:secret\n")
    users.chmod(0o600)
    with running(brokers=1, sasl_users=str(users)) as (lab, _):
        host, port = lab.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as line:
            line.sendall(RUNS_LOG.encode_request(0, READ, correlation=1, client="x"))
            assert line.recv(1) == b""


def test_a_request_that_is_cut_short_ends_the_connection_and_nothing_else() -> None:
    entry = SentEntry("key", b"value")
    request = RunsLogRequest(RunsLogOp.APPEND_UNFENCED, entries=(entry,))
    payload = RUNS_LOG.encode_request(0, request, correlation=1, client="x")[4:]
    with running(brokers=1) as (lab, _):
        host, port = lab.bootstrap_servers.split(":")
        for cut in range(1, len(payload)):
            with socket.create_connection((host, int(port)), timeout=10) as line:
                line.sendall(cut.to_bytes(4, "big") + payload[:cut])
                assert line.recv(1) == b"", cut
        log = LabLog(lab.bootstrap_servers, PLAIN_ACCESS)
        assert log.read(-1) == []
        log.close()
