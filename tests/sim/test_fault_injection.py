"""FaultSettings are what they trace_line: they do not repair anything on the side."""

from kedge.model import BrokerId
from kedge.sim.checked_cluster import CheckedCluster, ClusterShape
from kedge.sim.fault_injection import FaultInjector, FaultSettings
from kedge.sim.rng import SeededRng


def crashed_broker() -> tuple[CheckedCluster, BrokerId]:
    """A cluster in which a broker has crashed and is due to start again within 40 seconds."""
    cluster = CheckedCluster(1, ClusterShape(brokers=4))
    cluster.start()
    cluster.run_until(2_000)
    FaultInjector(
        cluster, FaultSettings(weights={"broker crash": 1}), SeededRng(1, "faults")
    ).inject()
    return cluster, next(b for b, machine in cluster.machines.items() if not machine.is_up)


def test_a_restart_reads_a_failed_directory_again() -> None:
    cluster, broker = crashed_broker()
    cluster.machines[broker].disks.failed.add("d0")
    cluster.run_until(60_000)
    assert cluster.machines[broker].is_up
    assert cluster.machines[broker].disks.failed == set()


def test_a_running_broker_keeps_its_failed_directory_when_an_earlier_restart_comes_due() -> None:
    cluster, broker = crashed_broker()
    machine = cluster.machines[broker]
    machine.start()
    assert machine.process is not None
    machine.process.fail_directory("d0")
    cluster.run_until(60_000)
    assert machine.disks.failed == {"d0"}
