"""The cluster and the policy of a run, drawn from its seed."""

from __future__ import annotations

from kedge.execution.windows import parse_window
from kedge.model import BrokerId, TopicPartition
from kedge.sim.rng import SeededRng
from kedge.sim.watch.cluster import SimBroker, SimCluster, SimPartition
from kedge.watch.policy import HOUR_S, Budget, Detection, Kind, Mode, Policy

START = 1_774_656_000.0  # 2026-03-28, the day before clocks change in Europe
SAMPLE_S = 1800.0
GB = 10**9
WINDOWS = ("22:00-06:00[Europe/Berlin]", "01:00-05:00", "08:00-20:00[America/New_York]")


def drawn_cluster(rng: SeededRng) -> SimCluster:
    """Four to six brokers, with racks or without, and partitions on them."""
    cluster = SimCluster(START)
    count, racks = rng.between(4, 6), rng.pick([0, 2, 3])
    for broker in range(1, count + 1):
        cluster.brokers[BrokerId(broker)] = SimBroker(rack_of(broker, racks), 2000.0 * GB)
    factor = rng.between(2, 3)
    for topic in ("logs", "orders"):
        for number in range(rng.between(3, 7)):
            cluster.partitions[TopicPartition(topic, number)] = drawn_partition(
                cluster, rng, factor
            )
    return cluster


def rack_of(broker: int, racks: int) -> str | None:
    """The racks of brokers take turns."""
    return f"rack{broker % racks}" if racks else None


def drawn_partition(cluster: SimCluster, rng: SeededRng, factor: int) -> SimPartition:
    """A partition on brokers of different racks, as far as there are racks."""
    replicas: list[BrokerId] = []
    for broker in rng.sample(sorted(cluster.brokers), len(cluster.brokers)):
        used = {cluster.brokers[b].rack for b in replicas}
        racks = {each.rack for each in cluster.brokers.values()}
        rack = cluster.brokers[broker].rack
        if len(replicas) < factor and (rack is None or rack not in used or used == racks):
            replicas.append(broker)
    size, growth = rng.between(10, 150) * GB, rng.pick([0, 0, 20_000, 200_000])
    return SimPartition(tuple(replicas), float(size), float(growth), replicas[0])


def drawn_policy(rng: SeededRng) -> Policy:
    """A policy with small times, so that a few days see everything."""
    budget = Budget(
        bytes_per_day=rng.pick([None, 200 * GB, 500 * GB, 2000 * GB]),
        moves_per_day=rng.pick([None, None, 6, 20]),
        windows=rng.pick([(), (), tuple(map(parse_window, rng.sample(WINDOWS, 1)))]),
        kinds=rng.pick([frozenset(Kind), frozenset(Kind), frozenset({Kind.REPAIR, Kind.FILL})]),
    )
    detect = Detection(
        broker_down_for_s=rng.pick([HOUR_S, 3 * HOUR_S]),
        under_replicated_for_s=HOUR_S,
        tolerance=rng.pick([0.2, 0.4]),
        windows=3,
        window_s=HOUR_S,
        new_broker_after_s=rng.pick([HOUR_S, 4 * HOUR_S]),
        leaders_away_for_s=HOUR_S,
    )
    return Policy(
        mode=rng.weighted({Mode.AUTO: 6, Mode.APPROVE: 3, Mode.PROPOSE: 1}),
        sample_every_s=SAMPLE_S,
        cool_down_s=rng.pick([6 * HOUR_S, 24 * HOUR_S]),
        expires_s=48 * HOUR_S,
        quiet_after_rejection_s=12 * HOUR_S,
        throttle=50_000_000,
        budget=budget,
        detect=detect,
    )
