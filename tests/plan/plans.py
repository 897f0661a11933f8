"""A small plan and the snapshot that it was made from, for the tests of plans."""

from __future__ import annotations

import numpy as np

from kedge.model import Broker, BrokerId, BrokerState, TopicPartition
from kedge.model.assignment import Assignment
from kedge.model.snapshot import Snapshot
from kedge.plan import Plan, Reassignment, Summary

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)
LOGS_0 = TopicPartition("logs", 0)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def broker(number: int, rack: str | None, state: BrokerState = BrokerState.ALIVE) -> Broker:
    return Broker(BrokerId(number), rack=rack, state=state)


def snapshot(**changes: object) -> Snapshot:
    """Four brokers in three racks, three partitions of 100, 10 and 1 bytes by name."""
    fields: dict[str, object] = {
        "brokers": [
            broker(1, "a"),
            broker(2, "b"),
            broker(3, "c"),
            broker(4, "a", BrokerState.NEW),
        ],
        "assignment": Assignment.from_mapping(
            {LOGS_0: ids(1, 2), ORDERS_0: ids(1, 2, 3), ORDERS_1: ids(2, 3, 1)}
        ),
        "cluster_id": "lab",
        "size": np.array([1, 10, 100]),
    }
    return Snapshot.of(**(fields | changes))  # pyright: ignore[reportArgumentType]


def plan(**changes: object) -> Plan:
    """Two replicas move from broker 1 to 4 in two waves."""
    fields: dict[str, object] = {
        "partitions": (
            Reassignment.anywhere(ORDERS_0, ids(4, 2, 3)),
            Reassignment.anywhere(LOGS_0, ids(2, 4)),
        ),
        "before": {ORDERS_0: ids(1, 2, 3), LOGS_0: ids(1, 2)},
        "reasons": {ORDERS_0: "broker 4 is new"},
        "waves": ((1,), (0,)),
        "summary": Summary(
            replicas_moved=2,
            leaders_moved=1,
            bytes_moved=11,
            imbalance_before={"disk": 1.5},
            eta_seconds=2.5,
            peak_disk={BrokerId(10): 0.2, BrokerId(4): 0.5},
        ),
        "cluster_id": "lab",
        "snapshot_sha256": "ab" * 32,
        "created_at": "2026-11-15T12:00:00Z",
    }
    return Plan(**(fields | changes))  # pyright: ignore[reportArgumentType]
