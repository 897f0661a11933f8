"""The records of runs in a log: keys, values in parts, and what all records add up to.

    lease                             the process that acts on the runs, renewed every few seconds
    plan/<run>/<part>/<parts>         the plan of a run
    line/<run>/<number>/<part>/<parts>   one line of its journal, numbered from 0
    request/<run>/<id>                a request to the process that carries the run out

Each line has a key of its own, so compaction keeps all of them. A value that is too long for one
record is compressed and divided into parts. A line that is written twice, since the first attempt
was not answered, has the same key: the last one counts.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from kedge.cluster.log_port import NOTHING_READ, LogEntry, LogRecord
from kedge.errors import JournalDamaged, MalformedInput
from kedge.execution import RunRecord
from kedge.execution.journal import JournalReader
from kedge.plan import Plan, parse_plan

LEASE, PLAN, LINE, REQUEST = "lease", "plan", "line", "request"
PLAIN_BYTES_MAX = 100_000  # longer values are compressed
PART_BYTES_MAX = 500_000  # well below Kafka's default limit for a batch, 1 MiB
PARTS_MAX = 2_000
VALUE_BYTES_MAX = 256 << 20
_JSON = b"{"  # how plans and lines begin; compressed values begin otherwise


# ---- the owner ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that acts on runs. `nonce` differs each time; `machine` is empty where unknown."""

    host: str
    pid: int
    nonce: str
    machine: str = ""
    started: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


def lease_entry(owner: Owner, *, released: bool = False) -> LogEntry:
    """The record by which an owner shows that it lives, or that it has given the runs up."""
    fields = {name: getattr(owner, name) for name in Owner.__slots__}
    return LogEntry(LEASE, orjson.dumps({"owner": fields, "released": released}))


@dataclass(frozen=True, slots=True)
class OwnerLease:
    """The last lease record: its owner, and when it was stored (by the cluster's clock)."""

    owner: Owner
    released: bool
    offset: int
    at: float


