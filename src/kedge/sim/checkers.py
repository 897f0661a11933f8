"""The rules that must hold after every step, whatever goes wrong.

    every replica listed as in sync has every acknowledged record            when one changes
    a leader is in its ISR, and comes from the ISR before (clean election)   at every write
    nobody joins an ISR who is not a replica, as far as the writer knows     at every write
    leader, partition and controller epochs never fall                       at every write
    only the controller of the current epoch writes as the controller        at every write
    adding and removing replicas are replicas, none is listed twice          at every write
    an epoch belongs to one controller                                       at every request
    a topic goes only when no assigned broker has anything of it left        when it is removed

The last member of an ISR may be a broker that a cancelled move has just dropped: an ISR may hold
strangers for a while, but it never takes one in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kedge.errors import InvariantViolated
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import BrokerRequest
from kedge.model.partition import NO_LEADER
from kedge.sim.expectations import Expectations
from kedge.sim.records import Acked
from kedge.sim.truth import Observer
from kedge.store.tree import Kind, Transaction
from kedge.store.znodes import CONTROLLER, CONTROLLER_EPOCH, TopicAssignment

if TYPE_CHECKING:
    from kedge.brokers.disks import Disks
    from kedge.sim.world import World


class Checkers(Observer):
    """Watches a world from outside and raises InvariantViolated at the first broken rule."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.expectations = Expectations()
        self.acked: dict[TopicPartition, Acked] = {}
        self.exempt: set[str] = set()  # topics that may lose records
        self.epoch_owners: dict[int, BrokerId] = {}
        self.checks: Counter[str] = Counter()
        self.violation: InvariantViolated | None = None

    # ---- records ----

    def record_acked(self, tp: TopicPartition, offset: int, identity: int) -> None:
        """A producer was told that its record is safe."""
        if tp.topic not in self.exempt:
            self.acked.setdefault(tp, Acked()).add(tp, offset, identity)
            self.world.touched[tp] = None

    def check_touched(self) -> None:
        """Judge the records of partitions that something has happened to."""
        touched = self.world.touched
        while touched:
            self.check_records(touched.popitem()[0])

    def check_records(self, tp: TopicPartition) -> None:
        """Every in-sync replica has every acknowledged record."""
        acked, state = self.acked.get(tp), self.world.truth.states.get(tp)
        now = self.world.truth.assignment(tp)
        if acked is None or state is None or now is None or tp.topic in self.exempt:
            return
        self.checks["in-sync replicas have every acknowledged record"] += 1
        for broker in must_hold(now, state):
            acked.check(tp, broker, self.disks(broker).remnant(tp))

    def disks(self, broker: BrokerId) -> Disks:
        """A broker's disks."""
        return self.world.machines[broker].disks

    def exempt_topic(self, topic: str) -> None:
        """From now on this topic may lose records."""
        self.exempt.add(topic)

    # ---- the store ----

    def state_written(
        self, tp: TopicPartition, before: Leadership | None, after: Leadership
    ) -> None:
        self.checks["leader in the ISR, ISR in the replicas, epochs rise"] += 1
        self.world.touched[tp] = None
        now = self.world.truth.assignment(tp)
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
        known = {*now.replicas, *(before.isr if before is not None else ()), *self._told(tp)}
        strangers = sorted(set(isr) - known)
        self._demand(not strangers, f"{tp} took {strangers} into its ISR, no replicas of it")

    def _told(self, tp: TopicPartition) -> set[BrokerId]:
        """The followers that a leader knows of that writes for itself: it is not told of another
        assignment until after that was stored."""
        machine = self.world.machine_of(self.world.truth.writer)
        hosted = None if machine is None or machine.process is None else machine.process.hosted
        leading = None if hosted is None or tp not in hosted else hosted[tp].leading
        return set() if leading is None else set(leading.followers)

    def _check_epochs(self, tp: TopicPartition, before: Leadership, after: Leadership) -> None:
        for name in ("leader_epoch", "controller_epoch", "partition_epoch"):
            was, now = getattr(before, name), getattr(after, name)
            self._demand(now >= was, f"{tp}: the {name} fell from {was} to {now}")
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
            self.world.touched[tp] = None
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
            f"{tp} would be left with nothing: {now}",
        )

    def topic_gone(self, topic: str, before: TopicAssignment) -> None:
        self.checks["deleted means gone"] += 1
        for number, now in before.partitions.items():
            tp = TopicPartition(topic, number)
            self.acked.pop(tp, None)
            for broker in now.replicas:
                log = self.disks(broker).remnant(tp)
                same = log is not None and log.topic_id in ("", before.topic_id or "")
                self._demand(
                    not same, f"topic {topic} was removed while broker {broker} still has {tp}"
                )
        self.exempt.discard(topic)

    # ---- controllers ----

    def committed(self, writer: str, transaction: Transaction) -> None:
        controller = self.world.controller_ids.get(writer)
        if controller is None:
            return
        self.checks["only the current controller writes"] += 1
        paths: Mapping[str, Kind] = {a.path: a.kind for a in transaction.applied}
        if CONTROLLER_EPOCH in paths and CONTROLLER in paths:
            self.epoch_owners[self.world.truth.epoch + 1] = controller
            return
        if CONTROLLER_EPOCH in paths and paths[CONTROLLER_EPOCH] is Kind.CREATED:
            return
        epoch = self.world.truth.epoch
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
        """A controller speaks to a broker."""
        epoch = request.sender.controller_epoch
        owner = self.epoch_owners.get(epoch)
        self._demand(
            owner == controller,
            f"controller {controller} spoke to broker {request.to} in epoch {epoch} of {owner}",
        )

    def _demand(self, holds: bool, otherwise: str) -> None:
        if not holds:
            # kept as well as raised: whoever wrote may take it for a failed write and go on
            self.violation = self.violation or InvariantViolated(otherwise)
            raise self.violation


def must_hold(now: ReplicaAssignment, state: Leadership) -> list[BrokerId]:
    """The brokers that must have every acknowledged record: assigned and in sync.

    Once the whole target of a move is in sync, the leader is told of the target alone and waits for
    nobody else; those on their way out leave the ISR a moment later.
    """
    arrived = set(now.target) <= set(state.isr)
    needed = now.target if arrived else now.replicas
    return [broker for broker in state.isr if broker in needed]
