"""Random plans for tests on four brokers, and whether a cluster shows what they say.

A plan moves replicas between brokers, between directories of a broker, or both, and leaves the
directory of some to the broker ("any"). Directories are judged only where the plan names them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from kedge.cluster.port import Replica
from kedge.model import BrokerId, TopicPartition
from tests.real.four_brokers import BROKER_IDS
from tests.real.operator import Entry, Replicas

ANY = "any"
CHANCE_OF_DIRECTORY_ONLY = 0.2
CHANCE_OF_DIRECTORIES = 0.5
CHANCE_OF_NAME = 0.6  # that a replica's directory is named where some are

Directories = Mapping[Replica, str]
LogDirs = Callable[[int], tuple[str, str]]


class Goal(Enum):
    """What a plan's partitions must show: all the target, all the origin, or one of them each."""

    AFTER = "after"
    BEFORE = "before"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a cluster shows: replicas in order, and the directory of each."""

    replicas: Mapping[TopicPartition, Replicas]
    directories: Directories


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """The target of each partition, and what was there before."""

    entries: Mapping[TopicPartition, Entry]
    before: Shown

    def differences(self, now: Shown, goal: Goal) -> list[str]:
        """Where the cluster shows something else than the goal, one sentence each."""
        found: list[str] = []
        for tp, entry in self.entries.items():
            allowed = {Goal.AFTER: entry.replicas, Goal.BEFORE: self.before.replicas[tp]}
            wanted = [each for at, each in allowed.items() if goal in (at, Goal.EITHER)]
            if now.replicas[tp] not in wanted:
                found.append(f"{tp} is on {now.replicas[tp]}, not on {_or(wanted)}")
                continue
            for replica, target in _named(tp, entry):
                if replica.broker not in now.replicas[tp]:
                    continue
                places = self._directories(replica, target, goal)
                if places and now.directories.get(replica) not in places:
                    found.append(f"{replica} is in {now.directories.get(replica)}, not in {places}")
        return found

    def _directories(self, replica: Replica, target: str, goal: Goal) -> list[str]:
        """Where a replica may be whose directory the plan names; empty if that does not matter."""
        origin = self.before.directories.get(replica)
        allowed = {Goal.AFTER: target, Goal.BEFORE: origin}
        return [
            each for at, each in allowed.items() if each is not None and goal in (at, Goal.EITHER)
        ]


def _or(replicas: list[Replicas]) -> str:
    return " or ".join(map(str, replicas))


def draw_plan(
    before: Shown, log_dirs: LogDirs, draw: random.Random, *, directories: bool
) -> TrialPlan:
    """A plan that changes every partition; with `directories` it names some."""
    entries: dict[TopicPartition, Entry] = {}
    for tp, replicas in sorted(before.replicas.items()):
        if directories and draw.random() < CHANCE_OF_DIRECTORY_ONLY:
            moved = draw.choice(replicas)
            names = [_other(before, log_dirs, tp, b) if b == moved else ANY for b in replicas]
            entries[tp] = Entry(replicas, tuple(names))
            continue
        target = _other_replicas(replicas, draw)
        names = None
        if directories and draw.random() < CHANCE_OF_DIRECTORIES:
            names = tuple(_name(before, log_dirs, tp, broker, draw) for broker in target)
        entries[tp] = Entry(target, names)
    return TrialPlan(entries, before)


def _other_replicas(replicas: Replicas, draw: random.Random) -> Replicas:
    while True:
        target = tuple(draw.sample(BROKER_IDS, draw.choice((2, 2, 3))))
        if target != replicas:
            return target


def _name(
    before: Shown, log_dirs: LogDirs, tp: TopicPartition, broker: int, draw: random.Random
) -> str:
    return _other(before, log_dirs, tp, broker) if draw.random() < CHANCE_OF_NAME else ANY


def _other(before: Shown, log_dirs: LogDirs, tp: TopicPartition, broker: int) -> str:
    """The directory of a broker that the replica is not in; the second for a new replica."""
    first, second = log_dirs(broker)
    return first if before.directories.get(_replica(tp, broker)) == second else second


def _named(tp: TopicPartition, entry: Entry) -> list[tuple[Replica, str]]:
    names = entry.log_dirs or (ANY,) * len(entry.replicas)
    pairs = zip(entry.replicas, names, strict=True)
    return [(_replica(tp, broker), name) for broker, name in pairs if name != ANY]


def _replica(tp: TopicPartition, broker: int) -> Replica:
    return Replica(tp.topic, tp.partition, BrokerId(broker))
