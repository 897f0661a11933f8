"""The invariants of a cluster, checked at every write, request and acknowledged record.

    every replica listed as in sync has every acknowledged record            when one changes
    a leader is in its ISR, and comes from the ISR before (clean election)   at every write
    only replicas, as the writer knows them, join an ISR                     at every write
    leader, partition and controller epochs never decrease                   at every write
    only the controller of the current epoch writes as the controller        at every write
    adding and removing replicas are replicas, none is listed twice          at every write
    an epoch belongs to one controller                                       at every request
    a topic is removed only when no assigned broker has a log of it          when it is removed

Every replica that the store lists as in sync, and that is assigned, must have every acknowledged
record at its offset. That is stronger than "a consumer can still read it": whichever replica is
elected from the ISR next, nothing is lost. The rule does not apply to topics that allow unclean
elections or are being deleted.

The last member of an ISR may be a broker that a cancelled move has just removed: an ISR may contain
a broker that is no replica for a while, but no such broker joins it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

from kedge.brokers.disks import Disks
from kedge.brokers.log import ReplicaLog
from kedge.errors import InvariantViolated
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import BrokerRequest
from kedge.model.partition import NO_LEADER
from kedge.sim.cluster_metadata import MetadataObserver
from kedge.sim.expectations import Expectations
from kedge.sim.simulated_cluster import SimulatedCluster
from kedge.store.tree import Kind, Transaction
from kedge.store.znodes import CONTROLLER, CONTROLLER_EPOCH, TopicAssignment


class AckedRecords:
    """The acknowledged records of one partition, by offset."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.identities: list[int] = []
        self.seen: dict[ReplicaLog, int] = {}  # how many of them each log is known to have

    def add(self, tp: TopicPartition, offset: int, identity: int) -> None:
        """Add an acknowledged record.

        Acknowledgements need not arrive in the order of offsets: a leader that was replaced without
        its knowledge acknowledges what all of its ISR fetched before. Whether every in-sync replica
        has the record is checked by `check`.
        """
        place = bisect_left(self.offsets, offset)
        if place < len(self.offsets) and self.offsets[place] == offset:
            raise InvariantViolated(
                f"{tp}: record {identity} was acknowledged at offset {offset}, "
                f"where record {self.identities[place]} was before"
            )
        self.offsets.insert(place, offset)
        self.identities.insert(place, identity)
        if place < len(self.offsets) - 1:
            self.seen = {log: min(count, place) for log, count in self.seen.items()}

    def check(self, tp: TopicPartition, broker: BrokerId, log: ReplicaLog | None) -> None:
        """Raise InvariantViolated unless a log has every record."""
        if not self.offsets:
            return
        if log is None:
            raise InvariantViolated(
                f"{tp}: broker {broker} is in sync and has no log; "
                f"{len(self.offsets)} acknowledged records should be there"
            )
        start = self._known_start(log)
        for place in range(start, len(self.offsets)):
            offset, identity = self.offsets[place], self.identities[place]
            found = log.records[offset].identity if offset < log.end_offset else None
            if found != identity:
                raise InvariantViolated(
                    f"{tp}: acknowledged record {identity} at offset {offset} is lost on broker "
                    f"{broker}, which is in sync and has {found} there (end {log.end_offset})"
                )
        self.seen[log] = len(self.offsets)

    def _known_start(self, log: ReplicaLog) -> int:
        start = self.seen.get(log, 0)
        if log.lowest_truncation is not None:
            start = min(start, bisect_left(self.offsets, log.lowest_truncation))
            log.lowest_truncation = None
        return start


