"""`--execute` up to the request to the cluster: checks, and the lines that Kafka prints.

Judged in this order, and nothing is changed when one fails: no other move may be active unless
the order is meant to join it (`additional`); every broker named must be alive; every partition must
exist. The file itself was checked when it was read (`parse_execute`).

The caller then prints `rollback_lines`, sets throttles, and starts the moves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kedge.errors import ReassignmentInProgress, RefusedCommand, UnknownTopicOrPartition
from kedge.model import BrokerId, TopicPartition
from kedge.plan.kafka_json import ReassignmentFile, joined
from kedge.plan.kafka_text import reassignment_text
from kedge.plan.log_dirs import PartitionReplica
from kedge.plan.status import Active, moving_now

Present = Mapping[TopicPartition, Sequence[BrokerId]]


def judge_execute(
    file: ReassignmentFile,
    *,
    active: Active,
    alive: Collection[BrokerId],
    current: Present,
    additional: bool,
) -> None:
    """Refuse an order that the cluster cannot take; `active` is cluster-wide."""
    if moving_now(active) and not additional:
        raise ReassignmentInProgress(
            "Partitions are already moving",
            hint="add --additional to start these moves beside them, or to change their targets",
        )
    named = (broker for entry in file.entries for broker in entry.replicas)
    if unknown := sorted(set(named) - set(alive)):
        raise RefusedCommand(f"Unknown broker id {unknown[0]}", hint="name brokers that are alive")
    if missing := sorted(tp for tp in file.targets if tp not in current):
        raise UnknownTopicOrPartition(f"Partition not found: {joined(missing)}")


def rollback_lines(file: ReassignmentFile, current: Present) -> list[str]:
    """What was there before, as a file to go back with; of a moving partition the full set."""
    return [
        "Current partition replica assignment",
        "",
        reassignment_text({tp: current[tp] for tp in file.targets}),
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
    ]


def failed_lines(errors: Mapping[TopicPartition, str]) -> list[str]:
    """The partitions that the controller refused; the others have started."""
    return ["Error reassigning partition(s):", *(f"{tp}: {errors[tp]}" for tp in sorted(errors))]


def throttle_lines(*, inter_broker: int | None, log_dirs: int | None) -> list[str]:
    """What is said when rates have been set, in bytes per second; None where they were not."""
    named = {"inter-broker": inter_broker, "replica-alter-dir": log_dirs}
    return [
        f"The {name} throttle limit was set to {rate} B/s"
        for name, rate in named.items()
        if rate is not None
    ]


def log_dir_lines(moves: Mapping[PartitionReplica, str]) -> list[str]:
    """What is said when moves between directories have started; each line ends with a blank."""
    return [
        f"Successfully started moving log directory to {moves[each]} for replica {each.tp} "
        f"with broker {each.broker} "
        for each in by_name(moves)
    ]


def by_name(replicas: Iterable[PartitionReplica]) -> list[PartitionReplica]:
    """Replicas in the order that all lines about them have."""
    return sorted(replicas, key=lambda each: (each.broker, each.topic, each.partition))
