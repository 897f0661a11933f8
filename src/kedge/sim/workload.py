"""What people do with a cluster: topics, moves, elections, configs, deletions, and records.

The operator writes to the store as brokers and tools do (create, expand, configure, delete, and
the two old plans), and asks the controller for moves, cancels and elections. What he asked for is
told to the expectations, with what he heard back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from kedge.controller.events import ElectionRequested, ElectionType
from kedge.errors import KedgeError
from kedge.sim.desk import OPERATOR, Desk
from kedge.sim.move_work import MoveWork
from kedge.sim.producers import Producers
from kedge.sim.seeds import Luck
from kedge.sim.topic_work import TopicWork
from kedge.store.port import Create
from kedge.store.znodes import PREFERRED_ELECTION, encode_partitions

if TYPE_CHECKING:
    from kedge.sim.world import World

WORK: dict[str, int] = {
    "create": 10,
    "expand": 4,
    "configure": 5,
    "move": 16,
    "move by plan": 4,
    "cancel": 6,
    "preferred election": 6,
    "preferred election by plan": 2,
    "unclean election": 1,
    "delete": 5,
    "produce": 30,
    "produce in bulk": 8,
}


class Operator:
    """Somebody at a terminal, and the producers."""

    def __init__(self, world: World, luck: Luck) -> None:
        self.world, self.luck = world, luck
        self.desk = desk = Desk(world, luck)
        self.topics = topics = TopicWork(desk)
        self.moves = moves = MoveWork(desk)
        self.producers = producers = Producers(desk)
        self._do: dict[str, Callable[[], None]] = {
            "create": topics.create,
            "expand": topics.expand,
            "configure": topics.configure,
            "move": moves.move,
            "move by plan": moves.move_by_plan,
            "cancel": moves.cancel,
            "preferred election": partial(self.elect, ElectionType.PREFERRED),
            "preferred election by plan": self.elect_by_plan,
            "unclean election": partial(self.elect, ElectionType.UNCLEAN),
            "delete": topics.delete_some,
            "produce": producers.produce,
            "produce in bulk": producers.produce_in_bulk,
        }

    def work(self) -> str:
        """Do one thing, and say what it was."""
        kind = self.luck.weighted(WORK)
        try:
            self._do[kind]()
        except KedgeError as refusal:
            if refusal is self.world.checkers.violation:
                raise
            return f"{kind}: {refusal.what}"
        return kind

    def elect(self, kind: ElectionType) -> None:
        """Ask the controller for elections."""
        partitions = self.desk.partitions()
        if not partitions:
            return
        chosen = frozenset(self.luck.sample(partitions, min(2, len(partitions))))
        if kind is ElectionType.UNCLEAN:
            for tp in chosen:
                self.world.checkers.exempt_topic(tp.topic)
        event = ElectionRequested(chosen, kind)
        self.world.ask_controller(OPERATOR, self.world.truth.controller, event, _ignore, _nothing)

    def elect_by_plan(self) -> None:
        """Leave a list in the store, as old tools did."""
        partitions = self.desk.partitions()
        if partitions and not self.world.exists(PREFERRED_ELECTION):
            self.desk.write(Create(PREFERRED_ELECTION, encode_partitions(partitions)))


def _ignore(_answer: object) -> None:
    """An answer that nothing depends on."""


def _nothing() -> None:
    """A failure that nothing depends on."""
