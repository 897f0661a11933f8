"""Random faults of a quorum, and their repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from kedge.quorum.node import Resign
from kedge.sim.clock import Clock
from kedge.sim.quorum.network import Network
from kedge.sim.quorum.node_process import NodeProcess
from kedge.sim.rng import SeededRng

WEIGHTS = {
    "crash": 5,
    "crash at a write": 8,
    "crash of all": 1,
    "isolate": 4,
    "isolate the leader": 5,
    "one-way cut": 3,
    "loss": 3,
    "slow network": 3,
    "pause": 3,
    "resign": 3,
}
REPAIR_MS_MAX = 5_000


class FaultyCluster(Protocol):
    """What faults happen to."""

    @property
    def clock(self) -> Clock: ...
    @property
    def network(self) -> Network: ...
    @property
    def processes(self) -> Mapping[int, NodeProcess]: ...
    @property
    def node_ids(self) -> list[int]: ...
    def leaders(self) -> Sequence[NodeProcess]:
        """The processes that take themselves for leaders."""
        ...

    def note(self, line: str) -> None:
        """Trace a line."""
        ...


class Faults:
    """Injects faults until they are stopped."""

    def __init__(self, cluster: FaultyCluster, rng: SeededRng) -> None:
        self._cluster = cluster
        self._rng = rng
        self._stopped = False

    def inject(self) -> str:
        """One fault, which repairs itself after a while."""
        kind = self._rng.weighted(WEIGHTS)
        node = self._rng.pick(self._cluster.node_ids)
        detail = getattr(self, f"_{kind.replace(' ', '_').replace('-', '_')}")(node)
        self._cluster.note(f"fault: {kind} {detail or ''}")
        return kind

    def stop(self) -> None:
        """Repair everything, and inject nothing more."""
        self._stopped = True
        self._cluster.network.heal()
        for process in self._cluster.processes.values():
            process.disk.crash_in = None
        self.start_all()

    def start_all(self) -> None:
        """Start the processes that are down."""
        for process in self._cluster.processes.values():
            if process.node is None:
                process.start()

    def _later(self) -> int:
        return self._rng.between(50, REPAIR_MS_MAX)

    def _crash(self, node: int) -> None:
        process = self._cluster.processes[node]
        if process.node is not None:
            process.kill()
        self._cluster.clock.after(self._later(), self.start_all)

    def _crash_at_a_write(self, node: int) -> str:
        leaders = self._cluster.leaders()
        if leaders and self._rng.chance(0.5):
            node = leaders[0].id
        writes = self._rng.between(1, 6)
        self._cluster.processes[node].disk.crash_in = writes
        self._cluster.clock.after(self._later(), self.start_all)
        return f"of node {node}, the {writes}. from now"

    def _crash_of_all(self, node: int) -> None:
        del node
        for process in self._cluster.processes.values():
            if process.node is not None:
                process.kill()
        self._cluster.clock.after(self._later(), self.start_all)

    def _isolate(self, node: int, *, one_way: bool = False) -> str:
        everyone = set(self._cluster.node_ids)
        count = self._rng.between(1, max(1, len(everyone) // 2))
        nodes = {node, *self._rng.sample(sorted(everyone), count - 1)}
        self._cluster.network.isolate(nodes, everyone, one_way=one_way)
        self._cluster.clock.after(self._later(), self._cluster.network.heal)
        return f"{sorted(nodes)}"

    def _isolate_the_leader(self, node: int) -> str:
        nodes = {process.id for process in self._cluster.leaders()} or {node}
        everyone = set(self._cluster.node_ids)
        self._cluster.network.isolate(nodes, everyone, one_way=False)
        self._cluster.clock.after(self._later(), self._cluster.network.heal)
        return f"{sorted(nodes)}"

    def _one_way_cut(self, node: int) -> str:
        return self._isolate(node, one_way=True)

    def _loss(self, node: int) -> None:
        del node
        self._cluster.network.loss = self._rng.between(5, 40) / 100
        self._cluster.clock.after(self._later(), self._cluster.network.heal)

    def _slow_network(self, node: int) -> None:
        del node
        self._cluster.network.delay_ms_max = self._rng.pick([50, 300, 1_500])
        self._cluster.clock.after(self._later(), self._cluster.network.heal)

    def _pause(self, node: int) -> str:
        ms = self._rng.pick([200, 1_500, 4_000])
        self._cluster.processes[node].pause(ms)
        return f"of node {node} for {ms} ms"

    def _resign(self, node: int) -> None:
        del node
        for process in self._cluster.leaders():
            assert process.node is not None
            process.handle(Resign(process.node.role.epoch))
