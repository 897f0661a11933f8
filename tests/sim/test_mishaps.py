"""Faults are what they say: they do not repair anything on the side."""

from kedge.model import BrokerId
from kedge.sim.faults import Faults
from kedge.sim.mishaps import Mishaps
from kedge.sim.seeds import Luck
from kedge.sim.world import Shape, World


def crashed_broker() -> tuple[World, BrokerId]:
    """A world in which a broker has crashed and is due to start again within 40 seconds."""
    world = World(1, Shape(brokers=4))
    world.start()
    world.run_until(2_000)
    Mishaps(world, Faults(weights={"broker crash": 1}), Luck(1, "faults")).happen()
    return world, next(b for b, machine in world.machines.items() if not machine.is_up)


def test_a_restart_reads_a_failed_directory_again() -> None:
    world, broker = crashed_broker()
    world.machines[broker].disks.failed.add("d0")
    world.run_until(60_000)
    assert world.machines[broker].is_up
    assert world.machines[broker].disks.failed == set()


def test_a_running_broker_keeps_its_failed_directory_when_an_earlier_restart_comes_due() -> None:
    world, broker = crashed_broker()
    machine = world.machines[broker]
    machine.start()
    assert machine.process is not None
    machine.process.fail_directory("d0")
    world.run_until(60_000)
    assert machine.disks.failed == {"d0"}
