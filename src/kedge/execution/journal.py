"""Writes and reads the journal of a run, by which another process can finish or undo it.

A journal is lines of JSON, each on disk before the action that it describes. It has what the
cluster does not know: the state of the run, the throttles that it set, the partitions that it moved
and the log directories that their replicas were in.

    {"event":"begun","at":1e9,"cluster_id":"prod-eu","kind":"apply","rate":50000000,"each_way":2}
    {"event":"directories","replicas":[["orders",0,1,"/data/0"]]}
    {"event":"state","at":1e9,"state":"throttling"}
    {"event":"leased","brokers":{"1":{"leader.replication.throttled.rate":"50000000"}},"topics":{…}}
    {"event":"state","at":1e9,"state":"moving"}
    {"event":"started","partitions":[["orders",0]]}
    {"event":"state","at":1e9,"state":"releasing"}
    {"event":"released","brokers":{},"topics":{}}
    {"event":"state","at":1e9,"state":"done","moved":1,"partitions":1}

`released` names what is left: throttles on a broker that did not confirm their removal. A last line
that was cut short by a crash is left out: its action was not taken yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple, cast

import orjson

from kedge.errors import JournalDamaged
from kedge.execution.run_states import RunState
from kedge.model import BrokerId, TopicPartition
from kedge.plan import PartitionReplica

Settings = Mapping[str, Mapping[str, str]]  # name of a broker or topic → config → value


class RunKind(StrEnum):
    """Whether a run carries a plan out or undoes another run."""

    APPLY = "apply"
    ROLLBACK = "rollback"


class Setting(NamedTuple):
    """One config value of a lease; `scope` is `broker` or `topic`."""

    scope: str
    name: str
    config: str
    value: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Throttles that a run has set: only these values are ever removed."""

    brokers: Settings = field(default_factory=dict[str, dict[str, str]])
    topics: Settings = field(default_factory=dict[str, dict[str, str]])

    def __bool__(self) -> bool:
        return bool(self.brokers or self.topics)

    @classmethod
    def of(cls, settings: Iterable[Setting]) -> Lease:
        """A lease of single values."""
        found: dict[str, dict[str, dict[str, str]]] = {"broker": {}, "topic": {}}
        for scope, name, config, value in settings:
            found[scope].setdefault(name, {})[config] = value
        return cls(found["broker"], found["topic"])

    def updated(self, more: Lease) -> Lease:
        """Both; where both have a config, the value of `more`."""
        return Lease(_merged(self.brokers, more.brokers), _merged(self.topics, more.topics))

    def settings(self) -> list[Setting]:
        """Every config value."""
        return [
            Setting(scope, name, config, value)
            for scope, settings in (("broker", self.brokers), ("topic", self.topics))
            for name, configs in settings.items()
            for config, value in configs.items()
        ]


