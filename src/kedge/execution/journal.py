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

    {"event":"request","at":1e9,"request":{"id":"9f3c","kind":"rate","rate":80000000}}
    {"event":"rates","brokers":{"1":{"leader.replication.throttled.rate":"80000000"}}}
    {"event":"answered","id":"9f3c","unconfirmed":[],"refused":""}
    {"event":"rate","at":1e9,"rate":40000000,"why":"broker 3 responds in 2.0 s"}
    {"event":"predicted","at":1e9,"seconds":840.0}
    {"event":"aside","at":1e9,"partitions":[["orders",0]],"why":"no bytes for 15 min"}
    {"event":"sent_back","partitions":[["orders",0]]}

    {"event":"cordoned","brokers":{"3":null,"4":"/data/0"}}
    {"event":"uncordoned","brokers":["3","4"]}

`cordoned` has the values of `cordoned.log.dirs` that brokers had before the run.
`released` names what is left: throttles on a broker that did not confirm their removal. A last line
that was cut short by a crash is left out: its action was not taken yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from kedge.errors import JournalDamaged, KedgeError
from kedge.execution import json_fields as fields
from kedge.execution.requests import Reply, Request, RequestKind, request_from
from kedge.execution.run_record import (
    Lease,
    RateChange,
    RunKind,
    RunPrediction,
    RunRecord,
    Setting,
    Settings,
)
from kedge.execution.run_states import RunState
from kedge.execution.steering import Steering, steering_from
from kedge.model import BrokerId, TopicPartition
from kedge.plan import PartitionReplica

__all__ = ["Lease", "RunKind", "RunRecord", "Setting", "Settings", "read_journal"]

REQUESTED = "kedge throttle"  # why the rate changed, where an operator has requested it

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
        steering=record.steering.to_json(),
        predicted_s=None if record.prediction is None else record.prediction.seconds,
    )


def predicted(seconds: float, *, at: float) -> bytes:
    """What is left of a run that continues is predicted to take so long."""
    return _line("predicted", at=at, seconds=seconds)


def entered(state: RunState, *, at: float, moved: int | None = None, why: str = "") -> bytes:
    """The run is about to enter a state; an end has the number of partitions moved."""
    return _line("state", at=at, state=state.value, moved=moved, why=why)


def settings_changed(rate: int | None, each_way: int, steering: Steering) -> bytes:
    """The run continues with another throttle, other slots, or steered otherwise."""
    return _line("settings", rate=rate, each_way=each_way, steering=steering.to_json())


def request_taken(request: Request, *, at: float) -> bytes:
    """A request is about to be carried out."""
    return _line("request", at=at, request=request.to_json())


def request_answered(request_id: str, reply: Reply) -> bytes:
    """A request was carried out, or refused."""
    return _line(
        "answered", id=request_id, unconfirmed=list(reply.unconfirmed), refused=reply.refused
    )


def rate_adapted(rate: int, why: str, *, at: float) -> bytes:
    """The throttle adapts: the new rate is about to be set."""
    return _line("rate", at=at, rate=rate, why=why)


def rates_leased(brokers: Settings) -> bytes:
    """Other rates are about to be set on brokers; the rest of the lease stays."""
    return _line("rates", brokers=brokers)


def set_aside(partitions: Iterable[TopicPartition], why: str, *, at: float) -> bytes:
    """Moves that the run leaves alone, with the reason."""
    return _line("aside", at=at, partitions=[list(each) for each in partitions], why=why)


def placed(log_dirs: Mapping[PartitionReplica, str]) -> bytes:
    """The log directories that replicas were in before the run."""
    return _line("directories", replicas=[[*replica, path] for replica, path in log_dirs.items()])


def leased(lease: Lease) -> bytes:
    """Throttles are about to be set."""
    return _line("leased", brokers=lease.brokers, topics=lease.topics)


def released(left: Lease) -> bytes:
    """Throttles are gone, except those that are left."""
    return _line("released", brokers=left.brokers, topics=left.topics)


def cordoned(former: Mapping[BrokerId, str | None]) -> bytes:
    """Brokers are about to be cordoned; each with its own value of before, if it had one."""
    return _line("cordoned", brokers={str(broker): value for broker, value in former.items()})


