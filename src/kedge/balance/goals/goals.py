"""The goals of a plan: what to reach, what to leave alone, and what it may cost.

Goals are plain numbers, names and patterns. They are written into the plan (`to_json`), so that a
later check has them, and they can be sent to other machines.

Hard goals are kept or the request is refused: racks, wanted replication factors, brokers to empty,
limits of capacity, exclusions. Soft goals have weights: 0 leaves one out.

    Goals(tolerance=0.05, remove_brokers={7}, exclude_topics="audit.*", weights={"cpu": 0})

A pattern is Kafka's way to name topics: an expression for the whole name, commas between
alternatives (`orders,logs-.*`). Its syntax is RE2's: no look-around, no backreferences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

from kedge.errors import InvalidRequest, MalformedInput
from kedge.model import TopicPartition
from kedge.model.topic_pattern import NamePattern, linear_topic_pattern

RESOURCES = ("disk", "in", "out", "cpu")
COUNTS = ("replicas", "leaders")
SOFT = (*RESOURCES, *COUNTS)

Pair = tuple[str, int]

TOLERANCE = 0.05
RATE_BYTES_PER_SECOND = 50e6
MOVES_EACH_WAY = 2


@dataclass(frozen=True, slots=True)
class NewBroker:
    """A broker to be added; its capacity is the median of the others."""

    id: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Goals:
    """What to reach, what to leave alone, and what it may cost.

    `tolerance` is the share by which a broker may pass the best possible maximum, `tolerances`
    the same for single resources. `above` limits the plan to bringing every broker under this
    share of its capacity. `limits` is the share of each capacity that may be filled (None:
    no limit). `rate_bytes_per_second` and `moves_each_way` are those of the plan's execution.
    """

    tolerance: float = TOLERANCE
    tolerances: Mapping[str, float] = field(default_factory=dict[str, float])
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    limits: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    max_bytes: int | None = None
    max_moves: int | None = None
    max_moves_per_broker: int | None = None
    max_replicas_per_broker: int | None = None
    remove_brokers: frozenset[int] = frozenset()
    add_brokers: tuple[NewBroker, ...] = ()
    exclude_brokers: frozenset[int] = frozenset()
    topics: str | None = None
    exclude_topics: str | None = None
    exclude_partitions: frozenset[tuple[str, int]] = frozenset()
    replication_factor: Mapping[str, int] = field(default_factory=dict[str, int])
    leaders_only: bool = False
    above: float | None = None
    strict_racks: bool = False
    even_log_dirs: bool = False
    rate_bytes_per_second: float = RATE_BYTES_PER_SECOND
    moves_each_way: int = MOVES_EACH_WAY

    def __post_init__(self) -> None:
        _check_names("weight", self.weights, SOFT)
        _check_names("limit", self.limits, RESOURCES)
        _check_names("tolerance", self.tolerances, SOFT)
        for pattern in (self.topics, self.exclude_topics, *self.replication_factor):
            if pattern is not None:
                expression(pattern)
        _check_numbers(self)
        _check_combinations(self)

    def weight_of(self, name: str) -> float:
        """The weight of a soft goal."""
        return float(self.weights.get(name, 1.0))

    def tolerance_of(self, name: str) -> float:
        """By how much a resource may miss the best possible maximum."""
        return float(self.tolerances.get(name, self.tolerance))

    def limit_of(self, name: str) -> float | None:
        """The share of its capacity that a broker may be filled to."""
        return self.limits.get(name, 1.0)

    def to_json(self) -> dict[str, object]:
        """What differs from the defaults, as JSON values."""
        values = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: _as_json(value) for name, value in values if value != getattr(PLAIN, name)}


def goals_from_json(document: Mapping[str, Any]) -> Goals:
    """The goals that `to_json` wrote; unknown names are refused, since they may be hard goals."""
    known = {each.name for each in fields(Goals)}
    if unknown := sorted(set(document) - known):
        raise MalformedInput(f"unknown goal {unknown[0]}", place="goals")
    values = dict(document)
    try:
        for name in ("remove_brokers", "exclude_brokers"):
            values[name] = frozenset(map(int, values.get(name, ())))
        values["add_brokers"] = tuple(NewBroker(**each) for each in values.get("add_brokers", ()))
        pairs = values.get("exclude_partitions", ())
        values["exclude_partitions"] = frozenset((str(topic), int(p)) for topic, p in pairs)
        return Goals(**values)
    except (TypeError, ValueError, AttributeError, OverflowError) as fault:
        raise MalformedInput(f"not the goals of a plan ({fault})", place="goals") from fault


def expression(pattern: str) -> NamePattern:
    """The regular expression of a pattern; blanks are ignored."""
    return linear_topic_pattern(pattern, place="topics")


def _as_json(value: Any) -> object:
    if isinstance(value, frozenset):
        every: list[Any] = sorted(cast("frozenset[Any]", value))
        return [list(cast("Pair", each)) if isinstance(each, tuple) else each for each in every]
    if isinstance(value, tuple):
        brokers = cast("tuple[NewBroker, ...]", value)
        return [{"id": each.id, "rack": each.rack} for each in brokers]
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value


def _check_names(what: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            raise InvalidRequest(f"Unknown {what} {name}", hint=f"use one of {', '.join(known)}")


def _check_numbers(goals: Goals) -> None:
    shares = [goals.tolerance, *goals.tolerances.values(), *goals.weights.values()]
    if any(not 0 <= share < float("inf") for share in shares):
        raise InvalidRequest("tolerances and weights are numbers from 0")
    if (widest := max([goals.tolerance, *goals.tolerances.values()])) > 1:
        raise InvalidRequest(f"tolerance {widest:g} is more than 1 (100 %)", hint="write 0.05")
    for name in ("max_bytes", "max_moves", "max_moves_per_broker"):
        if (number := getattr(goals, name)) is not None and number < 0:
            raise InvalidRequest(f"{name.replace('_', ' ')} is {number}, below 0")
    positive = (goals.rate_bytes_per_second, goals.moves_each_way, goals.above or 1)
    most = goals.max_replicas_per_broker
    if any(number <= 0 for number in positive) or (most is not None and most < 1):
        raise InvalidRequest(
            "rates, moves at once, thresholds and replicas per broker must be above 0"
        )
    if any(limit is not None and limit <= 0 for limit in goals.limits.values()):
        raise InvalidRequest("limits are shares of the capacity above 0", hint="write disk=0.9")
    if any(factor < 1 for factor in goals.replication_factor.values()):
        raise InvalidRequest("a replication factor is at least 1")


def _check_combinations(goals: Goals) -> None:
    both = goals.remove_brokers & goals.exclude_brokers
    if both:
        raise InvalidRequest(
            f"Broker {min(both)} is in both --remove-brokers and --exclude-brokers"
        )
    again = goals.remove_brokers & {broker.id for broker in goals.add_brokers}
    if again:
        raise InvalidRequest(f"Broker {min(again)} is in both --add-brokers and --remove-brokers")
    if goals.leaders_only and goals.remove_brokers:
        what = (
            f"--leaders-only moves no data, and broker {min(goals.remove_brokers)} is to be emptied"
        )
        raise InvalidRequest(what, hint="leave one of the two out")
    if goals.leaders_only and goals.replication_factor:
        what = "--leaders-only moves no data, and --replication-factor needs some"
        raise InvalidRequest(what, hint="leave one of the two out")


PLAIN = Goals()


def partition_names(names: Iterable[TopicPartition]) -> frozenset[tuple[str, int]]:
    """Partitions in the form that goals keep them in."""
    return frozenset((name.topic, name.partition) for name in names)