class Checkers(MetadataObserver):
    """Raises InvariantViolated at the first violation of an invariant.

    `controller_ids` are the controllers by their names on the network.
    """

    def __init__(self, cluster: SimulatedCluster, controller_ids: Mapping[str, BrokerId]) -> None:
        self.cluster = cluster
        self.controller_ids = controller_ids
        self.expectations = Expectations()
        self.acked: dict[TopicPartition, AckedRecords] = {}
        self.exempt: set[str] = set()  # topics that may lose records
        self.epoch_owners: dict[int, BrokerId] = {}
        self.checks: Counter[str] = Counter()
        self.violation: InvariantViolated | None = None

    # ---- records ----

    def record_acked(self, tp: TopicPartition, offset: int, identity: int) -> None:
        """A record was acknowledged to its producer."""
        if tp.topic not in self.exempt:
            self.acked.setdefault(tp, AckedRecords()).add(tp, offset, identity)
            self.cluster.changed[tp] = None

    def check_changed(self) -> None:
        """Check the records of partitions whose state or logs have changed."""
        changed = self.cluster.changed
        while changed:
            self.check_records(changed.popitem()[0])

    def check_records(self, tp: TopicPartition) -> None:
        """Every in-sync replica has every acknowledged record."""
        acked, state = self.acked.get(tp), self.cluster.metadata.states.get(tp)
        now = self.cluster.metadata.assignment(tp)
        if acked is None or state is None or now is None or tp.topic in self.exempt:
            return
        self.checks["in-sync replicas have every acknowledged record"] += 1
        for broker in must_hold(now, state):
            acked.check(tp, broker, self.disks(broker).find_any(tp))

    def disks(self, broker: BrokerId) -> Disks:
        """A broker's disks."""
        return self.cluster.machines[broker].disks

    def exempt_topic(self, topic: str) -> None:
        """Allow a topic to lose records from now on."""
        self.exempt.add(topic)

    # ---- the store ----

    def state_written(
        self, tp: TopicPartition, before: Leadership | None, after: Leadership
    ) -> None:
        self.checks["leader in the ISR, ISR in the replicas, epochs rise"] += 1
        self.cluster.changed[tp] = None
        now = self.cluster.metadata.assignment(tp)
        if now is None:
            self._demand(False, f"{tp} has a leadership and no assignment")
            return
        self._check_isr(tp, now, before, after)
        if before is not None:
            self._check_epochs(tp, before, after)
            self._check_clean(tp, before, after)

    def _check_isr(
        self,
        tp: TopicPartition,
        now: ReplicaAssignment,
        before: Leadership | None,
        after: Leadership,
    ) -> None:
        isr = after.isr
        self._demand(bool(isr), f"{tp} has an empty ISR")
        self._demand(len(set(isr)) == len(isr), f"{tp} lists a broker twice in its ISR {isr}")
        leader = after.leader
        self._demand(
            leader == NO_LEADER or leader in isr,
            f"{tp} is led by {leader}, which is not in its ISR {list(isr)}",
        )
        known = {
            *now.replicas,
            *(before.isr if before is not None else ()),
            *self._known_followers(tp),
        }
        foreign = sorted(set(isr) - known)
        self._demand(not foreign, f"{tp} took {foreign} into its ISR, no replicas of it")

    def _known_followers(self, tp: TopicPartition) -> set[BrokerId]:
        """The followers that a writing leader knows: it receives a new assignment only after that
        was stored."""
        machine = self.cluster.machine_of(self.cluster.metadata.writer)
        hosted = None if machine is None or machine.process is None else machine.process.hosted
        state = None if hosted is None or tp not in hosted else hosted[tp].leader_state
        return set() if state is None else set(state.followers)

    def _check_epochs(self, tp: TopicPartition, before: Leadership, after: Leadership) -> None:
        for name in ("leader_epoch", "controller_epoch", "partition_epoch"):
            was, now = getattr(before, name), getattr(after, name)
            self._demand(now >= was, f"{tp}: the {name} decreased from {was} to {now}")
        if after.leader != before.leader:
            self._demand(
                after.leader_epoch > before.leader_epoch,
                f"{tp}: the leader changed from {before.leader} to {after.leader} "
                f"within the leader epoch {after.leader_epoch}",
            )

    def _check_clean(self, tp: TopicPartition, before: Leadership, after: Leadership) -> None:
        changed = after.leader not in (before.leader, NO_LEADER)
        if changed and tp.topic not in self.exempt:
            self._demand(
                after.leader in before.isr,
                f"{tp}: {after.leader} was elected from outside the ISR {list(before.isr)}",
            )

    def topic_written(
        self, topic: str, before: TopicAssignment | None, after: TopicAssignment
    ) -> None:
        self.checks["adding and removing replicas are replicas"] += 1
        for number, now in after.partitions.items():
            tp = TopicPartition(topic, number)
            self._check_assignment(tp, now)
            self.expectations.wrote(tp, now)
            self.cluster.changed[tp] = None
        if before is not None and before.topic_id is not None:
            self._demand(
                after.topic_id == before.topic_id, f"topic {topic} got another id than it had"
            )

    def _check_assignment(self, tp: TopicPartition, now: ReplicaAssignment) -> None:
        replicas = now.replicas
        self._demand(bool(replicas), f"{tp} has no replicas")
        self._demand(len(set(replicas)) == len(replicas), f"{tp} has {replicas}: one of them twice")
        for name, some in (("adding", now.adding), ("removing", now.removing)):
            self._demand(
                set(some) <= set(replicas),
                f"{tp}: {name} {list(some)} are not all among its replicas {list(replicas)}",
            )
        self._demand(
            bool(now.target) and bool(now.origin),
            f"{tp} would be left without replicas: {now}",
        )

    def topic_gone(self, topic: str, before: TopicAssignment) -> None:
        self.checks["deleted topics have no logs left"] += 1
        for number, now in before.partitions.items():
            tp = TopicPartition(topic, number)
            self.acked.pop(tp, None)
            for broker in now.replicas:
                log = self.disks(broker).find_any(tp)
                same = log is not None and log.topic_id in ("", before.topic_id or "")
                self._demand(
                    not same, f"topic {topic} was removed while broker {broker} still has {tp}"
                )
        self.exempt.discard(topic)

    # ---- controllers ----

    def committed(self, writer: str, transaction: Transaction) -> None:
        controller = self.controller_ids.get(writer)
        if controller is None:
            return
        self.checks["only the current controller writes"] += 1
        paths: Mapping[str, Kind] = {a.path: a.kind for a in transaction.applied}
        if CONTROLLER_EPOCH in paths and CONTROLLER in paths:
            self.epoch_owners[self.cluster.metadata.epoch + 1] = controller
            return
        if CONTROLLER_EPOCH in paths and paths[CONTROLLER_EPOCH] is Kind.CREATED:
            return
        epoch = self.cluster.metadata.epoch
        owner = self.epoch_owners.get(epoch)
        self._demand(
            owner == controller,
            f"controller {controller} wrote {', '.join(paths)} in epoch {epoch} of {owner}",
        )

    def epoch_written(self, before: int, after: int) -> None:
        self._demand(
            after == before + 1 or (before, after) == (0, 0),
            f"the controller epoch went from {before} to {after}",
        )

    def request_sent(self, controller: BrokerId, request: BrokerRequest) -> None:
        """A controller sends a request to a broker."""
        epoch = request.sender.controller_epoch
        owner = self.epoch_owners.get(epoch)
        self._demand(
            owner == controller,
            f"controller {controller} sent to broker {request.to} in epoch {epoch} of {owner}",
        )

    def _demand(self, holds: bool, violation: str) -> None:
        if not holds:
            # stored as well as raised: the writer may treat it as a failed write and continue
            self.violation = self.violation or InvariantViolated(violation)
            raise self.violation


def must_hold(now: ReplicaAssignment, state: Leadership) -> list[BrokerId]:
    """The brokers that must have every acknowledged record: assigned and in sync.

    Once the whole target of a move is in sync, the leader knows only the target and waits for no
    other replica; removing replicas leave the ISR a moment later.
    """
    arrived = set(now.target) <= set(state.isr)
    needed = now.target if arrived else now.replicas
    return [broker for broker in state.isr if broker in needed]
