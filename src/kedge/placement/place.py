"""The entry to the ring algorithms: check the request, then choose one by racks."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.errors import InvalidPartitions, InvalidReplicationFactor
from kedge.model import Broker
from kedge.placement.brokers import id_column, refuse_mixed_racks, refuse_twins
from kedge.placement.rack_aware import rack_aware
from kedge.placement.rack_unaware import rack_unaware
from kedge.placement.result import Placement
from kedge.placement.rounds import rounds_for
from kedge.placement.start import Start

PARTITIONS_MAX = 2**31 - 1  # partition ids are signed 32-bit numbers
_REPLICAS_MAX = 2**29  # two gigabytes of broker ids: no cluster comes near, a typing error does


def place(
    brokers: Sequence[Broker],
    *,
    partitions: int,
    replication_factor: int,
    start: Start,
    first_partition: int = 0,
) -> Placement:
    """Place new partitions, ids from `first_partition` on, as Kafka does.

    Judged in Kafka's order: partitions, replication factor, then racks. Without racks the ring
    has the order of `brokers`. A negative `first_partition` counts as 0.
    """
    first_partition = max(0, first_partition)
    _judge_partitions(partitions, first_partition)
    judge_replication_factor(replication_factor, len(brokers))
    refuse_mixed_racks(brokers)
    refuse_twins(brokers)
    refuse_absurd_size(partitions, replication_factor)
    rounds = rounds_for(
        len(brokers), partitions=partitions, start=start, first_partition=first_partition
    )
    if brokers[0].rack is None:
        table = rack_unaware(id_column([b.id for b in brokers]), rounds, replication_factor)
    else:
        table = rack_aware(brokers, rounds, replication_factor)
    ids = range(first_partition, first_partition + partitions)
    return Placement(ids, rounds.finish(table, partitions))


def _judge_partitions(partitions: int, first_partition: int) -> None:
    if partitions <= 0:
        raise InvalidPartitions(f"{partitions} partitions", hint="ask for 1 or more")
    if first_partition + partitions > PARTITIONS_MAX:
        raise InvalidPartitions(
            f"{partitions} partitions from id {first_partition}",
            hint=f"a topic has at most {PARTITIONS_MAX}",
        )


def judge_replication_factor(replication_factor: int, brokers: int) -> None:
    """Raise InvalidReplicationFactor unless so many brokers can hold so many replicas."""
    if replication_factor <= 0:
        raise InvalidReplicationFactor(
            f"replication factor {replication_factor}", hint="ask for 1 or more"
        )
    if replication_factor > brokers:
        raise InvalidReplicationFactor(
            f"replication factor {replication_factor}, {brokers} "
            + ("broker" if brokers == 1 else "brokers"),
            hint=f"ask for {brokers} or fewer" if brokers > 1 else _few_brokers_hint(brokers),
        )


def _few_brokers_hint(brokers: int) -> str:
    return "ask for 1" if brokers else "start a broker first"


def refuse_absurd_size(partitions: int, replication_factor: int) -> None:
    """Raise InvalidPartitions where the answer alone would take gigabytes."""
    if partitions * replication_factor > _REPLICAS_MAX:
        raise InvalidPartitions(
            f"{partitions} partitions × replication factor {replication_factor} "
            "are more replicas than can be placed at once",
            hint=f"ask for {_REPLICAS_MAX // replication_factor} partitions or fewer",
        )
