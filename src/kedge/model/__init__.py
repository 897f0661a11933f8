"""The values that every package shares; this package knows nobody.

Small things are frozen dataclasses that people read (`Broker`, `ReplicaAssignment`, `Leadership`).
Large things are columns: an `Assignment` holds two hundred thousand partitions as numpy arrays,
and a `Snapshot` is one of those with the brokers and the loads beside it.
"""

from kedge.model.broker import Broker, BrokerState, Capacity, Endpoint, LogDir
from kedge.model.leadership import NO_LEADER, Leadership, Recovery
from kedge.model.partition import BrokerId, TopicPartition
from kedge.model.replicas import ReplicaAssignment

__all__ = [
    "NO_LEADER",
    "Broker",
    "BrokerId",
    "BrokerState",
    "Capacity",
    "Endpoint",
    "Leadership",
    "LogDir",
    "Recovery",
    "ReplicaAssignment",
    "TopicPartition",
]
