"""Controllers and brokers of a simulated KRaft cluster, and the operator who sends requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from kedge.kraft import ControllerConfig
from kedge.metadata import Periods, Settings
from kedge.metadata.decision import ELR_FEATURE
from kedge.metadata.metadata_version import FEATURE, LATEST
from kedge.metadata.records import NO_LEADER
from kedge.quorum.roles import Leader
from kedge.quorum.values import QuorumConfig, ReplicaKey, Voter, VoterEndpoint, VoterSet
from kedge.sim.clock import Clock
from kedge.sim.kraft.broker_process import BrokerProcess
from kedge.sim.kraft.checkers import KraftCheckers
from kedge.sim.kraft.controller_process import ControllerProcess
from kedge.sim.kraft.mutations import Rules
from kedge.sim.kraft.numbered import RECORD_BYTES, NumberedRecords
from kedge.sim.quorum.network import Network
from kedge.sim.rng import SeededRng
from kedge.topics import encode_id

LISTENER = "CONTROLLER"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
OPERATOR = 0  # as the network knows it
FIRST_CONTROLLER = 101
SESSION_MS = 3_000
SNAPSHOT_RECORDS = 60


@dataclass(frozen=True, slots=True)
class KraftShape:
    """How many nodes there are, and what the cluster supports."""

    controllers: int = 3
    brokers: int = 3
    elr: bool = True

    @classmethod
    def drawn(cls, rng: SeededRng) -> KraftShape:
        """Mostly three controllers, as most clusters have."""
        controllers = rng.weighted({1: 2, 2: 1, 3: 10, 5: 1})
        return cls(controllers, rng.between(2, 4), rng.chance(0.6))


class KraftCluster:
    """All nodes in virtual time."""

    def __init__(self, seed: int, shape: KraftShape, rules: Rules) -> None:
        self.seed = seed
        self.clock = Clock()
        self.network = Network(self.clock, SeededRng(seed, "network"))
        self.checkers = KraftCheckers(self)
        self.trace: Callable[[str], None] | None = None
        self.accepted_now: list[int] = []
        self.acknowledged: set[object] = set()
        self._numbers = count(1)
        self._ids = SeededRng(seed, "ids")
        self._operator = SeededRng(seed, "operator")
        voters = tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + shape.controllers))
        brokers = range(1, shape.brokers + 1)
        self.first_voters = VoterSet(Voter(ReplicaKey(id_), _endpoints(id_)) for id_ in voters)
        self.controllers = {
            id_: ControllerProcess(
                self, _config(id_, voters, shape), SeededRng(seed, f"node {id_}"), rules
            )
            for id_ in voters
        }
        self.brokers = {
            id_: BrokerProcess(
                self, _config(id_, voters, shape), SeededRng(seed, f"node {id_}"), voters
            )
            for id_ in brokers
        }
        self.processes: dict[int, ControllerProcess] = {**self.controllers, **self.brokers}

    def records(self) -> NumberedRecords:
        """The log's form of records, for one process."""
        return NumberedRecords(self._numbers)

    def new_id(self) -> str:
        """A random id."""
        return encode_id(self._ids.bytes(16))

    @property
    def node_ids(self) -> list[int]:
        """All nodes, controllers first."""
        return list(self.processes)

    def note(self, line: str) -> None:
        """Trace a line."""
        if self.trace:
            self.trace(f"{self.clock.now_ms / 1000:8.3f}  {line}")

    def leaders(self) -> list[ControllerProcess]:
        """The processes that take themselves for leaders."""
        return [
            process
            for process in self.controllers.values()
            if process.node is not None and isinstance(process.node.role, Leader)
        ]

    # ---- the operator ----------------------------------------------------------------------------

    def ask(self, request: Any, on_answer: Callable[[Any], None]) -> None:
        """Send a request to a controller, mostly to a leader."""
        leaders = self.leaders() or list(self.controllers.values())
        target = self._operator.pick(
            list(self.controllers.values()) if self._operator.draw(10) == 0 else leaders
        )
        self.note(f"the operator asks node {target.id}: {request}")

        def respond(answer: Any) -> None:
            self.network.carry(target.id, OPERATOR, lambda: on_answer(answer))

        self.network.carry(OPERATOR, target.id, lambda: target.ask(request, respond))

    def read(self) -> None:
        """Read at every controller, as DescribeTopicPartitions and the like do."""
        self.checkers.checks["reads"] += 1
        for process in self.controllers.values():
            process.show_image()

    def unmet_conditions(self) -> list[str]:
        """What is missing for a cluster without pending work."""
        return [
            *self.checkers.unmet_conditions(),
            *self._unmet_of_brokers(),
            *self._unmet_of_partitions(),
        ]

    def without_candidates(self) -> tuple[tuple[str, int], ...]:
        """Partitions that only an unclean election can bring back, as in Kafka.

        Kafka drops the eligible leader replicas of a topic when its min.insync.replicas is changed,
        also of a partition whose ISR is empty. And it notes the last leader when an ISR becomes
        empty: where there was none any more, because its directory had failed, it notes -1. And a
        replica that a reassignment removes may stay among the eligible ones, which keeps the last
        leader from being elected.
        """
        image, cleared = self.checkers.image, self.checkers.cleared
        lost: list[tuple[str, int]] = []
        for topic_id, number in sorted(image.indexes.leaderless):
            topic = image.topics[topic_id]
            now = topic.partitions[number]
            strangers = set(now.elr) - set(now.replicas)
            is_known = topic.name in cleared or now.last_known_elr == (NO_LEADER,) or strangers
            if not now.isr and set(now.elr) == strangers and is_known:
                lost.append((topic.name, number))
        return tuple(lost)

    def _unmet_of_brokers(self) -> list[str]:
        registered = self.checkers.image.brokers
        return [
            f"broker {id_} is {'fenced' if id_ in registered else 'not registered'}"
            for id_ in self.brokers
            if id_ not in registered or not registered[id_].active
        ]

    def _unmet_of_partitions(self) -> list[str]:
        image = self.checkers.image
        return [
            f"{topic.name}-{number} is {now}"
            for topic in map(image.topics.__getitem__, image.topics)
            for number, now in topic.partitions.items()
            if not now.has_leader or now.reassigning or set(now.isr) != set(now.replicas)
        ]


def _config(node: int, voters: tuple[int, ...], shape: KraftShape) -> ControllerConfig:
    is_controller = node in voters
    quorum = QuorumConfig(
        node,
        f"dir:{node}",
        CLUSTER_ID,
        _endpoints(node),
        LISTENER,
        tuple(voter for voter in voters if voter != node) or voters,
        fetch_max_bytes=2_000,  # so that snapshots and logs take several fetches
        append_linger_ms=5,
    )
    features = {FEATURE: LATEST, **({ELR_FEATURE: 1} if shape.elr else {})}
    settings = Settings(node, CLUSTER_ID, voters, session_ms=SESSION_MS, bootstrap=features)
    periods = Periods(no_op_ms=2_000, session_ms=SESSION_MS, preferred_ms=10_000, unclean_ms=10_000)
    return ControllerConfig(
        quorum,
        settings,
        periods,
        incarnation="to be drawn" if is_controller else "",
        snapshot_after_bytes=SNAPSHOT_RECORDS * RECORD_BYTES,
        retention_bytes=0,
    )


def _endpoints(node: int) -> tuple[VoterEndpoint, ...]:
    return (VoterEndpoint(LISTENER, f"host{node}", 9000 + node),)
