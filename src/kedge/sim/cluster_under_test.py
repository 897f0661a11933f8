"""The cluster of a run: a checked cluster with controllers and a workload.

All components run on one virtual clock. `run` decides which faults and operations happen when.
"""

from __future__ import annotations

from kedge.model import BrokerId
from kedge.sim.checked_cluster import CheckedCluster, ClusterShape
from kedge.sim.cluster_metadata import FileJournal, VolatileJournal
from kedge.sim.controller_machine import ControllerMachine
from kedge.sim.operator import OPERATOR
from kedge.sim.rng import SeededRng
from kedge.sim.simulated_cluster import ControllerAddress
from kedge.sim.workload import Workload
from kedge.store.port import Delete
from kedge.store.znodes import CONTROLLER

FIRST_CONTROLLER = 1001


class ClusterUnderTest(CheckedCluster):
    """Brokers, controllers and a workload, with every write and acknowledgement checked."""

    def __init__(
        self,
        seed: int,
        shape: ClusterShape,
        journal: VolatileJournal | FileJournal | None = None,
    ) -> None:
        super().__init__(seed, shape, journal)
        self.controllers: dict[BrokerId, ControllerMachine] = {}
        for number in range(shape.controllers):
            self._add_controller(BrokerId(FIRST_CONTROLLER + number))
        self.workload = Workload(self, SeededRng(seed, "operator"))
        self.network.up(OPERATOR)

    def _add_controller(self, controller: BrokerId) -> None:
        machine = ControllerMachine(self, controller, self.delete_controller_node)
        self.controllers[controller] = machine
        self.controller_ids[machine.node] = controller

    def start(self) -> None:
        """Start all brokers and controllers."""
        for broker in sorted(self.machines):
            self.machines[broker].start()
        for controller in sorted(self.controllers):
            self.controllers[controller].start()

    def controller_address(self, controller: BrokerId) -> ControllerAddress | None:
        """The address of a controller process, running or not."""
        machine = self.controllers.get(controller)
        return None if machine is None else ControllerAddress(machine.node, machine.put)

    def active(self) -> ControllerMachine | None:
        """The controller named in the store, if its process is running."""
        holder = self.metadata.controller
        machine = None if holder is None else self.controllers.get(holder)
        return machine if machine is not None and machine.is_up else None

    def delete_controller_node(self) -> None:
        """Delete `/controller` as an operator does, so that another controller is elected."""
        self.batch("manual deletion", self.workload.operator.store, [Delete(CONTROLLER)])
