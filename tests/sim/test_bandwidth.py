"""Throttles apply to copies in progress, as in Kafka."""

from kedge.brokers.environment import FetchRequest, FetchResponse
from kedge.brokers.log import Record
from kedge.model import BrokerId, TopicPartition
from kedge.plan.throttles import FOLLOWER_RATE, FOLLOWER_REPLICAS
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.topics import CreateRequest

TP = TopicPartition("t", 0)
LEADER, FOLLOWER = BrokerId(1), BrokerId(2)
MB = 10**6


def copying_cluster() -> tuple[ClusterUnderTest, list[int]]:
    """A cluster that copies 1000 MB to broker 2, and the list that gets the time of arrival."""
    cluster = ClusterUnderTest(1, ClusterShape())
    cluster.start()
    cluster.run_until(2_000)
    cluster.workload.topics.create_topic(CreateRequest("t", assignments={0: (LEADER, FOLLOWER)}))
    cluster.workload.operator.set_topic("t", {FOLLOWER_REPLICAS: f"0:{FOLLOWER}"})
    fetch = FetchRequest(TP, FOLLOWER, 0, 0, -1, "d0")
    response = FetchResponse(records=(Record(1, 0, 1000 * MB, 0),), directory="d0")
    arrived: list[int] = []
    began_ms = cluster.clock.now_ms
    cluster.bandwidth.copy_to_follower(
        fetch, LEADER, response, lambda: arrived.append(cluster.clock.now_ms - began_ms)
    )
    return cluster, arrived


def test_a_throttle_that_is_set_during_a_copy_slows_it_down() -> None:
    cluster, arrived = copying_cluster()
    cluster.run_until(cluster.clock.now_ms + 4_000)  # 500 MB at 125 MB/s
    cluster.workload.operator.set_broker(FOLLOWER, {FOLLOWER_RATE: str(50 * MB)})
    cluster.run_until(cluster.clock.now_ms + 20_000)
    assert arrived == [14_000]


def test_a_throttle_that_is_removed_during_a_copy_no_longer_slows_it_down() -> None:
    cluster, arrived = copying_cluster()
    cluster.workload.operator.set_broker(FOLLOWER, {FOLLOWER_RATE: str(50 * MB)})
    cluster.run_until(cluster.clock.now_ms + 10_000)
    assert arrived == []
    configs = cluster.metadata.broker_config(FOLLOWER)
    cluster.workload.operator.unset(f"brokers/{FOLLOWER}", configs, (FOLLOWER_RATE,))
    cluster.run_until(cluster.clock.now_ms + 10_000)
    assert arrived == [14_000]


def test_a_slow_directory_is_restored() -> None:
    cluster, arrived = copying_cluster()
    cluster.bandwidth.set_disk_rate(FOLLOWER, "d0", 25 * MB)
    cluster.run_until(cluster.clock.now_ms + 20_000)  # 500 MB
    cluster.bandwidth.set_disk_rate(FOLLOWER, "d0", None)
    cluster.run_until(cluster.clock.now_ms + 10_000)
    assert arrived == [24_000]
