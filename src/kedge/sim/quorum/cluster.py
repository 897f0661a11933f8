"""The nodes of a simulated quorum, and the clients that append and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kedge.quorum.messages import AddVoterRequest, RemoveVoterRequest
from kedge.quorum.roles import Leader
from kedge.quorum.values import (
    QuorumConfig,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VoterSet,
)
from kedge.sim.clock import Clock
from kedge.sim.quorum.checkers import Checkers
from kedge.sim.quorum.mutations import Mutation
from kedge.sim.quorum.network import Network
from kedge.sim.quorum.process import Process
from kedge.sim.rng import SeededRng

LISTENER = "CONTROLLER"


@dataclass(frozen=True, slots=True)
class QuorumShape:
    """How many nodes there are."""

    voters: int = 3
    observers: int = 0
    is_dynamic: bool = False  # kraft.version 1: voters come and go

    @classmethod
    def drawn(cls, rng: SeededRng) -> QuorumShape:
        """Mostly three voters, as most clusters have."""
        voters, observers = rng.weighted({1: 1, 2: 1, 3: 8, 4: 1, 5: 3}), rng.draw(2)
        is_dynamic = rng.draw(3) == 0
        return cls(voters, 1 + rng.draw(2) if is_dynamic else observers, is_dynamic)


class QuorumCluster:
    """All nodes in virtual time."""

    def __init__(self, seed: int, shape: QuorumShape, mutation: Mutation) -> None:
        self.seed = seed
        self.clock = Clock()
        self.network = Network(self.clock, SeededRng(seed, "network"))
        self.checkers = Checkers(self)
        self.trace: Callable[[str], None] | None = None
        voters = range(1, shape.voters + 1)
        nodes = range(1, shape.voters + shape.observers + 1)
        self.is_dynamic = shape.is_dynamic
        self.first_voters = VoterSet(map(_dynamic if shape.is_dynamic else _static, voters))
        self.processes = {
            id_: Process(
                self,
                # where voters change, any node may be the one that knows the leader
                _config(id_, tuple(nodes if shape.is_dynamic else voters)),
                SeededRng(seed, f"node {id_}"),
                mutation,
            )
            for id_ in nodes
        }
        self._next_value = 0
        self.accepted_now: list[int] = []  # in the present leadership, since faults have stopped
        self.acknowledged: set[object] = set()

    @property
    def node_ids(self) -> list[int]:
        """All nodes, voters first."""
        return list(self.processes)

    def note(self, line: str) -> None:
        """Trace a line."""
        if self.trace:
            self.trace(f"{self.clock.now_ms / 1000:8.3f}  {line}")

    def leaders(self) -> list[Process]:
        """The processes that take themselves for leaders."""
        return [
            process
            for process in self.processes.values()
            if process.node is not None and isinstance(process.node.role, Leader)
        ]

    def append(self) -> int | None:
        """Append a new value at a leader; None if there is none that accepts it."""
        for process in self.leaders():
            self._next_value += 1
            if process.append(self._next_value):
                return self._next_value
        return None

    def change_voters(self, rng: SeededRng) -> str:
        """Ask a leader to add or remove a voter.

        Of two voters the leader is not removed: if it dies before the other one has the record, it
        takes itself for no voter, and the other one lacks its vote. Kafka has this limit too.
        """
        node = rng.pick(self.node_ids)
        for process in self.leaders():
            voters = process.node.voters.ids if process.node else ()
            if node == process.id and len(voters) == 2:
                return "the leader of two voters stays"
            if node in voters:
                process.ask(RemoveVoterRequest(ReplicaKey(node, f"dir:{node}")))
                return f"remove voter {node}"
            process.ask(AddVoterRequest(ReplicaKey(node, f"dir:{node}"), _endpoints(node)))
        return f"add voter {node}"

    def read(self) -> None:
        """Read at every node that takes itself for the leader."""
        for process in self.leaders():
            entries = process.read()
            if entries is not None:
                self.checkers.on_read(process.id, entries)


def _static(node: int) -> Voter:
    return Voter(ReplicaKey(node), _endpoints(node))


def _dynamic(node: int) -> Voter:
    return Voter(ReplicaKey(node, f"dir:{node}"), _endpoints(node), 0, 1)


def _config(node: int, bootstrap: tuple[int, ...]) -> QuorumConfig:
    return QuorumConfig(
        node,
        f"dir:{node}",
        "simulated",
        _endpoints(node),
        LISTENER,
        tuple(server for server in bootstrap if server != node) or bootstrap,
        fetch_max_bytes=200,  # so that snapshots and logs take several fetches
        append_linger_ms=5,
    )


def _endpoints(node: int) -> tuple[VoterEndpoint, ...]:
    return (VoterEndpoint(LISTENER, f"host{node}", 9000 + node),)