def _merged(first: Settings, second: Settings) -> dict[str, dict[str, str]]:
    names = dict.fromkeys((*first, *second))
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in names}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The run that a journal describes.

    `lease` are the throttles that are set, or about to be; `own` is every value that the run may
    have set since it last had none, so that a crash between journal and broker leaves no value that
    looks like a foreign one.
    """

    cluster_id: str
    kind: RunKind = RunKind.APPLY
    undoes: str | None = None
    plan_file: str = ""
    rate: int | None = None
    each_way: int = 2
    state: RunState = RunState.PLANNED
    begun_at: float = 0.0
    changed_at: float = 0.0
    moved: int | None = None
    lease: Lease = field(default_factory=Lease)
    own: frozenset[Setting] = frozenset()
    started: frozenset[TopicPartition] = frozenset()
    skipped: frozenset[TopicPartition] = frozenset()
    log_dirs: Mapping[PartitionReplica, str] = field(default_factory=dict[PartitionReplica, str])


# ---- writing ------------------------------------------------------------------------------------


def begun(record: RunRecord) -> bytes:
    """The first line of a journal."""
    return _line(
        "begun",
        at=record.begun_at,
        cluster_id=record.cluster_id,
        kind=record.kind.value,
        undoes=record.undoes,
        plan_file=record.plan_file,
        rate=record.rate,
        each_way=record.each_way,
    )


def entered(state: RunState, *, at: float, moved: int | None = None) -> bytes:
    """The run is about to enter a state; an end has the number of partitions moved."""
    return _line("state", at=at, state=state.value, moved=moved)


def rate_changed(rate: int | None, each_way: int) -> bytes:
    """The run continues with another throttle or other slots."""
    return _line("settings", rate=rate, each_way=each_way)


def placed(log_dirs: Mapping[PartitionReplica, str]) -> bytes:
    """The log directories that replicas were in before the run."""
    return _line("directories", replicas=[[*replica, path] for replica, path in log_dirs.items()])


def leased(lease: Lease) -> bytes:
    """Throttles are about to be set."""
    return _line("leased", brokers=lease.brokers, topics=lease.topics)


def released(left: Lease) -> bytes:
    """Throttles are gone, except those that are left."""
    return _line("released", brokers=left.brokers, topics=left.topics)


def started(partitions: Iterable[TopicPartition]) -> bytes:
    """Moves are about to start."""
    return _line("started", partitions=[list(each) for each in partitions])


def skipped(partitions: Iterable[TopicPartition]) -> bytes:
    """Partitions that the run leaves alone, since they were moved by others."""
    return _line("skipped", partitions=[list(each) for each in partitions])


def _line(event: str, **fields: Any) -> bytes:
    return orjson.dumps({"event": event, **fields}, option=orjson.OPT_APPEND_NEWLINE)


# ---- reading ------------------------------------------------------------------------------------


def read_journal(data: bytes) -> RunRecord:
    """The record that a journal's lines add up to."""
    *whole, _cut_short = data.split(b"\n")
    if not whole:
        raise JournalDamaged("The journal of this run is empty", hint="apply the plan again")
    record: RunRecord | None = None
    named: dict[str, set[TopicPartition]] = {"started": set(), "skipped": set()}
    for number, line in enumerate(whole, start=1):
        try:
            fields = _fields(line)
            event = fields["event"]
            if record is not None and event in named:
                named[event] |= _partitions(fields)
            else:
                record = _first(fields) if record is None else _after(record, fields)
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise JournalDamaged(
                f"Line {number} of the journal of this run cannot be read",
                hint="restore it from a backup, or move the run's directory away and check with "
                "kedge reassign list and kedge configs describe what it left",
            ) from fault
    assert record is not None
    return replace(record, started=frozenset(named["started"]), skipped=frozenset(named["skipped"]))


def _fields(line: bytes) -> dict[str, Any]:
    value = orjson.loads(line)
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return cast("dict[str, Any]", value)


def _first(fields: Mapping[str, Any]) -> RunRecord:
    if fields["event"] != "begun":
        raise ValueError("the first line does not begin a run")
    at = _seconds(fields.get("at", 0.0))
    return RunRecord(
        cluster_id=_text(fields["cluster_id"]),
        kind=RunKind(fields.get("kind", RunKind.APPLY)),
        undoes=None if fields.get("undoes") is None else _text(fields["undoes"]),
        plan_file=_text(fields.get("plan_file", "")),
        rate=None if fields["rate"] is None else _whole(fields["rate"]),
        each_way=_whole(fields["each_way"]),
        begun_at=at,
        changed_at=at,
    )


def _after(record: RunRecord, fields: Mapping[str, Any]) -> RunRecord:
    match fields["event"]:
        case "state":
            moved = fields.get("moved")
            return replace(
                record,
                state=RunState(fields["state"]),
                changed_at=_seconds(fields["at"]),
                moved=None if moved is None else _whole(moved),
            )
        case "settings":
            rate = None if fields["rate"] is None else _whole(fields["rate"])
            return replace(record, rate=rate, each_way=_whole(fields["each_way"]))
        case "leased":
            lease = _lease(fields)
            return replace(record, lease=lease, own=record.own | set(lease.settings()))
        case "released":
            left = _lease(fields)
            return replace(record, lease=left, own=record.own if left else frozenset())
        case "directories":
            return replace(record, log_dirs=dict(map(_log_dir, _items(fields["replicas"]))))
        case _:
            return record  # written by a later version; nothing that this one must know


def _lease(fields: Mapping[str, Any]) -> Lease:
    return Lease(_settings(fields["brokers"]), _settings(fields["topics"]))


def _settings(value: Any) -> dict[str, dict[str, str]]:
    return {
        _text(name): {_text(config): _text(each) for config, each in configs.items()}
        for name, configs in value.items()
    }


def _partitions(fields: Mapping[str, Any]) -> set[TopicPartition]:
    return {
        TopicPartition(_text(topic), _whole(partition))
        for topic, partition in _items(fields["partitions"])
    }


def _log_dir(item: Any) -> tuple[PartitionReplica, str]:
    topic, partition, broker, path = _items(item)
    return PartitionReplica(_text(topic), _whole(partition), BrokerId(_whole(broker))), _text(path)


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return cast("list[Any]", value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("not a whole number")
    return value


def _seconds(value: Any) -> float:
    """Seconds since 1970 that are a date: no report can show others."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2e11:
        raise TypeError("not a time")
    return float(value)
