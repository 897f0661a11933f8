"""A plain reassignment file, seen as a plan: what the cluster holds now is its `before`."""

from __future__ import annotations

from kedge.model.snapshot import Snapshot
from kedge.plan.kafka_json import ReassignmentFile
from kedge.plan.plan_file import Plan


def adopt(file: ReassignmentFile, snapshot: Snapshot) -> Plan:
    """The plan that carrying out this file on this cluster would be.

    A partition that the cluster does not have stands as its own `before`, for the checks to find.
    """
    present = snapshot.assignment.to_mapping()
    before = {tp: present.get(tp, replicas) for tp, replicas in file.targets.items()}
    return Plan(file.entries, before, cluster_id=snapshot.cluster_id)
