"""The adapter for live clusters: any Kafka since 2.4, by the requests of admin clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.cluster import kafka_brokers, kafka_configs, kafka_moves, kafka_topics
from kedge.cluster.access import PLAIN_ACCESS, Access
from kedge.cluster.admin_session import Session, parse_bootstrap
from kedge.cluster.port import (
    Answers,
    Changes,
    ClusterDescription,
    ConfigResource,
    Configs,
    Election,
    LogDirDescription,
    QuotaEntity,
    Replica,
    ResourceKind,
    TopicCreation,
    TopicDescription,
    TopicExpansion,
)
from kedge.errors import KedgeError
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition


class KafkaAdmin:
    """The adapter of the cluster port for real clusters; connects at the first call."""

    def __init__(self, bootstrap: str, access: Access = PLAIN_ACCESS) -> None:
        self._session = Session(parse_bootstrap(bootstrap), access)

    def describe(self) -> ClusterDescription:
        brokers = self._session.refresh(self._session.deadline())
        return ClusterDescription(self._session.cluster_id, self._session.controller, brokers)

    def topic_names(self) -> dict[str, bool]:
        return kafka_topics.topic_names(self._session)

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | KedgeError]:
        return kafka_topics.describe_topics(self._session, names)

    def create_topics(
        self, topics: Sequence[TopicCreation], *, validate_only: bool = False
    ) -> Answers[str]:
        return kafka_topics.create_topics(self._session, topics, validate_only=validate_only)

    def expand_topics(
        self, topics: Sequence[TopicExpansion], *, validate_only: bool = False
    ) -> Answers[str]:
        return kafka_topics.expand_topics(self._session, topics, validate_only=validate_only)

    def delete_topics(self, names: Sequence[str]) -> Answers[str]:
        return kafka_topics.delete_topics(self._session, names)

    def describe_configs(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, Configs | KedgeError]:
        return kafka_configs.describe_configs(self._session, resources, synonyms=synonyms)

    def config_names(self, kind: ResourceKind) -> frozenset[str]:
        return kafka_configs.config_names(self._session, kind)

    def alter_configs(
        self, changes: Changes, *, validate_only: bool = False
    ) -> Answers[ConfigResource]:
        return kafka_configs.alter_configs(self._session, changes, validate_only=validate_only)

    def describe_quotas(
        self, entity: QuotaEntity, *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        return kafka_configs.describe_quotas(self._session, entity, strict=strict)

    def alter_quotas(
        self, entity: QuotaEntity, changes: Mapping[str, float | None]
    ) -> Answers[QuotaEntity]:
        return kafka_configs.alter_quotas(self._session, entity, changes)

    def reassignments(self) -> dict[TopicPartition, ReplicaAssignment]:
        return kafka_moves.reassignments(self._session)

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        return kafka_moves.alter_reassignments(self._session, targets)

    def authorize_reassignments(self) -> KedgeError | None:
        return kafka_moves.authorize_reassignments(self._session)

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        return kafka_moves.log_dirs(self._session, brokers, topics)

    def alter_log_dirs(self, moves: Mapping[Replica, str]) -> Answers[Replica]:
        return kafka_moves.alter_log_dirs(self._session, moves)

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        return kafka_moves.elect_leaders(self._session, election, partitions)

    def keeps_registrations(self) -> bool:
        return kafka_brokers.keeps_registrations(self._session)

    def unregister_broker(self, broker: BrokerId) -> KedgeError | None:
        return kafka_brokers.unregister_broker(self._session, broker)

    def close(self) -> None:
        self._session.close()
