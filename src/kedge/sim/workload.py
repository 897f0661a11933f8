"""The random workload of a run: topics, moves, elections, configs, deletions and records.

Operations write to the store as brokers and tools do (create, expand, configure, delete, and the
two plan nodes) or send requests to the controller (moves, cancels, elections). The expectations are
updated with each request and its response.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kedge.controller.events import ElectionRequested, ElectionType
from kedge.errors import KedgeError
from kedge.model import BrokerId, TopicPartition
from kedge.sim.checked_cluster import CheckedCluster
from kedge.sim.move_operations import MoveOperations
from kedge.sim.operator import OPERATOR, Operator
from kedge.sim.rng import SeededRng
from kedge.sim.topic_operations import TopicOperations
from kedge.store.port import Create
from kedge.store.znodes import PREFERRED_ELECTION, encode_partitions

WEIGHTS: dict[str, int] = {
    "create": 10,
    "expand": 4,
    "configure": 5,
    "move": 16,
    "move by plan": 4,
    "cancel": 6,
    "preferred election": 6,
    "preferred election by plan": 2,
    "unclean election": 1,
    "delete": 5,
    "produce": 30,
    "produce in bulk": 8,
}

BULK_BYTES = (20 << 20, 500 << 20)
LOG_BYTES_MAX = 2 << 30


class Producers:
    """Producers with acks=all, whose records have identities so that a lost one is detected."""

    def __init__(self, operator: Operator) -> None:
        self.operator, self.cluster, self.rng = operator, operator.cluster, operator.rng
        self._produced = 0

    def produce(self) -> None:
        """Produce some small records to some partitions."""
        for tp in self.rng.sample(
            self.operator.partitions(), min(4, len(self.operator.partitions()))
        ):
            for _ in range(self.rng.between(1, 3)):
                self.produce_to(tp, 1000)

    def produce_in_bulk(self) -> None:
        """Produce large records to one partition, so that copying them takes time."""
        if self.operator.partitions():
            tp = self.rng.pick(self.operator.partitions())
            if self.cluster.log_bytes(tp) > LOG_BYTES_MAX:
                return
            for _ in range(3):
                self.produce_to(tp, self.rng.between(*BULK_BYTES))

    def produce_to(
        self,
        tp: TopicPartition,
        size_bytes: int,
        leader: BrokerId | None = None,
        done: Callable[[], object] | None = None,
    ) -> None:
        """Produce one record to `leader`, or to a random broker that acts as leader."""
        leaders = [
            machine.process
            for broker, machine in sorted(self.cluster.machines.items())
            if machine.process is not None
            and (hosted := machine.process.hosted.get(tp)) is not None
            and hosted.leader_state is not None
            and leader in (None, broker)
        ]
        if not leaders:
            return
        self._produced += 1
        identity = self._produced

        def acked(offset: int | None) -> None:
            if offset is not None:
                self.cluster.count_acked(tp, offset, identity)
                if done is not None:
                    done()

        self.rng.pick(leaders).produce(tp, identity, size_bytes, acked)


class Workload:
    """An operator and the producers."""

    def __init__(self, cluster: CheckedCluster, rng: SeededRng) -> None:
        self.cluster, self.rng = cluster, rng
        self.operator = operator = Operator(cluster, rng)
        self.topics = topics = TopicOperations(operator)
        self.moves = moves = MoveOperations(operator)
        self.producers = producers = Producers(operator)
        self._do: dict[str, Callable[[], None]] = {
            "create": topics.create,
            "expand": topics.expand,
            "configure": topics.configure,
            "move": moves.move,
            "move by plan": moves.move_by_plan,
            "cancel": moves.cancel,
            "preferred election": partial(self.elect, ElectionType.PREFERRED),
            "preferred election by plan": self.elect_by_plan,
            "unclean election": partial(self.elect, ElectionType.UNCLEAN),
            "delete": topics.delete_some,
            "produce": producers.produce,
            "produce in bulk": producers.produce_in_bulk,
        }

    def run_operation(self) -> str:
        """Run one random operation; returns its kind, with the error if it was rejected."""
        kind = self.rng.weighted(WEIGHTS)
        try:
            self._do[kind]()
        except KedgeError as refusal:
            if refusal is self.cluster.checkers.violation:
                raise
            return f"{kind}: {refusal.what}"
        return kind

    def elect(self, kind: ElectionType) -> None:
        """Request leader elections from the controller."""
        partitions = self.operator.partitions()
        if not partitions:
            return
        chosen = frozenset(self.rng.sample(partitions, min(2, len(partitions))))
        if kind is ElectionType.UNCLEAN:
            for tp in chosen:
                self.cluster.checkers.exempt_topic(tp.topic)
        event = ElectionRequested(chosen, kind)
        controller = self.cluster.metadata.controller
        self.cluster.call_controller(OPERATOR, controller, event, _ignore, _ignore_failure)

    def elect_by_plan(self) -> None:
        """Write a list to `/admin/preferred_replica_election`, as old tools did."""
        partitions = self.operator.partitions()
        if partitions and not self.cluster.exists(PREFERRED_ELECTION):
            self.operator.write(Create(PREFERRED_ELECTION, encode_partitions(partitions)))


def _ignore(_answer: object) -> None:
    """A response that is not needed."""


def _ignore_failure() -> None:
    """A failure that needs no reaction."""
