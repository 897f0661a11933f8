"""Topic operations of the workload: create, expand, configure and delete."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.sim.operator import Operator
from kedge.store.port import Create
from kedge.store.znodes import NEW_CONFIG_CHANGE
from kedge.topic_changes import TopicChanges
from kedge.topics import CreateRequest, DeleteRequest, ExpandRequest, new_topic_id

UNCLEAN = "unclean.leader.election.enable"


class TopicOperations:
    """Operations that write to the store directly, as brokers and tools do."""

    def __init__(self, operator: Operator) -> None:
        self.operator, self.cluster, self.rng = operator, operator.cluster, operator.rng
        self._created = 0
        self._changes = TopicChanges(
            operator.batch, lambda _: operator.view(), draw=operator.rng.draw, new_id=self._topic_id
        )

    def create(self) -> None:
        """Create a topic; sometimes with the name of a deleted one."""
        cluster = self.cluster
        if len(cluster.metadata.topics) >= cluster.shape.topics_max:
            return
        deleted = sorted(cluster.checkers.expectations.deleted - cluster.metadata.topics.keys())
        if deleted and self.rng.chance(0.5):
            name = self.rng.pick(deleted)
            cluster.delete_stray_logs(name)
        else:
            name = f"t{self._created}"
            self._created += 1
        brokers = len(self.operator.live())
        rf = min(self.rng.between(1, 3) if self.rng.chance(0.4) else 3, brokers)
        partitions = self.rng.between(1, cluster.shape.partitions_max)
        self.create_topic(CreateRequest(name, partitions, rf, configs=self._configs(rf)))

    def create_topic(self, request: CreateRequest) -> None:
        """Check a request and write its outcome."""
        cluster, name = self.cluster, request.name
        (written,) = self._changes.create([request])
        if isinstance(written, KedgeError):
            raise written
        made = written.topic
        if made.configs.get(UNCLEAN) == "true":
            cluster.checkers.exempt_topic(name)
        cluster.checkers.expectations.created(name, made.assignment, self.operator.plan())

    def _configs(self, rf: int) -> dict[str, str | None]:
        configs: dict[str, str | None] = {}
        if rf > 1 and self.rng.chance(0.6):
            configs["min.insync.replicas"] = "2"
        if self.rng.chance(0.1):
            configs[UNCLEAN] = "true"
        return configs

    def _topic_id(self) -> str | None:
        """A new topic id; None for a creator that does not support topic ids."""
        if not self.cluster.settings.uses_topic_ids or self.rng.chance(0.2):
            return None
        return new_topic_id(self.rng.bytes)

    def expand(self) -> None:
        """Add a partition to a topic."""
        name = self.operator.pick_topic()
        if name is None or len(self.cluster.metadata.topics[name].partitions) >= 4:
            return
        now = self.cluster.metadata.topics[name]
        (after,) = self._changes.expand([ExpandRequest(name, len(now.partitions) + 1)])
        if isinstance(after, KedgeError):
            raise after
        added = {
            number: assignment.replicas
            for number, assignment in after.partitions.items()
            if number not in now.partitions
        }
        self.cluster.checkers.expectations.created(name, added, self.operator.plan())

    def configure(self) -> None:
        """Change `min.insync.replicas` or unclean leader election of a topic."""
        name = self.operator.pick_topic()
        if name is None:
            return
        if self.rng.chance(0.15):
            self.allow_unclean(name)
            return
        if self.rng.chance(0.1):
            self._write_without_effect()
            return
        wanted = self.rng.pick(("1", "2"))
        self.operator.set_topic(name, {"min.insync.replicas": wanted})

    def allow_unclean(self, name: str) -> None:
        """Enable unclean leader election of a topic."""
        self.cluster.checkers.exempt_topic(name)
        self.operator.set_topic(name, {UNCLEAN: "true"})

    def _write_without_effect(self) -> None:
        """Write what must have no effect: a default that stays false, a value that is no boolean, a
        malformed notification."""
        if self.rng.chance(0.3):
            self.operator.write(Create(NEW_CONFIG_CHANGE, b"not a note", sequential=True))
        else:
            self.operator.set_broker(None, {UNCLEAN: self.rng.pick(("false", "perhaps"))})

    def delete_some(self) -> None:
        """Request the deletion of a topic, if there are enough topics."""
        name = self.operator.pick_topic()
        if name is not None and len(self.cluster.metadata.topics) > self.cluster.shape.topics_min:
            self.delete(name)

    def delete(self, name: str) -> None:
        """Request the deletion of a topic."""
        (marked,) = self._changes.delete([DeleteRequest(name)])
        if isinstance(marked, KedgeError):
            raise marked
        self.cluster.checkers.exempt_topic(name)
        self.cluster.checkers.expectations.deletion_requested(name)
