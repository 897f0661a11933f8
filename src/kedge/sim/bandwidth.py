"""Models disks, network links and throttles as resources shared by all copies of replicas.

A copy from a leader to a follower uses the leader's disk and outgoing link, and the follower's
incoming link and disk. A replication throttle is one more resource, used when the topic lists the
replica and the broker has a rate (KIP-73). A copy between two directories of a broker uses both
disks and `replica.alter.log.dirs.io.max.bytes.per.second` (KIP-113).

Producer and consumer traffic is not a copy: it reduces the capacity of each disk and link
(`set_traffic`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kedge.brokers.environment import FetchRequest, FetchResponse
from kedge.model import BrokerId, TopicPartition
from kedge.plan.throttles import (
    BROKER_THROTTLES,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIR_RATE,
)
from kedge.sim.clock import Clock
from kedge.sim.cluster_metadata import ClusterMetadata
from kedge.sim.transfers import ReplicaCopies, Resource, Transfer, Transfers

UNLIMITED = 1e15
COPY_FRACTION_MIN = 0.05  # of a disk or link that copies get, however much traffic it carries


class Hardware(NamedTuple):
    """Bytes per second of each log directory, and of each link in each direction."""

    disk_rate: float = 200e6
    link_rate: float = 125e6


class BandwidthModel:
    """All copies in progress, and the resources that they share."""

    def __init__(self, clock: Clock, metadata: ClusterMetadata, hardware: Hardware) -> None:
        self.transfers = Transfers(clock)
        self.copies = ReplicaCopies(self.transfers)
        self.slowdown: dict[BrokerId, float] = {}  # factor by which a broker's disks are slower
        self._metadata = metadata
        self._hardware = hardware
        self._directories: dict[BrokerId, tuple[str, ...]] = {}
        self._disk_rates: dict[tuple[BrokerId, str], float] = {}  # where it differs from hardware
        self._traffic: Mapping[Resource, float] = {}

    def add_broker(self, broker: BrokerId, directories: tuple[str, ...]) -> None:
        """Register a broker's disks, links and throttles."""
        self._directories[broker] = directories
        self._set_hardware(broker)
        self._set_throttles(broker)

    # ---- capacities ----

    def set_throttles(self) -> None:
        """Apply the current throttle configs, also to copies in progress."""
        for broker in self._directories:
            self._set_throttles(broker)

    def slow_down(self, broker: BrokerId, factor: float) -> None:
        """Divide the rate of a broker's disks by a factor; 1 restores it."""
        self.slowdown[broker] = factor
        if factor == 1:
            del self.slowdown[broker]
        self._set_hardware(broker)

    def set_disk_rate(self, broker: BrokerId, directory: str, rate: float | None) -> None:
        """Set the rate of one directory; None restores that of the hardware."""
        if rate is None:
            self._disk_rates.pop((broker, directory), None)
        else:
            self._disk_rates[broker, directory] = rate
        self._set_hardware(broker)

    def set_traffic(self, bytes_per_second: Mapping[Resource, float]) -> None:
        """Set the producer and consumer traffic of each disk and link."""
        self._traffic = bytes_per_second
        for broker in self._directories:
            self._set_hardware(broker)

    def _set_hardware(self, broker: BrokerId) -> None:
        usual = self._hardware.disk_rate / self.slowdown.get(broker, 1.0)
        for directory in self._directories[broker]:
            rate = self._disk_rates.get((broker, directory), usual)
            self._set_less_traffic(("disk", broker, directory), rate)
        for direction in ("out", "in"):
            self._set_less_traffic((direction, broker), self._hardware.link_rate)

    def _set_less_traffic(self, resource: Resource, rate: float) -> None:
        left = max(rate - self._traffic.get(resource, 0.0), rate * COPY_FRACTION_MIN)
        self.transfers.set_capacity(resource, left)

    def _set_throttles(self, broker: BrokerId) -> None:
        configs, defaults = self._metadata.broker_config(broker), self._metadata.broker_config(None)
        for name in BROKER_THROTTLES:
            text = configs.get(name) or defaults.get(name)
            # a rate of 0 would never finish; Kafka's smallest useful rate is 1 byte per second
            rate = UNLIMITED if text is None else max(float(text), 1.0)
            self.transfers.set_capacity((name, broker), rate)

    # ---- copies ----

    def copy_to_follower(
        self,
        fetch: FetchRequest,
        leader: BrokerId,
        response: FetchResponse,
        arrived: Callable[[], None],
    ) -> Callable[[], object]:
        """Start to copy records from a leader to a follower; returns the function that stops it."""
        key = (fetch.follower, fetch.tp)
        path = self._replication_path(fetch, leader, response.directory)
        return self.copies.begin(key, response.size_bytes, path, arrived)

    def copy_to_directory(
        self,
        broker: BrokerId,
        directories: tuple[str, str],
        size_bytes: float,
        arrived: Callable[[], None],
    ) -> Transfer:
        """Start to copy a replica from one directory of a broker to another."""
        path: list[Resource] = [("disk", broker, name) for name in directories]
        path.append((LOG_DIR_RATE, broker))
        return self.transfers.start(size_bytes, path, arrived)

    def arrived_bytes(self, broker: BrokerId, tp: TopicPartition) -> int:
        """Bytes that were copied to a replica and are not in its log yet."""
        return self.copies.arrived_bytes(broker, tp)

    def _replication_path(
        self, fetch: FetchRequest, leader: BrokerId, directory: str
    ) -> list[Resource]:
        follower, tp = fetch.follower, fetch.tp
        path: list[Resource] = [
            ("disk", leader, directory),
            ("out", leader),
            ("in", follower),
            ("disk", follower, fetch.directory),
        ]
        configs = self._metadata.topic_config(tp.topic)
        for names, rate, broker in (
            (LEADER_REPLICAS, LEADER_RATE, leader),
            (FOLLOWER_REPLICAS, FOLLOWER_RATE, follower),
        ):
            listed = configs.get(names, "").split(",")
            if "*" in listed or f"{tp.partition}:{broker}" in listed:
                path.append((rate, broker))
        return path
