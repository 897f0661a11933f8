"""Faults have no side effects, and none happens after faults have stopped."""

from kedge.model import BrokerId
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.fault_injection import FaultInjector, FaultSettings
from kedge.sim.rng import SeededRng
from kedge.store.port import GetData
from kedge.store.znodes import CONTROLLER


def crashed_broker() -> tuple[ClusterUnderTest, BrokerId]:
    """A cluster in which a broker has crashed and is due to start again within 40 seconds."""
    cluster = ClusterUnderTest(1, ClusterShape(brokers=4))
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


def test_no_armed_fault_happens_after_faults_have_stopped() -> None:
    cluster = ClusterUnderTest(1, ClusterShape())
    cluster.start()
    cluster.run_until(2_000)
    kinds = ("controller paused and replaced", "store reply lost", "controller crash at a yield")
    weights: dict[str, int] = dict.fromkeys(kinds, 1)
    injector = FaultInjector(cluster, FaultSettings(weights=weights), SeededRng(1, "faults"))
    for _ in range(20):
        injector.inject()
    active = cluster.active()
    assert active is not None
    assert set(cluster.coverage.faults) == set(kinds)
    assert active.yields_until_pause is not None
    injector.stop()
    assert active.yields_until_pause is None
    assert active.yields_until_crash is None
    assert active.store is not None
    assert len(active.store.batch([GetData(CONTROLLER)])) == 1  # the reply is not lost
