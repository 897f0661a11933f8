"""What the store holds, decoded as it is written: the truth that checkers judge by.

Every transaction passes through here in the order of its commit, with the name of whoever made
it. Nobody in the simulated world can see this; it is the view from outside.
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


class Ledger(Journal):
    """A journal without a file: it hands every transaction on and keeps none."""

    def __init__(self) -> None:  # no file, so nothing of Journal's own
        self.tree = Tree()
        self.dropped_bytes = 0
        self.committed: Committed = lambda _: None

    def append(self, transactions: Sequence[Transaction]) -> None:
        self.committed(transactions)

    def maybe_compact(self, tree: Tree) -> None:
        """Nothing to compact."""

    def close(self) -> None:
        """Nothing to close."""


class FileLedger(Journal):
    """A journal with a file that hands every transaction on as well.

    `before` is called ahead of every write: what must not be older than the store is saved there.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, fsync="never")
        self.before: Callable[[], None] = lambda: None
        self.committed: Committed = lambda _: None

    def append(self, transactions: Sequence[Transaction]) -> None:
        self.before()
        super().append(transactions)
        self.committed(transactions)


class Observer:
    """Hears of what changed; the base hears and does nothing."""

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
        """A transaction as a whole, before its parts."""


class Truth:
    """The store's content as values."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.writer = ""  # whose batch is under way
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
        """Every partition, in order."""
        return [
            TopicPartition(topic, number)
            for topic in sorted(self.topics)
            for number in self.topics[topic].partitions
        ]

    def topic_config(self, topic: str) -> dict[str, str]:
        """A topic's own settings."""
        return self.configs.get(topic_config_path(topic), {})

    def broker_config(self, broker: BrokerId | None) -> dict[str, str]:
        """A broker's own settings."""
        return self.configs.get(broker_config_path(broker), {})

    # ---- following ----

    def load(self, tree: Tree) -> None:
        """Begin with what a tree holds already; nobody is told of it."""
        observer, self.observer = self.observer, Observer()
        for path in sorted(tree.nodes):
            node = tree.nodes[path]
            # as if it had been written once, and had come to its version at that
            before = (None, node.version - 1, 0) if node.version else None
            self._take(Applied(Kind.CREATED, path, node, node.data, before))
        self.observer = observer

    def follow(self, transactions: Sequence[Transaction]) -> None:
        """Take in what was committed."""
        for transaction in transactions:
            self.observer.committed(self.writer, transaction)
            for applied in transaction.applied:
                self._take(applied)

    def _take(self, applied: Applied) -> None:
        path = applied.path
        if path.startswith(TOPICS + "/"):
            self._take_topic(path[len(TOPICS) + 1 :].split("/"), applied)
        elif path.startswith("/config/") and not path.startswith(CONFIG_CHANGES):
            self._take_config(applied)
        elif path.startswith(DELETE_TOPICS + "/"):
            topic = path[len(DELETE_TOPICS) + 1 :]
            (self.deletions.discard if applied.kind is Kind.DELETED else self.deletions.add)(topic)
        elif path == CONTROLLER_EPOCH and applied.data is not None:
            before, self.epoch = self.epoch, decode_controller_epoch(applied.data)
            self.observer.epoch_written(before, self.epoch)
        elif path == CONTROLLER:
            gone = applied.kind is Kind.DELETED
            self.controller = None if gone else decode_controller(applied.data).broker

    def _take_topic(self, parts: list[str], applied: Applied) -> None:
        topic = parts[0]
        if len(parts) == 1:
            self._take_assignment(topic, applied)
        elif len(parts) == 4:
            self._take_state(TopicPartition(topic, int(parts[2])), applied)

    def _take_assignment(self, topic: str, applied: Applied) -> None:
        before = self.topics.get(topic)
        if applied.kind is Kind.DELETED:
            assert before is not None
            del self.topics[topic]
            self.observer.topic_gone(topic, before)
            return
        after = self.topics[topic] = decode_topic(topic, applied.data)
        self.observer.topic_written(topic, before, after)

    def _take_state(self, tp: TopicPartition, applied: Applied) -> None:
        before = self.states.get(tp)
        if applied.kind is Kind.DELETED:
            self.states.pop(tp, None)
            return
        version = 0 if applied.before is None else applied.before[1] + 1
        after = self.states[tp] = decode_state(tp, applied.data, version)
        self.observer.state_written(tp, before, after)

    def _take_config(self, applied: Applied) -> None:
        if applied.kind is Kind.DELETED:
            self.configs.pop(applied.path, None)
        elif applied.data:
            self.configs[applied.path] = decode_config(applied.data, applied.path)
