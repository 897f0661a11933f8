"""A plan made from a reassignment file of Kafka's tool: `before` is what the cluster has now."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.model import BrokerId, TopicPartition
from kedge.model.snapshot import Snapshot
from kedge.plan.kafka_json import ReassignmentFile
from kedge.plan.plan_file import Plan


def from_kafka_file(file: ReassignmentFile, snapshot: Snapshot) -> Plan:
    """The plan that carrying out this file on the cluster of a snapshot would be."""
    return plan_with_before(file, snapshot.assignment.to_mapping(), snapshot.cluster_id)


def plan_with_before(
    file: ReassignmentFile,
    present: Mapping[TopicPartition, tuple[BrokerId, ...]],
    cluster_id: str | None,
) -> Plan:
    """The plan that moves the present replicas to the targets of a file.

    A partition that the cluster does not have is its own `before`, for the checks to find.
    """
    before = {tp: present.get(tp, replicas) for tp, replicas in file.targets.items()}
    return Plan(file.entries, before, cluster_id=cluster_id)
