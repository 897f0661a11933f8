"""The content of the store as decoded values, updated at every commit.

Every transaction is applied in the order of commit, with the name of the node that wrote it.
Brokers and controllers do not see these values; checkers, bandwidth and reports do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.store.journal import Journal
from kedge.store.tree import Applied, Kind, Transaction, Tree
from kedge.store.znodes import (
    CONFIG_CHANGES,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    TopicAssignment,
    broker_config_path,
    decode_config,
    decode_controller,
    decode_controller_epoch,
    decode_state,
    decode_topic,
    topic_config_path,
)
from kedge.store.znodes.paths import DELETE_TOPICS

Committed = Callable[[Sequence[Transaction]], None]


class VolatileJournal(Journal):
    """A journal without a file: it passes every transaction on and stores none."""

    def __init__(self) -> None:  # no file, so Journal's own fields are not needed
        self.tree = Tree()
        self.dropped_bytes = 0
        self.committed: Committed = lambda _: None

    def append(self, transactions: Sequence[Transaction]) -> None:
        self.committed(transactions)

    def maybe_compact(self, tree: Tree) -> None:
        """Nothing to compact."""

    def close(self) -> None:
        """Nothing to close."""


class FileJournal(Journal):
    """A journal with a file that also passes every transaction on.

    `before` is called before every write, to save data that must not be older than the store.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, fsync="never")
        self.before: Callable[[], None] = lambda: None
        self.committed: Committed = lambda _: None

    def append(self, transactions: Sequence[Transaction]) -> None:
        self.before()
        super().append(transactions)
        self.committed(transactions)


class MetadataObserver:
    """Receives the changes of the metadata; the base class ignores them."""

    def topic_written(
        self, topic: str, before: TopicAssignment | None, after: TopicAssignment
    ) -> None:
        """A topic's assignment was created or rewritten."""

    def topic_gone(self, topic: str, before: TopicAssignment) -> None:
        """A topic's assignment was removed."""

    def state_written(
        self, tp: TopicPartition, before: Leadership | None, after: Leadership
    ) -> None:
        """A partition's leadership was created or rewritten."""

    def epoch_written(self, before: int, after: int) -> None:
        """The controller epoch was written."""

    def committed(self, writer: str, transaction: Transaction) -> None:
        """A transaction was committed; called before its changes."""


class ClusterMetadata:
    """The topics, leaderships, configs and controller in the store."""

    def __init__(self, observer: MetadataObserver) -> None:
        self.observer = observer
        self.writer = ""  # the node whose batch is in progress
        self.topics: dict[str, TopicAssignment] = {}
        self.states: dict[TopicPartition, Leadership] = {}
        self.deletions: set[str] = set()
        self.configs: dict[str, dict[str, str]] = {}  # by path
        self.epoch = 0
        self.controller: BrokerId | None = None

    # ---- reading ----

    def assignment(self, tp: TopicPartition) -> ReplicaAssignment | None:
        """A partition's replicas."""
        topic = self.topics.get(tp.topic)
        return None if topic is None else topic.partitions.get(tp.partition)

    def partitions(self) -> list[TopicPartition]:
        """All partitions, sorted."""
        return [
            TopicPartition(topic, number)
            for topic in sorted(self.topics)
            for number in self.topics[topic].partitions
        ]

    def topic_config(self, topic: str) -> dict[str, str]:
        """The configs of a topic."""
        return self.configs.get(topic_config_path(topic), {})

    def broker_config(self, broker: BrokerId | None) -> dict[str, str]:
        """The configs of a broker; with None, the cluster-wide defaults."""
        return self.configs.get(broker_config_path(broker), {})

    # ---- updating ----

    def load(self, tree: Tree) -> None:
        """Start with the content of a tree; the observer is not called."""
        observer, self.observer = self.observer, MetadataObserver()
        for path in sorted(tree.nodes):
            node = tree.nodes[path]
            # as one write that sets the node's version
            before = (None, node.version - 1, 0) if node.version else None
            self._apply(Applied(Kind.CREATED, path, node, node.data, before))
        self.observer = observer

    def apply(self, transactions: Sequence[Transaction]) -> None:
        """Apply committed transactions."""
        for transaction in transactions:
            self.observer.committed(self.writer, transaction)
            for applied in transaction.applied:
                self._apply(applied)

    def _apply(self, applied: Applied) -> None:
        path = applied.path
        if path.startswith(TOPICS + "/"):
            self._apply_topic(path[len(TOPICS) + 1 :].split("/"), applied)
        elif path.startswith("/config/") and not path.startswith(CONFIG_CHANGES):
            self._apply_config(applied)
        elif path.startswith(DELETE_TOPICS + "/"):
            topic = path[len(DELETE_TOPICS) + 1 :]
            (self.deletions.discard if applied.kind is Kind.DELETED else self.deletions.add)(topic)
        elif path == CONTROLLER_EPOCH and applied.data is not None:
            before, self.epoch = self.epoch, decode_controller_epoch(applied.data)
            self.observer.epoch_written(before, self.epoch)
        elif path == CONTROLLER:
            gone = applied.kind is Kind.DELETED
            self.controller = None if gone else decode_controller(applied.data).broker

    def _apply_topic(self, parts: list[str], applied: Applied) -> None:
        topic = parts[0]
        if len(parts) == 1:
            self._apply_assignment(topic, applied)
        elif len(parts) == 4:
            self._apply_state(TopicPartition(topic, int(parts[2])), applied)

    def _apply_assignment(self, topic: str, applied: Applied) -> None:
        before = self.topics.get(topic)
        if applied.kind is Kind.DELETED:
            assert before is not None
            del self.topics[topic]
            self.observer.topic_gone(topic, before)
            return
        after = self.topics[topic] = decode_topic(topic, applied.data)
        self.observer.topic_written(topic, before, after)

    def _apply_state(self, tp: TopicPartition, applied: Applied) -> None:
        before = self.states.get(tp)
        if applied.kind is Kind.DELETED:
            self.states.pop(tp, None)
            return
        version = 0 if applied.before is None else applied.before[1] + 1
        after = self.states[tp] = decode_state(tp, applied.data, version)
        self.observer.state_written(tp, before, after)

    def _apply_config(self, applied: Applied) -> None:
        if applied.kind is Kind.DELETED:
            self.configs.pop(applied.path, None)
        elif applied.data:
            self.configs[applied.path] = decode_config(applied.data, applied.path)
