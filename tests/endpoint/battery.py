"""Requests whose answers are compared with those of real brokers, in an order that tells a story.

Every step is a function of two connections: to the controller, and to a node that is not. What it
returns is compared as it is, so it holds only what must be the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import CreateTopicsResponse
from kedge.topics import Op
from tests.endpoint.client import Client
from tests.endpoint.requests import (
    BROKER,
    TOPIC,
    Codes,
    Entry,
    Step,
    Topic,
    alter,
    counted,
    create_all,
    delete,
    describe,
    elect,
    expand,
    listed,
    metadata_of,
    placed,
    reassign,
    replace,
)

RATE = "leader.replication.throttled.rate"
SHOWN = (
    "auto.create.topics.enable",
    "broker.id",
    "follower.replication.throttled.rate",
    "log.cleaner.threads",
    "log.cleanup.policy",
    "log.retention.hours",
    "log.retention.ms",
    "num.partitions",
    "plugin.x",
    RATE,
)


@dataclass(frozen=True)
class Talk:
    """Two connections into one cluster."""

    controller: Client
    other: Client
    controller_id: int
    other_id: int


Act = Callable[[Talk], Any]
Named = tuple[str, Act]


def battery() -> Iterator[Named]:
    """All steps, in order. Those named `settle` look at what takes its time to arrive."""
    yield "three topics", lambda t: made(create_all(t.controller, *THREE))
    yield from creations()
    yield from expansions()
    yield from topic_configs()
    yield from broker_configs()
    yield from moves_and_elections()
    yield from deletions()


# ---- topics --------------------------------------------------------------------------------------

THREE = placed("t", [[1, 2], [2, 3]]), placed("u", [[3, 1]]), placed("with_dot", [[1]])


def made(answer: CreateTopicsResponse) -> list[tuple[str, int, int, int]]:
    topics = sorted(answer.topics, key=lambda topic: topic.name)
    return [(t.name, t.error_code, t.num_partitions, t.replication_factor) for t in topics]


def both_counts_and_lists() -> Topic:
    topic = placed("a", [[1]])
    topic.num_partitions = 1
    return topic


def with_a_gap() -> Topic:
    topic = placed("a", [[1], [2]])
    topic.assignments[1].partition_index = 2
    return topic


REFUSED: dict[str, Topic] = {
    "that exists": counted("t", 1, 1),
    "with a blank": counted("n o", 1, 1),
    "without a name": counted("", 1, 1),
    "named .": counted(".", 1, 1),
    "with a long name": counted("x" * 250, 1, 1),
    "that collides": counted("with.dot", 1, 1),
    "of the cluster": counted("__cluster_metadata", 1, 1),
    "of no partitions": counted("a", 0, 1),
    "of minus two partitions": counted("a", -2, 1),
    "of too many replicas": counted("a", 1, 4),
    "of no replicas": counted("a", 1, 0),
    "wrong in two ways": counted("n o", 1, 4),
    "with an unknown config": counted("a", 1, 1, no__such="1"),
    "with a wrong value": counted("a", 1, 1, retention__ms="x"),
    "with no value": counted("a", 1, 1, retention__ms=None),
    "with lags that cross": counted(
        "a", 1, 1, min__compaction__lag__ms="10", max__compaction__lag__ms="5"
    ),
    "twice on a broker": placed("a", [[1, 1]]),
    "of unequal lists": placed("a", [[1], [1, 2]]),
    "on no broker": placed("a", [[]]),
    "with counts and lists": both_counts_and_lists(),
    "with a gap": with_a_gap(),
}


def creations() -> Iterator[Named]:
    for name, topic in REFUSED.items():
        yield f"create one {name}", lambda t, topic=topic: made(create_all(t.controller, topic))
        yield (
            f"validate one {name}",
            lambda t, topic=topic: made(create_all(t.controller, topic, validate_only=True)),
        )
    twice = counted("a", 1, 1), counted("b", 1, 1), counted("a", 2, 1)
    yield "create one twice", lambda t: made(create_all(t.controller, *twice))
    yield "create by default", lambda t: made(create_all(t.controller, counted("default", -1, -1)))
    late = counted("late", 1, 1)
    yield "create without time", lambda t: made(create_all(t.controller, late, timeout_ms=0))
    for broker in (9, -1):
        dead = placed(f"dead{broker}", [[broker]])
        yield (
            f"create on broker {broker}",
            lambda t, dead=dead: made(create_all(t.controller, dead, timeout_ms=200)),
        )
    yield "create elsewhere", lambda t: made(create_all(t.other, counted("z", 1, 1)))


def expansions() -> Iterator[Named]:
    refused: dict[str, tuple[str, int, list[list[int]] | None]] = {
        "to as many": ("t", 2, None),
        "to fewer": ("t", 1, None),
        "to minus one": ("t", -1, None),
        "of nothing": ("x", 3, None),
        "of a path": ("a/b", 2, None),
        "to an unknown broker": ("t", 3, [[9, 1]]),
        "by too few lists": ("t", 4, [[1, 2]]),
        "by an unequal list": ("t", 3, [[1]]),
        "twice to a broker": ("t", 3, [[1, 1]]),
    }
    for name, wish in refused.items():
        yield f"expand {name}", lambda t, wish=wish: expand(t.controller, wish)
    four = ("t", 4, None)
    yield "validate an expansion", lambda t: expand(t.controller, four, validate_only=True)
    yield "expand twice", lambda t: expand(t.controller, ("t", 3, None), four)
    yield "expand", lambda t: expand(t.controller, ("t", 3, [[3, 1]]))
    yield "expand without time", lambda t: expand(t.controller, ("u", 2, [[1, 2]]), timeout_ms=0)
    yield "expand elsewhere", lambda t: expand(t.other, four)
    yield "settle", lambda t: leaders(t.other)
    yield "metadata", lambda t: leaders(t.controller)


def leaders(client: Client) -> list[Any]:
    answer = metadata_of(client, "t", "u", "nope", "n o", version=12)
    return [
        (topic.name, topic.error_code, sorted(
            (p.partition_index, p.leader_id, p.leader_epoch, p.replica_nodes, p.isr_nodes)
            for p in topic.partitions
        ))
        for topic in answer.topics
    ]  # fmt: skip


def deletions() -> Iterator[Named]:
    yield "delete", lambda t: delete(t.controller, "u", "x", "n o")
    yield "delete as of old", lambda t: delete(t.controller, "default", version=1)
    yield "delete twice", lambda t: delete(t.controller, "with_dot", "with_dot")
    yield "delete elsewhere", lambda t: delete(t.other, "t")
    yield "delete without time", lambda t: delete(t.controller, "t", timeout_ms=0)


# ---- configs -------------------------------------------------------------------------------------


def shown(found: tuple[int, dict[str, Entry]], names: Sequence[str] | None = None) -> Any:
    code, entries = found
    return code, {
        name: (
            e.value, e.config_source, e.read_only, e.is_sensitive, e.config_type,
            [(s.source, s.name, s.value) for s in e.synonyms],
        )
        for name, e in sorted(entries.items())
        if names is None or name in names
    }  # fmt: skip


STEPS: dict[str, list[Step]] = {
    "to a wrong value": [("retention.ms", Op.SET, "x")],
    "out of range": [("retention.ms", Op.SET, "-5")],
    "of no name": [("no.such", Op.SET, "1")],
    "by appending to a number": [("retention.ms", Op.APPEND, "1")],
    "by appending nothing": [("cleanup.policy", Op.APPEND, None)],
    "to null": [("retention.ms", Op.SET, None)],
    "twice": [("a", Op.SET, "1"), ("a", Op.DELETE, None)],
    "by deleting what is not": [("no.such", Op.DELETE, None)],
    "well": [("retention.ms", Op.SET, "5"), ("cleanup.policy", Op.APPEND, "compact")],
    "by subtracting": [("cleanup.policy", Op.SUBTRACT, "delete")],
    "not at all": [],
}


def topic_configs() -> Iterator[Named]:
    yield "describe", lambda t: shown(describe(t.controller, TOPIC, "t"))
    for name in ("x", "n o", ""):
        yield f"describe {name!r}", lambda t, name=name: shown(describe(t.controller, TOPIC, name))
    yield "describe a stranger", lambda t: shown(describe(t.controller, 77, "x"))
    for name, steps in STEPS.items():
        yield f"alter {name}", lambda t, s=steps: alter(t.controller, TOPIC, "t", *s)[0]
        yield f"alter nothing {name}", lambda t, s=steps: alter(t.controller, TOPIC, "xx", *s)[0]
    step = ("retention.ms", Op.SET, "5")
    for name in ("", "n o"):
        yield f"alter {name!r}", lambda t, name=name: alter(t.controller, TOPIC, name, step)[0]
    few = ["retention.ms", "cleanup.policy"]
    yield "settle", lambda t: shown(describe(t.controller, TOPIC, "t"), few)
    yield "replace", lambda t: replace(t.controller, TOPIC, "t", retention__ms="6")
    yield "replace by null", lambda t: replace(t.controller, TOPIC, "t", retention__ms=None)
    yield "replace by a wrong value", lambda t: replace(t.controller, TOPIC, "t", retention__ms="x")
    yield "replace by no name", lambda t: replace(t.controller, TOPIC, "t", no__such="x")
    yield "replace nothing", lambda t: replace(t.controller, TOPIC, "xx", retention__ms="6")


ON_A_BROKER: dict[str, Step] = {
    "a rate": (RATE, Op.SET, "100"),
    "a rate below zero": (RATE, Op.SET, "-1"),
    "a rate in words": (RATE, Op.SET, "fast"),
    "a rate to null": (RATE, Op.SET, None),
    "what is fixed": ("num.partitions", Op.SET, "3"),
    "what is fixed by deleting": ("num.partitions", Op.DELETE, None),
    "a plug-in": ("plugin.x", Op.SET, "3"),
    "a policy wrongly": ("log.cleanup.policy", Op.SET, "burn"),
    "too few threads": ("num.io.threads", Op.SET, "0"),
    "a time": ("log.retention.ms", Op.SET, "1000"),
    "a time in hours": ("log.retention.hours", Op.SET, "10"),
}


def broker_configs() -> Iterator[Named]:
    for name, step in ON_A_BROKER.items():
        yield (
            f"set {name}",
            lambda t, step=step: alter(t.other, BROKER, str(t.other_id), step)[0],
        )
    rate = (RATE, Op.SET, "100")
    yield "set another's", lambda t: alter(t.other, BROKER, str(t.controller_id), rate)[0]
    yield "set no broker's", lambda t: alter(t.other, BROKER, "x", rate)[0]
    everywhere: dict[str, Step] = {
        "threads": ("log.cleaner.threads", Op.SET, "2"),
        "listeners": ("listeners", Op.SET, "PLAINTEXT://:1"),
        "a rate": ("follower.replication.throttled.rate", Op.SET, "7"),
    }
    for name, step in everywhere.items():
        yield f"set {name} everywhere", lambda t, s=step: alter(t.other, BROKER, "", s)[0]
    yield "settle", lambda t: shown(describe(t.other, BROKER, ""))
    yield "settle", lambda t: shown(describe(t.other, BROKER, str(t.other_id)), SHOWN)
    yield "describe another", lambda t: shown(describe(t.other, BROKER, str(t.controller_id)))
    yield "settle", lambda t: shown(describe(t.other, TOPIC, "u"), ["retention.ms", "segment.ms"])


# ---- moves ---------------------------------------------------------------------------------------


def moves_and_elections() -> Iterator[Named]:
    wrong = {("t", 0): [], ("t", 1): [1, 1], ("u", 0): [-1], ("x", 0): [1], ("x", 1): [9]}
    cancel = {("t", 2): None}
    yield "reassign wrongly", lambda t: reassign(t.controller, wrong | cancel, version=0)
    yield "reassign elsewhere", lambda t: reassign(t.other, {("t", 0): [1]}, version=0)
    both = ("t", 0), ("x", 0)
    yield "elect", lambda t: elect(t.controller, *both)
    yield "elect uncleanly", lambda t: elect(t.controller, *both, kind=1)
    yield "elect elsewhere", lambda t: elect(t.other, ("t", 0))
    yield "elect elsewhere as of old", lambda t: elect(t.other, ("t", 0), version=0)
    yield "elect everywhere", lambda t: elect(t.controller)


# ---- no time to wait -----------------------------------------------------------------------------


def without_time() -> Iterator[Named]:
    """Every request that has a timeout, with a timeout of 0 ms."""
    yield "three topics", lambda t: made(create_all(t.controller, *THREE))
    yield "settle", lambda t: leaders(t.controller)
    late = counted("late", 1, 1)
    yield "create", lambda t: made(create_all(t.controller, late, timeout_ms=0))
    yield "settle", lambda t: known_errors(t.controller, "late")
    yield "create again", lambda t: made(create_all(t.controller, late, timeout_ms=0))
    other = counted("other", 1, 1)
    yield (
        "validate",
        lambda t: made(create_all(t.controller, other, timeout_ms=0, validate_only=True)),
    )
    yield "create elsewhere", lambda t: made(create_all(t.other, other, timeout_ms=0))
    grown = ("t", 3, [[3, 1]])
    yield (
        "validate an expansion",
        lambda t: expand(t.controller, grown, timeout_ms=0, validate_only=True),
    )
    yield "expand", lambda t: expand(t.controller, grown, ("x", 2, None), timeout_ms=0)
    yield "settle", lambda t: leaders(t.controller)
    yield "expand elsewhere", lambda t: expand(t.other, grown, timeout_ms=0)
    yield "list all moves", lambda t: listed(t.controller, timeout_ms=0)
    yield "list some moves", lambda t: listed(t.controller, ("t", 0), ("x", 0), timeout_ms=0)
    moves = {("t", 0): [2, 1], ("t", 1): None, ("x", 0): [1], ("u", 0): [9]}
    yield "reassign", lambda t: reassign(t.controller, moves, version=0, timeout_ms=0)
    yield "reassign elsewhere", lambda t: reassign(t.other, moves, version=0, timeout_ms=0)
    yield "settle", lambda t: leaders(t.controller)
    yield "elect uncleanly", lambda t: elect(t.controller, ("t", 0), kind=1, timeout_ms=0)
    yield "elect", lambda t: elected(t.controller, ("t", 0), ("u", 0), ("x", 0))
    yield "settle", lambda t: leaders(t.controller)
    yield "elect again", lambda t: elect(t.controller, ("t", 0), ("u", 0), timeout_ms=0)
    yield "elect elsewhere", lambda t: elect(t.other, ("t", 0), timeout_ms=0)
    yield "elect everywhere", lambda t: elect(t.controller, timeout_ms=0)
    yield "delete", lambda t: delete(t.controller, "t", "x", "n o", timeout_ms=0)
    yield "delete elsewhere", lambda t: delete(t.other, "u", timeout_ms=0)


def elected(client: Client, *partitions: tuple[str, int]) -> tuple[int, Codes]:
    """Elect without time to wait. A new leader that the broker knows by the time it looks is
    answered with 0, one that it learns a moment later with 7: both are an election."""
    error, codes = elect(client, *partitions, timeout_ms=0)
    return error, {
        where: 0 if code == ErrorCode.REQUEST_TIMED_OUT else code for where, code in codes.items()
    }


def known_errors(client: Client, *names: str) -> list[tuple[str | None, int]]:
    return [
        (topic.name, topic.error_code) for topic in metadata_of(client, *names, version=12).topics
    ]
