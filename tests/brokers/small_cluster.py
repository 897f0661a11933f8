"""The smallest cluster that simulated brokers can live in: every message takes a millisecond."""

from __future__ import annotations

from collections.abc import Callable

from kedge.brokers.disks import Disks
from kedge.brokers.environment import FetchRequest, FetchResponse, IsrChange, IsrDecision
from kedge.brokers.simulated_broker import SimulatedBroker
from kedge.model import Broker, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import (
    BrokerAnswer,
    LeaderAndIsr,
    LeaderAndIsrEntry,
    Sender,
    StopEntry,
    StopReplica,
    UpdateMetadata,
)
from kedge.sim.clock import Clock

TP = TopicPartition("orders", 0)
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class SmallCluster:
    """Some brokers, one partition, and whoever decides about ISR changes."""

    def __init__(self, *ids: int) -> None:
        self.clock = Clock()
        self.ids = tuple(BrokerId(b) for b in ids)
        self.brokers: dict[BrokerId, SimulatedBroker] = {}
        self.disks = {b: Disks() for b in self.ids}
        self.changes: list[IsrChange] = []
        self.decide: Callable[[IsrChange], IsrDecision | None] = accept
        self.min_isr = 1
        self.announced: list[BrokerId] = []
        for broker in self.ids:
            self.start(broker)

    def start(self, broker: int) -> SimulatedBroker:
        """Start (again) a broker on its disks."""
        me = BrokerId(broker)
        if me in self.brokers:
            self.brokers[me].halt()
        started = SimulatedBroker(Broker(me), self.disks[me], Here(self, me))
        started.handle(self.metadata(me))
        self.brokers[me] = started
        return started

    def __getitem__(self, broker: int) -> SimulatedBroker:
        return self.brokers[BrokerId(broker)]

    def metadata(self, to: BrokerId, *, live: tuple[BrokerId, ...] | None = None) -> UpdateMetadata:
        alive = tuple(Broker(b) for b in (self.ids if live is None else live))
        return UpdateMetadata(to, 8, sender(), {}, {}, alive)

    def lead(
        self,
        leader: int,
        *,
        epoch: int,
        isr: tuple[int, ...] | None = None,
        partition_epoch: int | None = None,
        to: tuple[int, ...] | None = None,
    ) -> dict[int, BrokerAnswer]:
        """Send LeaderAndIsr for the one partition; all brokers are its replicas."""
        answers: dict[int, BrokerAnswer] = {}
        for broker in self.ids if to is None else to:
            request = lead_request(
                broker,
                self.ids,
                leader,
                epoch=epoch,
                isr=self.ids if isr is None else isr,
                partition_epoch=epoch if partition_epoch is None else partition_epoch,
            )
            answers[broker] = self[broker].handle(request)
        return answers

    def produce(self, leader: int, identity: int, size_bytes: int = 1) -> list[int | None]:
        """Produce with acks=all; what comes back will be in the list."""
        acked: list[int | None] = []
        if not self[leader].produce(TP, identity, size_bytes, acked.append):
            acked.append(None)
        return acked

    def identities(self, broker: int) -> list[int]:
        log = self.disks[BrokerId(broker)].find(TP)
        return [] if log is None else [record.identity for record in log.records]

    def run(self, ms: int = 100) -> None:
        self.clock.run_until(self.clock.now_ms + ms)


class Here:
    """The surroundings of one broker."""

    def __init__(self, cluster: SmallCluster, me: BrokerId) -> None:
        self.cluster = cluster
        self.me = me

    @property
    def now_ms(self) -> int:
        return self.cluster.clock.now_ms

    def after(self, delay_ms: int, action: Callable[[], object]) -> object:
        return self.cluster.clock.after(delay_ms, action)

    def fetch(
        self,
        leader: BrokerId,
        fetch: FetchRequest,
        answered: Callable[[FetchResponse], None],
        failed: Callable[[], None],
    ) -> None:
        def arrive() -> None:
            there = self.cluster.brokers[leader]
            if there.halted:
                failed()
            else:
                there.serve_fetch(fetch, back)

        def back(got: FetchResponse) -> None:
            self.after(1, lambda: answered(got))

        self.after(1, arrive)

    def propose_isr(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        self.cluster.changes.append(change)
        decision = self.cluster.decide(change)
        self.after(1, failed if decision is None else lambda: answered(decision))

    def announce_failed_directory(self) -> None:
        self.cluster.announced.append(self.me)

    def min_isr(self, topic: str) -> int:
        assert topic
        return self.cluster.min_isr


def accept(change: IsrChange) -> IsrDecision:
    """The controller that agrees to everything."""
    epoch = change.partition_epoch + 1
    return IsrDecision(isr=change.isr, leader_epoch=change.leader_epoch, partition_epoch=epoch)


def sender(*, controller_epoch: int = 1, broker_epoch: int = -1) -> Sender:
    return Sender(BrokerId(1000), controller_epoch, broker_epoch)


def lead_request(
    to: int,
    replicas: tuple[int, ...],
    leader: int,
    *,
    epoch: int,
    isr: tuple[int, ...],
    partition_epoch: int = 0,
    is_new: bool = False,
    topic_id: str = TOPIC_ID,
    spoken_by: Sender | None = None,
) -> LeaderAndIsr:
    leadership = Leadership(BrokerId(leader), ids(isr), epoch, partition_epoch, 1)
    entry = LeaderAndIsrEntry(leadership, ReplicaAssignment(ids(replicas)), is_new)
    names = {TP.topic: topic_id} if topic_id else {}
    return LeaderAndIsr(BrokerId(to), 7, spoken_by or sender(), {TP: entry}, names, ())


def stop_request(to: int, *, epoch: int, delete: bool, spoken_by: Sender | None = None):
    return StopReplica(BrokerId(to), 4, spoken_by or sender(), {TP: StopEntry(epoch, delete)})


def ids(numbers: tuple[int, ...]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))
