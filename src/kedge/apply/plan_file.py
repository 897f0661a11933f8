"""Reads the plan of a run: a plan file, or Kafka's file with `before` from the cluster."""

from __future__ import annotations

from pathlib import Path

from kedge.apply.observe import described_topics
from kedge.cluster.port import Cluster
from kedge.files.plan_files import read_plan_file
from kedge.model import Snapshot, TopicPartition
from kedge.plan import Plan, plan_with_before


def growth_of(plan: Plan, snapshot: Snapshot) -> dict[TopicPartition, float]:
    """The bytes per second that producers write to the partitions of a plan, where known."""
    wanted = {entry.tp for entry in plan.partitions}
    rates = snapshot.bytes_in.tolist()
    return {
        tp: rate
        for tp, rate in zip(snapshot.assignment.keys(), rates, strict=True)
        if tp in wanted and rate == rate  # NaN: not known
    }


def read_plan(path: Path, cluster: Cluster) -> Plan:
    """The plan in a file, or the plan that a file of Kafka's tools is on this cluster.

    Raises:
        UnknownTopicOrPartition: the cluster does not have a topic of Kafka's file.
    """
    found = read_plan_file(path)
    if isinstance(found, Plan):
        return found
    topics = described_topics(cluster, {entry.tp.topic for entry in found.entries}, all_exist=True)
    present = {
        TopicPartition(name, number): replicas
        for name, topic in topics.items()
        for number, replicas in topic.replicas().items()
    }
    return plan_with_before(found, present, cluster.describe().cluster_id)
