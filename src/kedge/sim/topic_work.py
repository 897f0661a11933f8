"""What an operator does with topics: creates, expands, configures and deletes them."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.sim.desk import Desk
from kedge.store.port import Create
from kedge.store.znodes import NEW_CONFIG_CHANGE
from kedge.topic_changes import TopicChanges
from kedge.topics import CreateRequest, DeleteRequest, ExpandRequest, new_topic_id

UNCLEAN = "unclean.leader.election.enable"


class TopicWork:
    """Orders that go straight into the store, as brokers and tools write them."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.world, self.luck = desk, desk.world, desk.luck
        self._made = 0
        self._changes = TopicChanges(
            desk.batch, lambda _: desk.view(), draw=desk.luck.draw, new_id=self._topic_id
        )

    def create(self) -> None:
        """Make a topic; now and then with the name of one that is gone."""
        world = self.world
        if len(world.truth.topics) >= world.shape.topics_max:
            return
        gone = sorted(world.checkers.expectations.deleted - world.truth.topics.keys())
        if gone and self.luck.chance(0.5):
            name = self.luck.pick(gone)
            world.clear_strays(name)
        else:
            name = f"t{self._made}"
            self._made += 1
        brokers = len(self.desk.live())
        rf = min(self.luck.between(1, 3) if self.luck.chance(0.4) else 3, brokers)
        partitions = self.luck.between(1, world.shape.partitions_max)
        self.create_topic(CreateRequest(name, partitions, rf, configs=self._configs(rf)))

    def create_topic(self, request: CreateRequest) -> None:
        """Judge a request and write what it comes to."""
        world, name = self.world, request.name
        (written,) = self._changes.create([request])
        if isinstance(written, KedgeError):
            raise written
        made = written.topic
        if made.configs.get(UNCLEAN) == "true":
            world.checkers.exempt_topic(name)
        world.checkers.expectations.created(name, made.assignment, self.desk.plan())

    def _configs(self, rf: int) -> dict[str, str | None]:
        configs: dict[str, str | None] = {}
        if rf > 1 and self.luck.chance(0.6):
            configs["min.insync.replicas"] = "2"
        if self.luck.chance(0.1):
            configs[UNCLEAN] = "true"
        return configs

    def _topic_id(self) -> str | None:
        """An id, unless the creator is of before there were ids."""
        if not self.world.settings.uses_topic_ids or self.luck.chance(0.2):
            return None
        return new_topic_id(self.luck.bytes)

    def expand(self) -> None:
        """Add a partition to a topic."""
        name = self.desk.pick_topic()
        if name is None or len(self.world.truth.topics[name].partitions) >= 4:
            return
        now = self.world.truth.topics[name]
        (after,) = self._changes.expand([ExpandRequest(name, len(now.partitions) + 1)])
        if isinstance(after, KedgeError):
            raise after
        added = {
            number: assignment.replicas
            for number, assignment in after.partitions.items()
            if number not in now.partitions
        }
        self.world.checkers.expectations.created(name, added, self.desk.plan())

    def configure(self) -> None:
        """Change how many replicas must be in sync, or what a lost ISR may cost."""
        name = self.desk.pick_topic()
        if name is None:
            return
        if self.luck.chance(0.15):
            self.allow_unclean(name)
            return
        if self.luck.chance(0.1):
            self._confuse()
            return
        wanted = self.luck.pick(("1", "2"))
        self.desk.set_topic(name, {"min.insync.replicas": wanted})

    def allow_unclean(self, name: str) -> None:
        """Rather have a topic back than wait for whoever has all of it."""
        self.world.checkers.exempt_topic(name)
        self.desk.set_topic(name, {UNCLEAN: "true"})

    def _confuse(self) -> None:
        """Change what must not make a difference: a default that stays "no", something that no
        boolean is, a note that nobody can read."""
        if self.luck.chance(0.3):
            self.desk.write(Create(NEW_CONFIG_CHANGE, b"not a note", sequential=True))
        else:
            self.desk.set_broker(None, {UNCLEAN: self.luck.pick(("false", "perhaps"))})

    def delete_some(self) -> None:
        """Mark a topic for deletion, if there are enough of them."""
        name = self.desk.pick_topic()
        if name is not None and len(self.world.truth.topics) > self.world.shape.topics_min:
            self.delete(name)

    def delete(self, name: str) -> None:
        """Mark a topic for deletion."""
        (marked,) = self._changes.delete([DeleteRequest(name)])
        if isinstance(marked, KedgeError):
            raise marked
        self.world.checkers.exempt_topic(name)
        self.world.checkers.expectations.ordered_deletion(name)
