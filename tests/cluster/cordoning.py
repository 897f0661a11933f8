"""A cluster in memory whose brokers know cordons, as those of Kafka 4.3 do (KIP-1066)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.apply.cordons import ALL_LOG_DIRS, CORDONED_LOG_DIRS, own_values
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import (
    Answers,
    ConfigEntry,
    ConfigResource,
    Configs,
    ConfigSource,
    ResourceKind,
)
from kedge.errors import InvalidReplicaAssignment, KedgeError
from kedge.model import BrokerId, TopicPartition

UNSET = ConfigEntry(CORDONED_LOG_DIRS, "", ConfigSource.BUILT_IN)


class CordoningCluster(MemoryCluster):
    """Brokers list the config; a reassignment that adds a replica on a cordoned one is refused."""

    def describe_configs(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, Configs | KedgeError]:
        found = super().describe_configs(resources, synonyms=synonyms)
        return {resource: _listed(resource, entries) for resource, entries in found.items()}

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        values = own_values(self, self.alive)
        cordoned = {broker for broker, value in values.items() if value == ALL_LOG_DIRS}
        refusal = InvalidReplicaAssignment("all log directories are cordoned")
        refused = {
            tp: refusal
            for tp, target in targets.items()
            if cordoned.intersection(target or ()) - set(self._partition(tp).assignment.replicas)
        }
        rest = {tp: target for tp, target in targets.items() if tp not in refused}
        return {**super().alter_reassignments(rest), **refused}


def _listed(resource: ConfigResource, entries: Configs | KedgeError) -> Configs | KedgeError:
    if isinstance(entries, KedgeError) or resource.kind is not ResourceKind.BROKER:
        return entries
    known = any(entry.name == CORDONED_LOG_DIRS for entry in entries)
    return entries if known else (*entries, UNSET)
