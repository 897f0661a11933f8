"""What a run writes down, so that another can end it well.

A journal is lines of JSON, each written and on disk before what it tells of is done. It holds what
the cluster cannot tell: who set which throttles, and how the run ended.

    {"event":"begun","cluster_id":"prod-eu","rate":50000000,"each_way":2}
    {"event":"leased","brokers":{"1":{"leader.replication.throttled.rate":"50000000"}},"topics":{…}}
    {"event":"started","partitions":[["orders",0]]}
    {"event":"released"}
    {"event":"ended","how":"finished"}

A last line that was cut short by a crash is left out: what it would have told was not done yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import orjson

from kedge.errors import JournalDamaged

Settings = Mapping[str, Mapping[str, str]]  # name of a broker or topic → config → value


class Ending(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    CANCELLED = "cancelled"
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True, slots=True)
class Lease:
    """Throttles that a run has set, to the letter: these values and no others are removed."""

    brokers: Settings = field(default_factory=dict[str, dict[str, str]])
    topics: Settings = field(default_factory=dict[str, dict[str, str]])

    def __bool__(self) -> bool:
        return bool(self.brokers or self.topics)

    def and_also(self, more: Lease) -> Lease:
        """Both; of two values for one config the later."""
        return Lease({**self.brokers, **more.brokers}, {**self.topics, **more.topics})


@dataclass(frozen=True, slots=True)
class RunState:
    """What a journal tells of its run."""

    cluster_id: str
    rate: int | None = None
    each_way: int = 2
    lease: Lease = field(default_factory=Lease)
    started: frozenset[tuple[str, int]] = frozenset()
    ending: Ending | None = None


def begun(cluster_id: str, rate: int | None, each_way: int) -> bytes:
    """The first line of a journal."""
    return _line("begun", cluster_id=cluster_id, rate=rate, each_way=each_way)


def leased(lease: Lease) -> bytes:
    """Throttles are about to be set."""
    return _line("leased", brokers=lease.brokers, topics=lease.topics)


def started(partitions: Iterable[tuple[str, int]]) -> bytes:
    """Moves are about to start."""
    return _line("started", partitions=[list(each) for each in partitions])


def released() -> bytes:
    """The throttles are gone."""
    return _line("released")


def ended(how: Ending) -> bytes:
    """The run is over."""
    return _line("ended", how=how.value)


def _line(event: str, **fields: Any) -> bytes:
    return orjson.dumps({"event": event, **fields}, option=orjson.OPT_APPEND_NEWLINE)


def read_journal(data: bytes) -> RunState:
    """The state that a journal's lines add up to."""
    *whole, _cut_short = data.split(b"\n")
    if not whole:
        raise JournalDamaged("the journal of this run is empty", hint="apply the plan anew")
    records = [_record(line, number) for number, line in enumerate(whole, start=1)]
    first = records[0]
    if first.get("event") != "begun":
        raise JournalDamaged("line 1 of the journal does not begin a run")
    state = RunState(str(first["cluster_id"]), first["rate"], int(first["each_way"]))
    for record in records[1:]:
        state = _after(state, record)
    return state


def _record(line: bytes, number: int) -> dict[str, Any]:
    try:
        return dict(orjson.loads(line))
    except (ValueError, TypeError) as fault:
        raise JournalDamaged(f"line {number} of the journal is not readable") from fault


def _after(state: RunState, record: Mapping[str, Any]) -> RunState:
    match record.get("event"):
        case "leased":
            return replace(state, lease=Lease(record["brokers"], record["topics"]), ending=None)
        case "started":
            more = {(str(topic), int(partition)) for topic, partition in record["partitions"]}
            return replace(state, started=state.started | more, ending=None)
        case "released":
            return replace(state, lease=Lease())
        case "ended":
            return replace(state, ending=Ending(record["how"]))
        case _:
            return state  # a later version's: nothing that this one must know