def uncordoned(brokers: Iterable[BrokerId]) -> bytes:
    """Brokers that the run had cordoned have their values of before, or those of other clients."""
    return _line("uncordoned", brokers=[str(broker) for broker in brokers])


def started(partitions: Iterable[TopicPartition]) -> bytes:
    """Moves are about to start."""
    return _line("started", partitions=[list(each) for each in partitions])


def sent_back(partitions: Iterable[TopicPartition]) -> bytes:
    """Moves under way are about to be cancelled; their partitions come back to where they were."""
    return _line("sent_back", partitions=[list(each) for each in partitions])


def skipped(partitions: Iterable[TopicPartition]) -> bytes:
    """Partitions that the run leaves alone, since they were moved by others."""
    return _line("skipped", partitions=[list(each) for each in partitions])


def _line(event: str, **fields: Any) -> bytes:
    return orjson.dumps({"event": event, **fields}, option=orjson.OPT_APPEND_NEWLINE)


# ---- reading ------------------------------------------------------------------------------------


def read_journal(data: bytes) -> RunRecord:
    """The record that a journal's lines add up to."""
    reader = JournalReader()
    reader.feed(data)
    return reader.record()


class JournalReader:
    """Reads a journal piece by piece, as it grows; of no more use once a line could not be read."""

    def __init__(self) -> None:
        self._lines = 0
        self._cut_short = b""
        self._record: RunRecord | None = None
        # Sets that grow with the run, which are not copied for every line.
        self._named = {name: set[TopicPartition]() for name in ("started", "skipped", "sent_back")}

    def feed(self, data: bytes) -> None:
        """Read on; a line may be in several pieces.

        Raises:
            JournalDamaged: a line cannot be read.
        """
        *whole, self._cut_short = (self._cut_short + data).split(b"\n")
        for line in whole:
            self._lines += 1
            try:
                self._add(fields.object_of(line))
            except (ValueError, TypeError, KeyError, AttributeError, KedgeError) as fault:
                raise _damaged(self._lines) from fault

    def record(self) -> RunRecord:
        """The record that the lines so far add up to."""
        if self._record is None:
            raise JournalDamaged("The journal of this run is empty", hint="apply the plan again")
        return replace(self._record, **{n: frozenset(found) for n, found in self._named.items()})

    def _add(self, event: Mapping[str, Any]) -> None:
        name = event["event"]
        if self._record is None:
            self._record = _first(event)
        elif name in self._named:
            partitions = _partitions(event)
            self._named[name] |= partitions
            if name == "started":
                self._named["sent_back"] -= partitions
        else:
            self._record = _after(self._record, event)


def _damaged(line: int) -> JournalDamaged:
    return JournalDamaged(
        f"Line {line} of the journal of this run cannot be read",
        hint="restore it from a backup, or move the run's directory away and check with "
        "kedge reassign list and kedge configs describe what it left",
    )


def _first(event: Mapping[str, Any]) -> RunRecord:
    if event["event"] != "begun":
        raise ValueError("the first line does not begin a run")
    at = fields.seconds(event.get("at", 0.0))
    return RunRecord(
        cluster_id=fields.text(event["cluster_id"]),
        kind=RunKind(event.get("kind", RunKind.APPLY)),
        undoes=None if event.get("undoes") is None else fields.text(event["undoes"]),
        plan_file=fields.text(event.get("plan_file", "")),
        rate=fields.whole_or_none(event["rate"]),
        each_way=fields.whole(event["each_way"]),
        begun_at=at,
        changed_at=at,
        steering=steering_from(event.get("steering", {})),
        prediction=RunPrediction.made(at, fields.seconds_or_none(event.get("predicted_s"))),
    )


