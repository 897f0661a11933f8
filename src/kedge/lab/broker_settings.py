"""The broker settings of a lab, in the form that its endpoint reports and applies."""

from __future__ import annotations

from dataclasses import replace

from kedge.endpoint import ClusterSettings
from kedge.lab.settings import LabSettings
from kedge.topics import AutoCreate, Defaults


def cluster_settings(lab: LabSettings) -> ClusterSettings:
    """What the brokers' `server.properties` would contain.

    The replication factor of internal topics is limited to the number of brokers.
    """
    auto = AutoCreate(enabled=lab.auto_create)
    fits = min(auto.offsets.replication_factor, lab.brokers)
    auto = replace(
        auto,
        offsets=replace(auto.offsets, replication_factor=fits),
        transactions=replace(
            auto.transactions, replication_factor=fits, min_isr=min(2, lab.brokers)
        ),
    )
    return ClusterSettings(Defaults(lab.partitions, lab.replication_factor), auto)
