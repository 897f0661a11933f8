"""The values that every package shares; this package knows nobody.

Small things are frozen dataclasses that people read (`Broker`, `ReplicaAssignment`, `Leadership`).
Large things are columns: an `Assignment` holds two hundred thousand partitions as numpy arrays,
and a `Snapshot` is one of those with the brokers and the loads beside it.

Rules that the columns keep, so that nobody has to look twice:

- Rows are in the order of topic name and partition number, brokers in the order of their ids.
- A list is a row of a matrix padded with -1. What a source did not tell is told apart from what
  it said is not there: -2 for a leader or an ISR, -1 for a size, NaN for a rate.
- Arrays are read-only; a change makes a new value.
- What enters is checked once, at the border (`parse_snapshot`, `snapshot_from_arrow`), and a
  refusal names the place. Behind the border nobody checks again.

    topic   partition  replicas    leader  isr         size   bytes_in  bytes_out
    logs    0          [4, -1]     4       [4, -1]     10     NaN       NaN
    orders  0          [1,  2]     1       [1,  2]     700    50.0      100.0
    orders  1          [2,  3]     -1      [2, -1]     650    40.0      80.0

    snapshot = parse_snapshot(data)
    snapshot.assignment.replicas_of(1)   # (1, 2)
    broker_loads(snapshot)               # one row per broker: disk, in, out, cpu

The columns need numpy, which takes some tenths of a second to import, and Arrow tables need
pyarrow. A command that needs neither should not wait, so those names are fetched on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kedge.model.broker import Broker, BrokerState, Capacity, Endpoint, LogDir
from kedge.model.leadership import NO_LEADER, Leadership, Recovery
from kedge.model.partition import BrokerId, TopicPartition
from kedge.model.replicas import ReplicaAssignment

if TYPE_CHECKING:
    from kedge.model.assignment import Assignment
    from kedge.model.columns import NOT_TOLD
    from kedge.model.load import Resource, broker_loads, replica_loads
    from kedge.model.snapshot import CpuModel, Snapshot
    from kedge.model.snapshot_arrow import SnapshotTables, snapshot_from_arrow, snapshot_to_arrow
    from kedge.model.snapshot_json import parse_snapshot, sha256_of_snapshot, snapshot_to_json

_FETCHED_ON_USE = {
    "Assignment": "assignment",
    "NOT_TOLD": "columns",
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


def __getattr__(name: str) -> Any:
    if name not in _FETCHED_ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"kedge.model.{_FETCHED_ON_USE[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "NOT_TOLD",
    "NO_LEADER",
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
    "parse_snapshot",
    "replica_loads",
    "sha256_of_snapshot",
    "snapshot_from_arrow",
    "snapshot_to_arrow",
    "snapshot_to_json",
]