def _after(record: RunRecord, event: Mapping[str, Any]) -> RunRecord:
    match event["event"]:
        case "state":
            return replace(
                record,
                state=RunState(event["state"]),
                changed_at=fields.seconds(event["at"]),
                paused_s=record.paused_until(fields.seconds(event["at"])),
                moved=fields.whole_or_none(event.get("moved")),
                why=fields.text(event.get("why", "")),
            )
        case "settings":
            return replace(
                record,
                rate=fields.whole_or_none(event["rate"]),
                each_way=fields.whole(event["each_way"]),
                steering=steering_from(event.get("steering", {})),
            )
        case "leased":
            lease = _lease(event)
            return replace(record, lease=lease, own=record.own | set(lease.settings()))
        case "rates":
            rates = Lease(_settings(event["brokers"]))
            lease = record.lease.updated(rates)
            return replace(record, lease=lease, own=record.own | set(rates.settings()))
        case "released":
            left = _lease(event)
            return replace(record, lease=left, own=record.own if left else frozenset())
        case "cordoned" | "uncordoned":
            return replace(record, cordons=_cordons(record, event))
        case "directories":
            log_dirs = dict(map(_log_dir, fields.items(event["replicas"])))
            return replace(record, log_dirs=log_dirs)
        case _:
            return _steered(record, event)


def _steered(record: RunRecord, event: Mapping[str, Any]) -> RunRecord:
    """What has changed since the run began: requests, rates that adapt, moves set aside."""
    match event["event"]:
        case "request":
            return _requested(record, request_from(event["request"]), fields.seconds(event["at"]))
        case "answered":
            unconfirmed = tuple(map(fields.text, fields.items(event["unconfirmed"])))
            reply = Reply(unconfirmed, fields.text(event["refused"]))
            replies = {**record.replies, fields.text(event["id"]): reply}
            changes = _kept_changes(record, fields.text(event["id"]), reply)
            return replace(record, replies=replies, rate_changes=changes)
        case "rate":
            rate = fields.whole(event["rate"])
            change = RateChange(fields.seconds(event["at"]), rate, fields.text(event["why"]))
            return replace(record, rate=rate, rate_changes=(*record.rate_changes, change))
        case "predicted":
            at, seconds = fields.seconds(event["at"]), fields.seconds(event["seconds"])
            return replace(record, prediction=RunPrediction(at, seconds), paused_s=0.0)
        case "aside":
            aside = dict.fromkeys(_partitions(event), fields.text(event["why"]))
            return replace(record, set_aside={**record.set_aside, **aside})
        case _:
            return record  # written by a later version; nothing that this one must know


def _requested(record: RunRecord, request: Request, at: float) -> RunRecord:
    record = replace(record, replies={**record.replies, request.id: None})
    if request.kind is not RequestKind.RATE:
        return record
    steering = record.steering
    if request.log_dir_rate is not None:
        steering = replace(steering, log_dir_rate=request.log_dir_rate)
    if request.rate is None:
        return replace(record, steering=steering)
    change = RateChange(at, request.rate, REQUESTED, request.id)
    return replace(
        record,
        rate=request.rate,
        steering=replace(steering, adaptive=request.adaptive),
        rate_changes=(*record.rate_changes, change),
    )


def _kept_changes(record: RunRecord, request_id: str, reply: Reply) -> tuple[RateChange, ...]:
    """The changes of the rate without the one that a request has asked for, if it was refused."""
    changes = record.rate_changes
    if not reply.refused:
        return changes
    return tuple(change for change in changes if change.request != request_id)


def _cordons(record: RunRecord, event: Mapping[str, Any]) -> dict[BrokerId, str | None]:
    brokers = event["brokers"]
    if event["event"] == "uncordoned":
        gone = {int(fields.text(name)) for name in fields.items(brokers)}
        return {broker: value for broker, value in record.cordons.items() if broker not in gone}
    former = {
        BrokerId(int(fields.text(name))): None if value is None else fields.text(value)
        for name, value in brokers.items()
    }
    return {**former, **record.cordons}  # the first value is the one of before


def _lease(event: Mapping[str, Any]) -> Lease:
    return Lease(_settings(event["brokers"]), _settings(event["topics"]))


def _settings(value: Any) -> dict[str, dict[str, str]]:
    return {
        fields.text(name): {fields.text(c): fields.text(each) for c, each in configs.items()}
        for name, configs in value.items()
    }


def _partitions(event: Mapping[str, Any]) -> set[TopicPartition]:
    return {
        TopicPartition(fields.text(topic), fields.whole(partition))
        for topic, partition in fields.items(event["partitions"])
    }


def _log_dir(item: Any) -> tuple[PartitionReplica, str]:
    topic, partition, broker, path = fields.items(item)
    broker_id = BrokerId(fields.whole(broker))
    replica = PartitionReplica(fields.text(topic), fields.whole(partition), broker_id)
    return replica, fields.text(path)
