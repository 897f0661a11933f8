"""The log of runs in the lab's own store: what a topic with one writer is in a real cluster.

    /kedge_runs                {"epoch": 3, "end": 41}    the writer's epoch; records before `end`
    /kedge_runs/000000000040   {"at": 1795000000000, "key": "lease"} and, after a line feed, bytes

A batch writes its records first and `end` last: a process that is killed in between leaves records
that were never committed, and the next start removes them. Of records with the same key the last
is kept, as compaction would do. A record without a value removes its key; it is kept until the lab
is started again, so that clients which have read the key learn of its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from kedge.errors import Conflict, InvalidRequest, StoreUnavailable, WriterFenced
from kedge.protocol.runs_log import (
    RunsLogOp,
    RunsLogRequest,
    RunsLogResponse,
    SentEntry,
    SentRecord,
)
from kedge.store.port import (
    Children,
    Create,
    Delete,
    GetChildren,
    GetData,
    Node,
    Request,
    SetData,
    Store,
)

ROOT = "/kedge_runs"
READ_BYTES_MAX = 4 << 20  # in one response, or one record
KEPT_BYTES_MAX = 256 << 20  # of all records together
RECORD_BYTES = 64  # what a record takes besides its value


class _Head(NamedTuple):
    epoch: int = 0
    end: int = 0

    def data(self) -> bytes:
        return orjson.dumps(self._asdict())


class RunsLog:
    """The log; used from one thread at a time."""

    def __init__(self, store: Store, now: Callable[[], float] = time.time) -> None:
        self._store, self._now = store, now
        self._is_read = False
        self._has_root = False
        self._head = _Head()
        self._records: dict[str, SentRecord] = {}  # by key, in the sequence of their offsets
        self._bytes = 0

    def answer(self, request: RunsLogRequest) -> RunsLogResponse:
        """Do what is requested.

        Raises:
            WriterFenced: another client has become the writer.
            InvalidRequest: the request makes no sense, or the log is full.
            StoreUnavailable: the journal of the lab cannot be written.
        """
        if not self._is_read:
            self._read_all()
        try:
            match request.op:
                case RunsLogOp.READ:
                    return self._read(request.after)
                case RunsLogOp.BECOME_WRITER:
                    self._write((), self._head._replace(epoch=self._head.epoch + 1))
                    return RunsLogResponse(epoch=self._head.epoch)
                case RunsLogOp.APPEND:
                    if request.epoch != self._head.epoch:
                        raise WriterFenced("another writer has replaced this one")
                    return self._append(request.entries)
                case RunsLogOp.APPEND_UNFENCED:
                    return self._append(request.entries)
                case other:
                    raise InvalidRequest(f"{other} is no operation on a log of runs")
        except StoreUnavailable:
            # The tree may be ahead of its journal: what is kept is read again once it is written.
            self._is_read = False
            raise

    # ---- reading --------------------------------------------------------------------------------

    def _read(self, after: int) -> RunsLogResponse:
        found: list[SentRecord] = []
        size = 0
        for record in self._records.values():
            if record.offset <= after:
                continue
            size += _size_of(record)
            if found and size > READ_BYTES_MAX:
                return RunsLogResponse(last=found[-1].offset, more=True, records=tuple(found))
            found.append(record)
        return RunsLogResponse(last=self._head.end - 1, records=tuple(found))

    def _read_all(self) -> None:
        """Read what the store has, and remove what was not committed or is not needed any more."""
        (head, names) = self._store.batch([GetData(ROOT), GetChildren(ROOT)])
        self._head, self._records = _Head(), {}
        self._has_root = isinstance(head, Node)
        removed: list[str] = []
        if isinstance(head, Node) and isinstance(names, Children):
            self._head = _head_in(head.data or b"{}")
            for name in sorted(names.names):
                record = self._stored(name)
                if record.offset >= self._head.end:
                    removed.append(name)
                    continue
                before = self._records.pop(record.key, None)
                if before is not None:
                    removed.append(_name(before.offset))
                self._records[record.key] = record
        gone = [each for each in self._records.values() if each.value is None]
        for each in gone:
            del self._records[each.key]
        doomed = [*removed, *(_name(each.offset) for each in gone)]
        self._store.batch([Delete(f"{ROOT}/{name}") for name in doomed])
        self._bytes = sum(map(_size_of, self._records.values()))
        self._is_read = True

    def _stored(self, name: str) -> SentRecord:
        (node,) = self._store.batch([GetData(f"{ROOT}/{name}")])
        assert isinstance(node, Node), "only this object removes records"
        header, _, value = (node.data or b"").partition(b"\n")
        fields: dict[str, Any] = orjson.loads(header)
        kept = None if fields.get("gone") else value
        return SentRecord(int(name), int(fields["at"]), str(fields["key"]), kept)

    # ---- writing --------------------------------------------------------------------------------

    def _append(self, entries: Sequence[SentEntry]) -> RunsLogResponse:
        if not entries:
            raise InvalidRequest("no records to append")
        added = sum(RECORD_BYTES + len(each.value or b"") for each in entries)
        if self._bytes + added > KEPT_BYTES_MAX:
            raise InvalidRequest(
                f"The lab keeps {KEPT_BYTES_MAX >> 20} MiB of runs, and these are more",
                hint="keep runs in a directory with --state PATH",
            )
        self._write(entries, self._head._replace(end=self._head.end + len(entries)))
        return RunsLogResponse(epoch=self._head.epoch, last=self._head.end - 1)

    def _write(self, entries: Sequence[SentEntry], head: _Head) -> None:
        at_ms = int(self._now() * 1000)
        written = [
            SentRecord(self._head.end + number, at_ms, *entry)
            for number, entry in enumerate(entries)
        ]
        # Of entries with one key in the same batch, too, the last counts.
        last = {each.key: each for each in written}
        replaced = [self._records[key] for key in last if key in self._records]
        replaced += [each for each in written if last[each.key] is not each]
        requests: list[Request] = [] if self._has_root else [Create(ROOT)]
        requests += [Create(f"{ROOT}/{_name(each.offset)}", _data_of(each)) for each in written]
        requests.append(SetData(ROOT, head.data()))
        requests += [Delete(f"{ROOT}/{_name(each.offset)}") for each in replaced]
        answers = self._store.batch(requests)
        assert not any(isinstance(each, Conflict) for each in answers), answers
        self._head, self._has_root = head, True
        for key, record in last.items():
            before = self._records.pop(key, None)
            self._bytes += _size_of(record) - (0 if before is None else _size_of(before))
            self._records[key] = record


def _head_in(data: bytes) -> _Head:
    fields: dict[str, Any] = orjson.loads(data)
    return _Head(int(fields.get("epoch", 0)), int(fields.get("end", 0)))


def _name(offset: int) -> str:
    return f"{offset:012d}"


def _data_of(record: SentRecord) -> bytes:
    fields: dict[str, object] = {"at": record.at_ms, "key": record.key}
    if record.value is None:
        fields["gone"] = True
    return orjson.dumps(fields) + b"\n" + (record.value or b"")


def _size_of(record: SentRecord) -> int:
    return RECORD_BYTES + len(record.value or b"")
