"""Random faults of a simulated cluster and its operator, from one generator each."""

from __future__ import annotations

from dataclasses import replace

from kedge.model import BrokerId
from kedge.sim.rng import SeededRng
from kedge.sim.watch.cluster import CATCH_UP_S, SimBroker, SimCluster
from kedge.sim.watch.store import SimStore
from kedge.sim.watch.world import GB, drawn_policy
from kedge.watch.policy import HOUR_S
from kedge.watch.proposals import WAITING, approve, reject

BROKERS_MAX, DOWN_MAX = 8, 2
WEIGHTS = {
    "broker dies": 4,
    "broker returns": 5,
    "broker joins": 2,
    "broker restarts": 3,
    "load shifts": 4,
    "foreign reassignment": 3,
    "paused run": 2,
    "intruder": 2,
    "run fails": 1,
}


class Faults:
    """Faults of the cluster."""

    def __init__(self, cluster: SimCluster, rng: SeededRng) -> None:
        self._cluster, self._rng = cluster, rng

    def inject(self) -> str:
        """One fault; returns what happened."""
        kind = self._rng.weighted(WEIGHTS)
        getattr(self, f"_{kind.replace(' ', '_')}")()
        return kind

    def _down(self) -> list[BrokerId]:
        return [b for b, each in sorted(self._cluster.brokers.items()) if not each.alive]

    def _up(self) -> list[BrokerId]:
        return [b for b, each in sorted(self._cluster.brokers.items()) if each.alive]

    def _broker_dies(self) -> None:
        if len(self._down()) < DOWN_MAX and len(self._up()) > 3:
            self._cluster.brokers[self._rng.pick(self._up())].alive = False

    def _broker_returns(self) -> None:
        if self._down():
            self._bring_up(self._rng.pick(self._down()))

    def _bring_up(self, broker: BrokerId) -> None:
        each = self._cluster.brokers[broker]
        each.alive, each.in_sync_from = True, self._cluster.now + CATCH_UP_S

    def _broker_joins(self) -> None:
        known = self._cluster.brokers
        if len(known) < BROKERS_MAX:
            new = BrokerId(max(known) + 1)
            rack = known[self._rng.pick(sorted(known))].rack
            known[new] = SimBroker(rack, 2000.0 * GB)

    def _broker_restarts(self) -> None:
        """Leaders leave it, and do not come back by themselves."""
        broker = self._rng.pick(self._up())
        self._bring_up(broker)
        self._cluster.observe()

    def _load_shifts(self) -> None:
        tps = sorted(self._cluster.partitions)
        for tp in self._rng.sample(tps, min(3, len(tps))):
            self._cluster.partitions[tp].growth = self._rng.pick([0.0, 50_000.0, 500_000.0])

    def _foreign_reassignment(self) -> None:
        cluster = self._cluster
        tp = self._rng.pick(sorted(cluster.partitions))
        each = cluster.partitions[tp]
        free = [b for b in self._up() if b not in each.replicas]
        if each.target is not None or not free:
            return
        joins = self._rng.pick(free)
        each.target, each.adding = (*each.replicas[:-1], joins), (joins,)
        each.replicas = (*each.replicas, joins)
        cluster.foreign[tp] = cluster.now + self._rng.between(600, 7200)

    def _paused_run(self) -> None:
        """A person starts a run that moves nothing; it is refused while the loop's is at work."""
        cluster = self._cluster
        if all(run.ended or run.owner is None for run in cluster.runs.values()):
            cluster.held_until = cluster.now + self._rng.between(1, 12) * HOUR_S

    def _intruder(self) -> None:
        """The same, at the moment at which the loop begins its next run."""
        self._cluster.intruder_s = self._rng.between(1, 12) * HOUR_S

    def _run_fails(self) -> None:
        for run in self._cluster.runs.values():
            if not run.ended:
                self._cluster.fail(run, "an error of the cluster")

    def stop(self) -> None:
        """No growth, no intruders; half of the dead brokers come back, the others never do."""
        self._cluster.intruder_s = 0.0
        for each in self._cluster.partitions.values():
            each.growth = 0.0
        for broker in self._down():
            if self._rng.chance(0.5):
                self._bring_up(broker)


class Operator:
    """A person who decides on proposals, and changes the policy."""

    def __init__(self, cluster: SimCluster, store: SimStore, rng: SeededRng) -> None:
        self._cluster, self._store, self._rng = cluster, store, rng

    def act(self) -> str:
        """Do one thing; returns what."""
        if self._rng.chance(0.1):
            changed = drawn_policy(self._rng)
            detect = replace(changed.detect, tolerance=self._store.policy.detect.tolerance)
            self._store.policy = replace(changed, detect=detect)
            return "changes the policy"
        waiting = [e for _, e in sorted(self._store.proposals.items()) if e.state in WAITING]
        if not waiting:
            return "nothing"
        chosen, now = self._rng.pick(waiting), self._cluster.now
        if self._rng.chance(0.2):
            self._store.replace(reject(chosen, "ann", now, "not this week"))
            return "rejects"
        if chosen.approval is None and not chosen.cost.problems:
            at_once = self._rng.chance(0.3)
            self._store.replace(approve(chosen, "ann", now, at_once=at_once))
            return "approves"
        return "nothing"

    def approve_all(self) -> None:
        """Approve whatever waits for it, an hour after it was made at the soonest."""
        for _, each in sorted(self._store.proposals.items()):
            old_enough = self._cluster.now - each.made_at >= HOUR_S
            if each.state in WAITING and each.approval is None and old_enough:
                self._store.replace(approve(each, "ann", self._cluster.now))
