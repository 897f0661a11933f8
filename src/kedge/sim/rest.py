"""What a cluster at rest looks like, and what is wrong with one that is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kedge.model import TopicPartition
from kedge.plan.throttles import BROKER_THROTTLES, TOPIC_THROTTLES
from kedge.store.znodes import (
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_ELECTION,
    REASSIGN_PARTITIONS,
    topic_config_path,
    topic_path,
)

if TYPE_CHECKING:
    from kedge.sim.world import World


def complaints(world: World) -> list[str]:
    """Everything that is not as it should be once nothing goes wrong any more."""
    return [
        *_of_the_role(world),
        *_of_leftovers(world),
        *_of_deletions(world),
        *(words for tp in world.truth.partitions() for words in _of_partition(world, tp)),
        *_of_missing_partitions(world),
        *_of_throttles(world),
    ]


def _of_the_role(world: World) -> Iterator[str]:
    if world.active() is None:
        yield f"no controller runs (the claim names {world.truth.controller})"
    missing = sorted(world.machines.keys() - set(world.registered()))
    if missing:
        yield f"brokers {missing} are not registered"


def _of_leftovers(world: World) -> Iterator[str]:
    for path in (REASSIGN_PARTITIONS, PREFERRED_ELECTION):
        if world.exists(path):
            yield f"{path} is still there"
    for path in (ISR_CHANGES, LOG_DIR_EVENTS):
        if world.ensemble.tree.nodes[path].children:
            yield f"{path} still has notes"


def _of_deletions(world: World) -> Iterator[str]:
    for topic in sorted(world.truth.deletions):
        yield f"topic {topic} is still to be deleted"
    for topic in sorted(world.checkers.expectations.deleted):
        for path in (topic_path(topic), topic_config_path(topic)):
            if world.exists(path):
                yield f"{path} is left of a deleted topic"


def _of_partition(world: World, tp: TopicPartition) -> Iterator[str]:
    now, state = world.truth.assignment(tp), world.truth.states.get(tp)
    assert now is not None
    if now.in_progress:
        yield f"{tp} is still adding {list(now.adding)} and removing {list(now.removing)}"
        return
    if state is None:
        yield f"{tp} has never had a leader"
        return
    complaint = world.checkers.expectations.complaint(tp, now.replicas)
    if complaint is not None:
        yield complaint
    if sorted(state.isr) != sorted(now.replicas):
        yield f"{tp} on {list(now.replicas)} has the ISR {list(state.isr)}"
    machine = world.machines.get(state.leader)
    process = None if machine is None else machine.process
    hosted = None if process is None else process.hosted.get(tp)
    if hosted is None or hosted.leading is None or hosted.leader_epoch != state.leader_epoch:
        yield f"{tp}: broker {state.leader} does not lead it in epoch {state.leader_epoch}"
        return
    for broker in now.replicas:
        log = world.machines[broker].disks.find(tp)
        if log is None or log.records != hosted.log.records:
            yield f"{tp}: broker {broker} has not all records of leader {state.leader}"


def _of_missing_partitions(world: World) -> Iterator[str]:
    for tp in sorted(world.checkers.expectations.ends):
        if world.truth.assignment(tp) is None:
            yield f"{tp} was asked for and is not there"


def _of_throttles(world: World) -> Iterator[str]:
    for path, settings in sorted(world.truth.configs.items()):
        left = [name for name in (*BROKER_THROTTLES, *TOPIC_THROTTLES) if name in settings]
        if left:
            yield f"{path} still has {', '.join(left)}"


def damaged_logs(world: World) -> list[str]:
    """Records that are not where they were appended."""
    return [
        f"{tp} on broker {broker} at {log.damaged_offsets()[:3]}"
        for broker, machine in sorted(world.machines.items())
        for tp, log in sorted(machine.disks.held().items())
        if log.damaged_offsets()
    ]
