"""Rules broken on purpose, to see whether the checkers notice.

A checker that never fires proves nothing. Each of these stands between a controller and the world
and makes it do one thing wrong; a run with it must fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kedge.controller.effects import Effect, StoreAssignment, WriteLeaderships
from kedge.model import Leadership, TopicPartition
from kedge.store.port import Answer, Check, Listener, Multi, Request, Store

if TYPE_CHECKING:
    from kedge.sim.candidates import NamedStore
    from kedge.sim.world import World


class Honest:
    """Breaks nothing."""

    def effect(self, world: World, effect: Effect) -> Effect:
        """The effect to carry out instead."""
        del world
        return effect

    def store(self, store: NamedStore) -> Store:
        """The store to use instead."""
        return store


class ElectOutsideIsr(Honest):
    """Now and then elects a live replica that is not in sync."""

    def effect(self, world: World, effect: Effect) -> Effect:
        if not isinstance(effect, WriteLeaderships):
            return effect
        wanted = {tp: self._misled(world, tp, now) for tp, now in effect.wanted.items()}
        return replace(effect, wanted=wanted)

    def _misled(self, world: World, tp: TopicPartition, now: Leadership) -> Leadership:
        before = world.truth.states.get(tp)
        assignment = world.truth.assignment(tp)
        if before is None or assignment is None or now.leader == before.leader:
            return now
        live = world.registered()
        for broker in assignment.replicas:
            if broker in live and broker not in before.isr:
                return now._replace(leader=broker, isr=(broker,))
        return now


class ForgetRemoving(Honest):
    """Does not store which replicas are to be removed."""

    def effect(self, world: World, effect: Effect) -> Effect:
        del world
        if not isinstance(effect, StoreAssignment):
            return effect
        kept = {tp: replace(a, removing=()) for tp, a in effect.assignments.items()}
        return replace(effect, assignments=kept)


class KeepRemoving(Honest):
    """Never stores that a move is over."""

    def effect(self, world: World, effect: Effect) -> Effect:
        if not isinstance(effect, StoreAssignment):
            return effect
        stored = world.truth.topics.get(effect.topic)
        kept = dict(effect.assignments)
        for tp, wanted in kept.items():
            before = None if stored is None else stored.partitions.get(tp.partition)
            if before is not None and before.in_progress and wanted.replicas == before.target:
                kept[tp] = before
        return replace(effect, assignments=kept)


class SkipFencing(Honest):
    """Writes whether or not the role is still held."""

    def store(self, store: NamedStore) -> Store:
        return Unfenced(store)


class KeepEpoch(Honest):
    """Elects without raising the leader epoch."""

    def effect(self, world: World, effect: Effect) -> Effect:
        if not isinstance(effect, WriteLeaderships):
            return effect
        states = world.truth.states
        wanted = {
            tp: now._replace(leader_epoch=states[tp].leader_epoch) if tp in states else now
            for tp, now in effect.wanted.items()
        }
        return replace(effect, wanted=wanted)


class Unfenced:
    """A store for which every version of the controller epoch is the right one."""

    def __init__(self, inner: NamedStore) -> None:
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


BROKEN_RULES: dict[str, Honest] = {
    "": Honest(),
    "elect_outside_isr": ElectOutsideIsr(),
    "forget_removing": ForgetRemoving(),
    "keep_removing": KeepRemoving(),
    "keep_epoch": KeepEpoch(),
    "skip_fencing": SkipFencing(),
}
