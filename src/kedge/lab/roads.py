"""The way of data: disks, network cards and throttles, shared by all copies under way.

Ordinary traffic is not a transfer; it takes its part of each disk and card off what copies can use
(`use_by_traffic`). A copy between brokers is slowed down by a throttle when the topic lists the
replica and the broker has a rate (KIP-73); one between directories by
`replica.alter.log.dirs.io.max.bytes.per.second` (KIP-113).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kedge.brokers.around import Fetch, Fetched
from kedge.lab.settings import LabSettings
from kedge.model import BrokerId, TopicPartition
from kedge.plan.throttles import (
    BROKER_THROTTLES,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIR_RATE,
)
from kedge.sim.arrivals import Arrivals
from kedge.sim.clock import Clock
from kedge.sim.transfers import Resource, Transfer, Transfers
from kedge.sim.truth import Truth
from kedge.store.znodes import broker_config_path

UNLIMITED = 1e15
LEFT_FOR_COPIES = 0.05  # of a disk or a card, however busy it is with traffic


class Roads:
    """All copies under way, and what they share."""

    def __init__(self, clock: Clock, settings: LabSettings, truth: Truth) -> None:
        self.transfers = Transfers(clock)
        self.slowness: dict[BrokerId, float] = {}  # of disks; one that is not here is as ever
        self.arrivals = Arrivals(self.transfers)
        self._settings = settings
        self._truth = truth
        self._directories: dict[BrokerId, tuple[str, ...]] = {}
        self._traffic: Mapping[Resource, float] = {}

    def build(self, broker: BrokerId, directories: tuple[str, ...]) -> None:
        """A broker's disks and cards."""
        self._directories[broker] = directories
        self._set_hardware(broker)
        for rate in BROKER_THROTTLES:
            self.transfers.set_capacity((rate, broker), self._throttle(broker, rate))

    # ---- what things carry ----

    def set_throttles(self) -> None:
        """Take in the brokers' rates as they are now, also for what is under way."""
        for broker in self._directories:
            for rate in BROKER_THROTTLES:
                self.transfers.set_capacity((rate, broker), self._throttle(broker, rate))

    def slow_down(self, broker: BrokerId, factor: float) -> None:
        """Make a broker's disks so many times slower; 1 makes them as they were."""
        self.slowness[broker] = factor
        if factor == 1:
            del self.slowness[broker]
        self._set_hardware(broker)

    def use_by_traffic(self, bytes_per_second: Mapping[Resource, float]) -> None:
        """Say what ordinary traffic takes of each disk and card."""
        self._traffic = bytes_per_second
        for broker in self._directories:
            self._set_hardware(broker)

    def _set_hardware(self, broker: BrokerId) -> None:
        disk = self._settings.disk_rate / self.slowness.get(broker, 1.0)
        for directory in self._directories[broker]:
            self._set_less_traffic(("disk", broker, directory), disk)
        for card in ("in", "out"):
            self._set_less_traffic((card, broker), self._settings.link_rate)

    def _set_less_traffic(self, resource: Resource, whole: float) -> None:
        left = max(whole - self._traffic.get(resource, 0.0), whole * LEFT_FOR_COPIES)
        self.transfers.set_capacity(resource, left)

    def _throttle(self, broker: BrokerId, rate: str) -> float:
        everywhere = self._truth.configs.get(broker_config_path(None), {})
        text = self._truth.broker_config(broker).get(rate) or everywhere.get(rate)
        # a rate of nothing would never end; Kafka's smallest useful one is a byte per second
        return UNLIMITED if text is None else max(float(text), 1.0)

    # ---- copies ----

    def start(
        self, fetch: Fetch, leader: BrokerId, fetched: Fetched, arrived: Callable[[], None]
    ) -> Callable[[], object]:
        """Copy records from a leader to a follower; how to stop that."""
        key = (fetch.follower, fetch.tp)
        path = self._path(fetch, leader, fetched.directory)
        return self.arrivals.begin(key, fetched.size_bytes, path, arrived)

    def start_between(
        self,
        broker: BrokerId,
        tp: TopicPartition,
        directories: tuple[str, str],
        size_bytes: float,
        arrived: Callable[[], None],
    ) -> Transfer:
        """Copy a replica from one directory of a broker to another."""
        path: list[Resource] = [("disk", broker, name) for name in directories]
        path.append((LOG_DIR_RATE, broker))
        return self.transfers.start(size_bytes, path, arrived)

    def _path(self, fetch: Fetch, leader: BrokerId, directory: str) -> list[Resource]:
        follower, tp = fetch.follower, fetch.tp
        path: list[Resource] = [
            ("disk", leader, directory),
            ("out", leader),
            ("in", follower),
            ("disk", follower, fetch.directory),
        ]
        settings = self._truth.topic_config(tp.topic)
        for names, rate, broker in (
            (LEADER_REPLICAS, LEADER_RATE, leader),
            (FOLLOWER_REPLICAS, FOLLOWER_RATE, follower),
        ):
            listed = settings.get(names, "").split(",")
            if "*" in listed or f"{tp.partition}:{broker}" in listed:
                path.append((rate, broker))
        return path
