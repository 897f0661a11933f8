"""Mutations of the controller that violate one rule each, to test the checkers.

A mutation changes the effects or the store of a controller; a run with it must report a violation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kedge.controller.effects import Effect, StoreAssignment, WriteLeaderships
from kedge.model import Leadership, TopicPartition
from kedge.sim.checked_cluster import CheckedCluster
from kedge.store.port import Answer, Check, Listener, Multi, Request, Store


class Mutation:
    """The base class, which changes nothing."""

    def effect(self, cluster: CheckedCluster, effect: Effect) -> Effect:
        """The effect to execute instead."""
        del cluster
        return effect

    def store(self, store: Store) -> Store:
        """The store to use instead."""
        return store


class ElectOutsideIsr(Mutation):
    """Elects a live replica outside the ISR if there is one."""

    def effect(self, cluster: CheckedCluster, effect: Effect) -> Effect:
        if not isinstance(effect, WriteLeaderships):
            return effect
        wanted = {tp: self._outside_isr(cluster, tp, now) for tp, now in effect.wanted.items()}
        return replace(effect, wanted=wanted)

    def _outside_isr(
        self, cluster: CheckedCluster, tp: TopicPartition, now: Leadership
    ) -> Leadership:
        before = cluster.metadata.states.get(tp)
        assignment = cluster.metadata.assignment(tp)
        if before is None or assignment is None or now.leader == before.leader:
            return now
        live = cluster.registered()
        for broker in assignment.replicas:
            if broker in live and broker not in before.isr:
                return now._replace(leader=broker, isr=(broker,))
        return now


class ForgetRemoving(Mutation):
    """Does not store the removing replicas."""

    def effect(self, cluster: CheckedCluster, effect: Effect) -> Effect:
        del cluster
        if not isinstance(effect, StoreAssignment):
            return effect
        kept = {tp: replace(a, removing=()) for tp, a in effect.assignments.items()}
        return replace(effect, assignments=kept)


class KeepRemoving(Mutation):
    """Never stores the end of a move."""

    def effect(self, cluster: CheckedCluster, effect: Effect) -> Effect:
        if not isinstance(effect, StoreAssignment):
            return effect
        stored = cluster.metadata.topics.get(effect.topic)
        kept = dict(effect.assignments)
        for tp, wanted in kept.items():
            before = None if stored is None else stored.partitions.get(tp.partition)
            if before is not None and before.in_progress and wanted.replicas == before.target:
                kept[tp] = before
        return replace(effect, assignments=kept)


class SkipFencing(Mutation):
    """Writes without a check of the controller epoch."""

    def store(self, store: Store) -> Store:
        return UnfencedStore(store)


class KeepEpoch(Mutation):
    """Elects leaders without a higher leader epoch."""

    def effect(self, cluster: CheckedCluster, effect: Effect) -> Effect:
        if not isinstance(effect, WriteLeaderships):
            return effect
        states = cluster.metadata.states
        wanted = {
            tp: now._replace(leader_epoch=states[tp].leader_epoch) if tp in states else now
            for tp, now in effect.wanted.items()
        }
        return replace(effect, wanted=wanted)


class UnfencedStore:
    """A store that accepts every version of the controller epoch."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    def listen(self, listener: Listener) -> None:
        self._inner.listen(listener)

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        return self._inner.batch([_unchecked(request) for request in requests])

    def renew_session(self) -> None:
        self._inner.renew_session()

    def close(self) -> None:
        self._inner.close()


def _unchecked(request: Request) -> Request:
    if not isinstance(request, Multi):
        return request
    writes = [Check(w.path) if isinstance(w, Check) else w for w in request.writes]
    return Multi(tuple(writes))


MUTATIONS: dict[str, Mutation] = {
    "": Mutation(),
    "elect_outside_isr": ElectOutsideIsr(),
    "forget_removing": ForgetRemoving(),
    "keep_removing": KeepRemoving(),
    "keep_epoch": KeepEpoch(),
    "skip_fencing": SkipFencing(),
}
