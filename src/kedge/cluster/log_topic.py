"""Creates the topic of a log and checks its settings."""

from __future__ import annotations

from kedge.cluster.port import Cluster, TopicCreation, TopicDescription, topic_resource
from kedge.errors import (
    KedgeError,
    TopicExists,
    Unauthorised,
    UnknownTopicOrPartition,
)

REPLICAS_MAX = 3
CONFIGS = {
    "cleanup.policy": "compact",
    # Leases are renewed every few seconds: small segments are cleaned soon, and reading stays fast.
    "segment.bytes": str(16 << 20),
    "min.cleanable.dirty.ratio": "0.1",
    "message.timestamp.type": "LogAppendTime",
    "max.message.bytes": "1048588",
}


class LogTopic:
    """One topic, as far as a log needs it."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster, self._name = cluster, name
        self._known = False

    def exists(self) -> bool:
        """Whether the topic is there; once seen, it is not looked up again."""
        if self._known:
            return True
        found = self._cluster.describe_topics([self._name])[self._name]
        if isinstance(found, TopicDescription):
            self._known = True
        elif not isinstance(found, UnknownTopicOrPartition):
            raise found
        return self._known

    def is_deleted(self) -> bool:
        """Whether the topic is not there (any more); looked up each time."""
        self.forget()
        return not self.exists()

    def forget(self) -> None:
        """Look the topic up again when it is next needed."""
        self._known = False

    def create(self) -> list[str]:
        """Create the topic unless it exists; returns a sentence for each setting that is unsafe."""
        if self.exists():
            return self._problems()
        replicas = min(REPLICAS_MAX, len(self._cluster.describe().alive))
        configs = {**CONFIGS, "min.insync.replicas": "2" if replicas == REPLICAS_MAX else "1"}
        request = TopicCreation(self._name, 1, replicas, configs=configs)
        refusal = self._cluster.create_topics([request])[self._name]
        if isinstance(refusal, Unauthorised):
            raise _not_allowed(self._name, refusal)
        if refusal is not None and not isinstance(refusal, TopicExists):
            raise refusal
        return []

    def _problems(self) -> list[str]:
        resource = topic_resource(self._name)
        entries = self._cluster.describe_configs([resource])[resource]
        if isinstance(entries, KedgeError):
            return []  # without the right to see them
        policy = next((each.value for each in entries if each.name == "cleanup.policy"), "compact")
        if policy == "compact":
            return []
        return [
            f"topic {self._name} has cleanup.policy={policy}: runs are lost when records are "
            "deleted; set it to compact with kedge configs alter"
        ]


def _not_allowed(topic: str, refusal: Unauthorised) -> Unauthorised:
    return Unauthorised(
        f"Missing permission: Create on Topic {topic} ({refusal.what})",
        hint="grant it, or keep runs in a directory with --state PATH",
    )
