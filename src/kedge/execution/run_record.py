"""The values of a run: the throttles that it has set, and the record that its journal gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kedge.execution.requests import Reply
from kedge.execution.run_states import RunState
from kedge.execution.steering import Steering
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


class RateChange(NamedTuple):
    """A change of the throttle while a run was at work; `request` is the id of the one for it."""

    at: float
    rate: int
    why: str
    request: str = ""


class RunPrediction(NamedTuple):
    """When a run, or what was left of it, was predicted to take so many seconds of its cluster."""

    at: float
    seconds: float

    @classmethod
    def made(cls, at: float, seconds: float | None) -> RunPrediction | None:
        """The prediction, where there is one."""
        return None if seconds is None else cls(at, seconds)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The run that a journal describes.

    `lease` are the throttles that are set, or about to be; `own` is every value that the run may
    have set since it last had none, so that a crash between journal and broker leaves no value that
    looks like a foreign one. `replies` has the requests that were carried out, by id; None while
    one is being carried out. `why` is the reason of the state, where it has one. `cordons` are the
    brokers that the run has cordoned, each with its own value of before; `sent_back` the moves that
    it has cancelled and not started again. `paused_s` is how long it has been paused since the
    prediction, up to its last change of state.
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
    sent_back: frozenset[TopicPartition] = frozenset()
    log_dirs: Mapping[PartitionReplica, str] = field(default_factory=dict[PartitionReplica, str])
    steering: Steering = field(default_factory=Steering)
    rate_changes: tuple[RateChange, ...] = ()
    replies: Mapping[str, Reply | None] = field(default_factory=dict[str, Reply | None])
    set_aside: Mapping[TopicPartition, str] = field(default_factory=dict[TopicPartition, str])
    why: str = ""
    cordons: Mapping[BrokerId, str | None] = field(default_factory=dict[BrokerId, str | None])
    prediction: RunPrediction | None = None
    paused_s: float = 0.0

    def paused_until(self, now: float) -> float:
        """The seconds since the prediction in which the run was paused."""
        if self.state is not RunState.PAUSED:
            return self.paused_s
        since = self.changed_at
        if self.prediction is not None:  # a paused run that continues is predicted anew
            since = max(since, self.prediction.at)
        return self.paused_s + max(0.0, now - since)
