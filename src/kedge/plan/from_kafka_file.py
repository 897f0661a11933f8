"""A plan made from a reassignment file of Kafka's tool: `before` is what the cluster has now."""

from __future__ import annotations

from kedge.model.snapshot import Snapshot
from kedge.plan.kafka_json import ReassignmentFile
from kedge.plan.plan_file import Plan


def from_kafka_file(file: ReassignmentFile, snapshot: Snapshot) -> Plan:
    """The plan of executing this file on this cluster.

    A partition that the cluster does not have is its own `before`, so that the checks report it.
    """
    present = snapshot.assignment.to_mapping()
    before = {tp: present.get(tp, replicas) for tp, replicas in file.targets.items()}
    return Plan(file.entries, before, cluster_id=snapshot.cluster_id)