def _lease_in(record: LogRecord) -> OwnerLease:
    fields = _fields(orjson.loads(record.value or b""))
    owner = _fields(fields["owner"])
    texts = {name: owner[name] for name in ("host", "nonce", "machine", "started")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError("not a text")
    made = Owner(pid=int(owner["pid"]), **texts)
    return OwnerLease(made, bool(fields["released"]), record.offset, record.at)


def _fields(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return cast("dict[str, Any]", value)


# ---- values in parts ----------------------------------------------------------------------------


def entries_of(key: str, value: bytes) -> list[LogEntry]:
    """A value as records: itself, or compressed and divided."""
    if len(value) > PLAIN_BYTES_MAX or not value.startswith(_JSON):
        value = zlib.compress(value, 6)
    parts = [value[at : at + PART_BYTES_MAX] for at in range(0, len(value), PART_BYTES_MAX)]
    return [LogEntry(f"{key}/{at}/{len(parts)}", part) for at, part in enumerate(parts)]


def plan_entries(run: str, plan: bytes) -> list[LogEntry]:
    """The plan of a run as records."""
    return entries_of(f"{PLAN}/{run}", plan)


def line_entries(run: str, number: int, line: bytes) -> list[LogEntry]:
    """A line of a journal as records."""
    return entries_of(f"{LINE}/{run}/{number}", line)


@dataclass(slots=True)
class _Parts:
    """The parts of one value that were read."""

    parts: dict[int, bytes] = field(default_factory=dict[int, bytes])
    count: int = 0

    def add(self, part: int, count: int, value: bytes) -> bool:
        """Add a part; whether that changes anything."""
        if not 0 <= part < count <= PARTS_MAX:
            raise ValueError("no such part")
        if count != self.count:  # written anew, in another number of parts
            self.parts, self.count = {}, count
        changed = self.parts.get(part) != value
        self.parts[part] = value
        return changed

    def entries(self, key: str) -> list[LogEntry]:
        """The parts as records."""
        return [LogEntry(f"{key}/{at}/{self.count}", part) for at, part in self.parts.items()]

    def whole(self) -> bytes:
        """The value; raises ValueError where a part is missing or does not decompress."""
        if not self.count or len(self.parts) != self.count:
            raise ValueError("a part is missing")
        data = b"".join(self.parts[at] for at in range(self.count))
        if data.startswith(_JSON):
            return data
        try:
            unpacking = zlib.decompressobj()
            value = unpacking.decompress(data, VALUE_BYTES_MAX)
        except zlib.error as fault:
            raise ValueError("does not decompress") from fault
        if not unpacking.eof:
            raise ValueError("does not end")
        return value


# ---- what records add up to ---------------------------------------------------------------------


@dataclass(slots=True)
class RunImage:
    """What the records of one run add up to."""

    name: str
    begun: int = NOTHING_READ  # the offset of the first line, by which runs are sorted
    requests: dict[str, tuple[int, bytes]] = field(default_factory=dict[str, tuple[int, bytes]])
    keys: set[str] = field(default_factory=set[str])
    _plan: _Parts = field(default_factory=_Parts)
    _lines: dict[int, _Parts] = field(default_factory=dict[int, _Parts])
    _known: RunRecord | None = None
    _reader: JournalReader = field(default_factory=JournalReader)
    _read: int = 0  # lines that the reader has

    @property
    def next_line(self) -> int:
        """The number of the next line."""
        return max(self._lines, default=-1) + 1

    def plan(self) -> Plan:
        """The plan."""
        try:
            data = self._plan.whole()
        except ValueError as fault:
            raise self._damaged("its plan is not whole") from fault
        try:
            return parse_plan(data)
        except MalformedInput as fault:
            raise self._damaged("its plan cannot be read") from fault

    def record(self) -> RunRecord:
        """What the journal adds up to; only lines that are new are read."""
        if self._known is None:
            try:
                self._read_on()
            except JournalDamaged:
                self._read_anew()
                raise
            self._known = self._reader.record()
        return self._known

    def _read_on(self) -> None:
        for number in range(self._read, self.next_line):
            self._reader.feed(self._line(number))
            self._read = number + 1

    def _read_anew(self) -> None:
        """A line that was read has changed, or cannot be read: the next reading begins again."""
        self._reader, self._read = JournalReader(), 0

    def _line(self, number: int) -> bytes:
        try:
            return self._lines[number].whole()
        except (KeyError, ValueError) as fault:
            raise self._damaged(f"line {number + 1} of its journal is not whole") from fault

    def _damaged(self, why: str) -> JournalDamaged:
        return JournalDamaged(
            f"Run {self.name} cannot be read: {why}",
            hint="check with kedge reassign list and kedge configs describe what it left",
        )

    def entries(self) -> list[LogEntry]:
        """The run as records, the plan first."""
        plan = self._plan.entries(f"{PLAN}/{self.name}")
        lines = sorted(self._lines.items())
        journal = [e for n, parts in lines for e in parts.entries(f"{LINE}/{self.name}/{n}")]
        requests = sorted((at, key, value) for key, (at, value) in self.requests.items())
        return [*plan, *journal, *(LogEntry(key, value) for _, key, value in requests)]

    def add_plan(self, part: str, parts: str, value: bytes) -> None:
        """A part of the plan."""
        self._plan.add(_number(part), _number(parts), value)

    def add_line(self, number: str, part: str, parts: str, value: bytes, offset: int) -> None:
        """A part of a line."""
        at = _number(number)
        if self._lines.setdefault(at, _Parts()).add(_number(part), _number(parts), value):
            self._known = None
            if at < self._read:
                self._read_anew()
        if self.begun == NOTHING_READ:
            self.begun = offset


def _number(text: str) -> int:
    """A number in a key, in the only form that this program writes."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError("not a number")
    return int(text)


class LogImage:
    """What all records of a log add up to."""

    def __init__(self) -> None:
        self.position = NOTHING_READ
        self.lease: OwnerLease | None = None
        self._runs: dict[str, RunImage] = {}

    def runs(self) -> list[RunImage]:
        """Every run that has begun, oldest first."""
        begun = [run for run in self._runs.values() if run.begun != NOTHING_READ]
        return sorted(begun, key=lambda run: run.begun)

    def run(self, name: str) -> RunImage | None:
        """The run of that name."""
        return self._runs.get(name)

    def entries(self) -> list[LogEntry]:
        """Everything but the lease as records, to write it to another log."""
        return [entry for run in self.runs() for entry in run.entries()]

    @property
    def owner(self) -> Owner | None:
        """The process that has the lease; None if none has, or it was given up."""
        return None if self.lease is None or self.lease.released else self.lease.owner

    def add(self, records: Iterable[LogRecord]) -> list[int]:
        """Add records; returns the offsets of those that no version of this program has written."""
        skipped: list[int] = []
        for record in records:
            self.position = max(self.position, record.offset)
            try:
                self._add(record)
            except (ValueError, TypeError, KeyError):
                skipped.append(record.offset)
        return skipped

    def add_own(self, entries: Iterable[LogEntry], last: int, at: float) -> None:
        """Add what this process has written, before a read shows it."""
        for entry in entries:
            self._add(LogRecord(last, at, *entry))

    def _add(self, record: LogRecord) -> None:
        if record.key == LEASE:
            if self.lease is None or record.offset >= self.lease.offset:
                self.lease = None if record.value is None else _lease_in(record)
            return
        kind, name, *rest = (record.key or "").split("/")
        if not name or kind not in (PLAN, LINE, REQUEST):
            raise ValueError("not a key of this program")
        if record.value is None:
            self._remove(name, record.key or "")
            return
        run = self._runs.setdefault(name, RunImage(name))
        match kind, rest:
            case "plan", [part, parts]:
                run.add_plan(part, parts, record.value)
            case "line", [number, part, parts]:
                run.add_line(number, part, parts, record.value, record.offset)
            case "request", [_]:
                run.requests[record.key or ""] = record.offset, record.value
            case _:
                raise ValueError("not a key of this program")
        run.keys.add(record.key or "")

    def _remove(self, name: str, key: str) -> None:
        run = self._runs.get(name)
        if run is None:
            return
        run.keys.discard(key)
        run.requests.pop(key, None)
        if not run.keys:
            del self._runs[name]
