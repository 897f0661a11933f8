"""Add partitions to a topic that has some already.

Partition 0 is the model: its length is the replication factor of the new partitions, and its
leader says where the ring is entered. Existing partitions are not looked at otherwise and never
change. The growth of shift that they caused is not replayed, so expansion does not continue
creation: five brokers, three replicas, ten partitions from start 0, then

    expanded to 13       partition 10: 0,2,3
    created with 13      partition 10: 0,3,4

New ids count from the number of existing partitions. That is what Kafka does, and where the ids
have gaps ({0, 5} to a total of 6 gives 2,3,4,5) a new list can fall on an existing id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.errors import (
    InvalidPartitions,
    InvalidReplicaAssignment,
    MissingPartitionZero,
    UnknownBroker,
)
from kedge.model import Broker, BrokerId
from kedge.placement.place import place
from kedge.placement.result import Placement
from kedge.placement.start import fixed

Lists = Mapping[int, Sequence[BrokerId]]


def expand(
    brokers: Sequence[Broker],
    *,
    existing: Lists,
    total: int,
    manual: Lists | None = None,
) -> Placement:
    """The new partitions alone, of a topic that is to have `total` partitions.

    With `manual` lists (by partition id) those are judged and taken as they are.
    """
    if 0 not in existing:
        raise MissingPartitionZero(
            f"a topic of {len(existing)} partitions without partition 0 cannot be expanded",
            hint="create a new topic",
        )
    model = existing[0]
    if total <= len(existing):
        raise InvalidPartitions(
            f"{total} partitions asked for, {len(existing)} are there",
            hint=f"ask for {len(existing) + 1} or more",
        )
    if manual is not None:
        _judge_manual(manual, brokers, len(model))
        return Placement.from_lists(manual)
    return _placed(brokers, model, len(existing), total)


def _placed(
    brokers: Sequence[Broker], model: Sequence[BrokerId], existing: int, total: int
) -> Placement:
    in_order = sorted(brokers, key=lambda broker: broker.id)
    return place(
        in_order,
        partitions=total - existing,
        replication_factor=len(model),
        start=fixed(_entry(in_order, model)),
        first_partition=existing,
    )


def _entry(in_order: Sequence[Broker], model: Sequence[BrokerId]) -> int:
    """The index of the model's leader, or of the next larger id, or 0.

    An index by id, even where the ring then alternates racks and another broker stands there.
    """
    if not model:
        return 0
    return next((at for at, broker in enumerate(in_order) if broker.id >= model[0]), 0)


def _judge_manual(manual: Lists, brokers: Sequence[Broker], wanted: int) -> None:
    known = {broker.id for broker in brokers}
    for partition, replicas in sorted(manual.items()):
        _judge_list(partition, replicas, known)
    for partition, replicas in sorted(manual.items()):
        if len(replicas) != wanted:
            raise InvalidReplicaAssignment(
                f"partition {partition}: {len(replicas)} replicas, partition 0 has {wanted}",
                hint=f"name {wanted} brokers for every partition",
            )


def _judge_list(partition: int, replicas: Sequence[BrokerId], known: set[BrokerId]) -> None:
    if not replicas:
        raise InvalidReplicaAssignment(f"partition {partition}: no replica", hint="name a broker")
    if len(set(replicas)) < len(replicas):
        raise InvalidReplicaAssignment(
            f"partition {partition}: a broker twice in {list(replicas)}", hint="name each once"
        )
    unknown = sorted(set(replicas) - known)
    if unknown:
        raise UnknownBroker(
            f"partition {partition}: no broker {unknown[0]} alive",
            hint=f"alive are {sorted(known)}" if len(known) <= 20 else f"{len(known)} are alive",
        )
