"""The values that all packages share: brokers, partitions, assignments, snapshots; imports no
other.

Small values are frozen dataclasses (`Broker`, `ReplicaAssignment`, `Leadership`). Large values are
columns: an `Assignment` holds two hundred thousand partitions as numpy arrays, and a `Snapshot` is
an assignment with the brokers and the loads.

Invariants of the columns:

- Rows are sorted by topic name and partition number, brokers by id.
- A list is a row of a matrix padded with -1. An unknown value is distinct from an absent one:
  -2 (`UNKNOWN`) for a leader or an ISR, -1 for a size, NaN for a rate.
- Arrays are read-only; a change makes a new value.
- Input is checked once, where it enters (`parse_snapshot`, `snapshot_from_arrow`), and an error
  names the position. Code behind that boundary does not check again.

    topic   partition  replicas    leader  isr         size   bytes_in  bytes_out
    logs    0          [4, -1]     4       [4, -1]     10     NaN       NaN
    orders  0          [1,  2]     1       [1,  2]     700    50.0      100.0
    orders  1          [2,  3]     -1      [2, -1]     650    40.0      80.0

    snapshot = parse_snapshot(data)
    snapshot.assignment.replicas_of(1)   # (1, 2)
    broker_loads(snapshot)               # one row per broker: disk, in, out, cpu

The columns need numpy, which takes some tenths of a second to import, and Arrow tables need
pyarrow. So those names are imported on first use, and commands that need neither start fast.
"""

from typing import TYPE_CHECKING

from kedge.lazy_names import imported_on_use
from kedge.model.broker import Broker, BrokerState, Capacity, Endpoint, LogDir
from kedge.model.partition import (
    NO_LEADER,
    BrokerId,
    Leadership,
    Recovery,
    ReplicaAssignment,
    TopicPartition,
    by_topic,
)

if TYPE_CHECKING:
    from kedge.model.assignment import Assignment
    from kedge.model.columns import UNKNOWN
    from kedge.model.load import Resource, broker_loads, replica_loads
    from kedge.model.snapshot import CpuModel, Snapshot
    from kedge.model.snapshot_arrow import SnapshotTables, snapshot_from_arrow, snapshot_to_arrow
    from kedge.model.snapshot_json import parse_snapshot, sha256_of_snapshot, snapshot_to_json

_IMPORTED_ON_USE = {
    "Assignment": "assignment",
    "UNKNOWN": "columns",
    "Resource": "load",
    "broker_loads": "load",
    "replica_loads": "load",
    "CpuModel": "snapshot",
    "Snapshot": "snapshot",
    "SnapshotTables": "snapshot_arrow",
    "snapshot_from_arrow": "snapshot_arrow",
    "snapshot_to_arrow": "snapshot_arrow",
    "parse_snapshot": "snapshot_json",
    "sha256_of_snapshot": "snapshot_json",
    "snapshot_to_json": "snapshot_json",
}


__getattr__ = imported_on_use(__name__, _IMPORTED_ON_USE)


__all__ = [
    "NO_LEADER",
    "UNKNOWN",
    "Assignment",
    "Broker",
    "BrokerId",
    "BrokerState",
    "Capacity",
    "CpuModel",
    "Endpoint",
    "Leadership",
    "LogDir",
    "Recovery",
    "ReplicaAssignment",
    "Resource",
    "Snapshot",
    "SnapshotTables",
    "TopicPartition",
    "broker_loads",
    "by_topic",
    "parse_snapshot",
    "replica_loads",
    "sha256_of_snapshot",
    "snapshot_from_arrow",
    "snapshot_to_arrow",
    "snapshot_to_json",
]
