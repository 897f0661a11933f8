"""What people do with a cluster: topics, moves, elections, configs, deletions, and records.

The operator writes to the store as brokers and tools do (create, expand, configure, delete, and
the two old plans), and asks the controller for moves, cancels and elections. What he asked for is
told to the expectations, with what he heard back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kedge.controller.events import (
    ElectionRequested,
    ElectionType,
    ReassignmentRequested,
)
from kedge.errors import KedgeError
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.plan.throttles import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    broker_rates,
    move_map,
    throttles_of,
)
from kedge.sim.seeds import Luck
from kedge.store.port import Create, GetData, Node, Request, SetData
from kedge.store.znodes import (
    DEFAULT_ENTITY,
    NEW_CONFIG_CHANGE,
    PREFERRED_ELECTION,
    REASSIGN_PARTITIONS,
    TopicAssignment,
    config_path,
    decode_reassignments,
    delete_topic_path,
    encode_config,
    encode_config_change,
    encode_partitions,
    encode_reassignments,
    encode_topic,
    topic_config_path,
    topic_path,
)
from kedge.topics import (
    Alteration,
    ClusterView,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    Op,
    judge_alter,
    judge_create,
    judge_delete,
    judge_expand,
    new_topic_id,
)

if TYPE_CHECKING:
    from kedge.sim.world import World

OPERATOR = "operator"
UNCLEAN = "unclean.leader.election.enable"
THROTTLE_BYTES_PER_SECOND = 30_000_000
BULK_BYTES = (20 << 20, 500 << 20)
LOG_BYTES_MAX = 2 << 30

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
        self.world = world
        self.luck = luck
        self.store = world.new_session(OPERATOR)
        self.topics_made = 0
        self.records_made = 0
        self.throttled: dict[TopicPartition, None] = {}
        self.has_throttles = False
        self._do: dict[str, Callable[[], None]] = {
            "create": self.create,
            "expand": self.expand,
            "configure": self.configure,
            "move": self.move,
            "move by plan": self.move_by_plan,
            "cancel": self.cancel,
            "preferred election": partial(self.elect, ElectionType.PREFERRED),
            "preferred election by plan": self.elect_by_plan,
            "unclean election": partial(self.elect, ElectionType.UNCLEAN),
            "delete": self.delete_some,
            "produce": self.produce,
            "produce in bulk": self.produce_in_bulk,
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

    # ---- topics ----

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
            name = f"t{self.topics_made}"
            self.topics_made += 1
        brokers = len(self.live())
        rf = min(self.luck.between(1, 3) if self.luck.chance(0.4) else 3, brokers)
        partitions = self.luck.between(1, world.shape.partitions_max)
        self.create_topic(CreateRequest(name, partitions, rf, configs=self._configs(rf)))

    def create_topic(self, request: CreateRequest) -> None:
        """Judge a request and write what it comes to."""
        world, name = self.world, request.name
        made = judge_create(request, self.view(), draw=self.luck.draw)
        topic = TopicAssignment(
            {number: ReplicaAssignment(ids) for number, ids in made.assignment.items()},
            self._topic_id(),
        )
        path, config = topic_config_path(name), encode_config(made.configs)
        known = path in world.truth.configs
        self._write(
            SetData(path, config) if known else Create(path, config),
            Create(topic_path(name), encode_topic(topic)),
        )
        if made.configs.get(UNCLEAN) == "true":
            world.checkers.exempt_topic(name)
        world.checkers.expectations.created(name, made.assignment, self._plan())

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
        name = self._pick_topic()
        if name is None or len(self.world.truth.topics[name].partitions) >= 4:
            return
        now = self.world.truth.topics[name]
        total = len(now.partitions) + 1
        added = judge_expand(ExpandRequest(name, total), self.view()).added
        grown = {
            **now.partitions,
            **{number: ReplicaAssignment(ids) for number, ids in added.items()},
        }
        self._write(SetData(topic_path(name), encode_topic(TopicAssignment(grown, now.topic_id))))
        self.world.checkers.expectations.created(name, added, self._plan())

    def configure(self) -> None:
        """Change how many replicas must be in sync, or what a lost ISR may cost."""
        name = self._pick_topic()
        if name is None:
            return
        if self.luck.chance(0.15):
            self.allow_unclean(name)
            return
        if self.luck.chance(0.1):
            self._confuse()
            return
        wanted = self.luck.pick(("1", "2"))
        self._set_topic(name, {"min.insync.replicas": wanted})

    def allow_unclean(self, name: str) -> None:
        """Rather have a topic back than wait for whoever has all of it."""
        self.world.checkers.exempt_topic(name)
        self._set_topic(name, {UNCLEAN: "true"})

    def _confuse(self) -> None:
        """Change what must not make a difference: a default that stays "no", something that no
        boolean is, a note that nobody can read."""
        if self.luck.chance(0.3):
            self._write(Create(NEW_CONFIG_CHANGE, b"not a note", sequential=True))
        else:
            self._set_broker(None, {UNCLEAN: self.luck.pick(("false", "perhaps"))})

    def delete_some(self) -> None:
        """Mark a topic for deletion, if there are enough of them."""
        name = self._pick_topic()
        if name is not None and len(self.world.truth.topics) > self.world.shape.topics_min:
            self.delete(name)

    def delete(self, name: str) -> None:
        """Mark a topic for deletion."""
        judge_delete(DeleteRequest(name), self.view())
        self._write(Create(delete_topic_path(name)))
        self.world.checkers.exempt_topic(name)
        self.world.checkers.expectations.ordered_deletion(name)
        self.throttled = {tp: None for tp in self.throttled if tp.topic != name}

    # ---- moves ----

    def move(self) -> None:
        """Ask the controller to move some partitions, with a throttle or without."""
        targets = self._targets()
        if not targets:
            return
        if self.luck.chance(0.4):
            self._throttle(targets)
        self.ask_to_move(dict(targets))

    def move_by_plan(self) -> None:
        """Leave a plan in the store, as old tools did."""
        targets = self._targets()
        if targets and not self.world.exists(REASSIGN_PARTITIONS):
            self.leave_plan(targets)

    def leave_plan(self, targets: dict[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Write the plan of moves."""
        if targets:
            self._write(Create(REASSIGN_PARTITIONS, encode_reassignments(targets)))
            expectations = self.world.checkers.expectations
            order = expectations.next_order()
            for tp, target in targets.items():
                expectations.moved(order, tp, target, target, None)

    def cancel(self) -> None:
        """Cancel a move that is under way, or (rarely) one that is not."""
        moving = [
            tp
            for tp in self.partitions()
            if (a := self.world.truth.assignment(tp)) and a.in_progress
        ]
        if not moving and self.luck.chance(0.8):
            return
        choices = moving or self.partitions()
        if choices:
            self.ask_to_move({self.luck.pick(choices): None})

    def _active_moves(self) -> dict[TopicPartition, ReplicaAssignment]:
        found = {tp: self.world.truth.assignment(tp) for tp in self.partitions()}
        return {tp: now for tp, now in found.items() if now is not None and now.in_progress}

    def _targets(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        live, every = self.live(), sorted(self.world.machines)
        partitions = self.partitions()
        if not partitions:
            return {}
        chosen = self.luck.sample(partitions, min(len(partitions), self.luck.between(1, 3)))
        # a dead target is refused by the API and waited for by the plan: both are worth a try
        brokers = every if self.luck.chance(0.1) else live
        return {
            tp: tuple(self.luck.sample(brokers, min(self.luck.between(1, 3), len(brokers))))
            for tp in sorted(chosen)
            if brokers
        }

    def ask_to_move(self, targets: dict[TopicPartition, tuple[BrokerId, ...] | None]) -> None:
        """Ask the controller for moves; None cancels one."""
        origins = dict(self.world.checkers.expectations.origins)
        order = self.world.checkers.expectations.next_order()

        def answered(outcomes: dict[TopicPartition, ErrorCode] | ErrorCode | None) -> None:
            for tp, target in targets.items():
                code = outcomes.get(tp) if isinstance(outcomes, dict) else outcomes
                self._moved(order, tp, target, origins.get(tp, ()), code)

        def failed() -> None:
            answered(None)

        event = ReassignmentRequested(targets)
        self.world.ask_controller(OPERATOR, self.world.truth.controller, event, answered, failed)

    def _moved(
        self,
        order: int,
        tp: TopicPartition,
        target: tuple[BrokerId, ...] | None,
        origin: tuple[BrokerId, ...],
        code: ErrorCode | None,
    ) -> None:
        answer = "no answer" if code is None else code.name
        self.world.count(f"move: {answer}")
        wanted = "cancel" if target is None else f"move to {list(target)}"
        self.world.say(f"    {tp} {wanted}: {answer}")
        self.world.checkers.expectations.moved(order, tp, target, origin, code)

    # ---- throttles ----

    def _throttle(self, targets: dict[TopicPartition, tuple[BrokerId, ...]]) -> None:
        truth, active = self.world.truth, self._active_moves()
        current = {tp: a.replicas for tp in targets if (a := truth.assignment(tp))}
        wanted = throttles_of(move_map(active, targets, current))
        for broker in wanted.brokers:
            self._set_broker(broker, broker_rates(THROTTLE_BYTES_PER_SECOND))
        for names, lists in zip(TOPIC_THROTTLES, (wanted.leader, wanted.follower), strict=True):
            for topic, listed in lists.items():
                if topic in truth.topics:
                    self._set_topic(topic, {names: listed})
        self.throttled.update(dict.fromkeys(targets))
        self.has_throttles = True

    def verify(self) -> None:
        """Remove the throttles once nothing moves that they were set for."""
        truth = self.world.truth
        moving = [tp for tp in self.throttled if (a := truth.assignment(tp)) and a.in_progress]
        if moving or not self.has_throttles or self.world.exists(REASSIGN_PARTITIONS):
            return
        for broker in sorted(self.world.machines):
            self._unset(f"brokers/{broker}", truth.broker_config(broker), BROKER_THROTTLES)
        for topic in sorted(truth.topics):
            self._unset(f"topics/{topic}", truth.topic_config(topic), TOPIC_THROTTLES)
        self.throttled.clear()
        self.has_throttles = False

    def _unset(self, entity: str, now: dict[str, str], names: tuple[str, ...]) -> None:
        left = {name: value for name, value in now.items() if name not in names}
        if left != now:
            self._configure(entity, left)

    def _set_broker(self, broker: BrokerId | None, settings: dict[str, str]) -> None:
        now = self.world.truth.broker_config(broker)
        self._configure(f"brokers/{DEFAULT_ENTITY if broker is None else broker}", now | settings)

    def _set_topic(self, topic: str, settings: dict[str, str]) -> None:
        steps = [Alteration(name, Op.SET, value) for name, value in settings.items()]
        self._configure(f"topics/{topic}", judge_alter(topic, steps, self.view()).configs)

    def _configure(self, entity: str, settings: Mapping[str, str]) -> None:
        """Store configs, then leave the note that tells of it."""
        path, data = config_path(entity), encode_config(settings)
        known = path in self.world.truth.configs
        self._write(
            SetData(path, data) if known else Create(path, data),
            Create(NEW_CONFIG_CHANGE, encode_config_change(entity), sequential=True),
        )

    # ---- elections ----

    def elect(self, kind: ElectionType) -> None:
        """Ask the controller for elections."""
        partitions = self.partitions()
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
        partitions = self.partitions()
        if partitions and not self.world.exists(PREFERRED_ELECTION):
            self._write(Create(PREFERRED_ELECTION, encode_partitions(partitions)))

    # ---- records ----

    def produce(self) -> None:
        """Some small records to some partitions."""
        for tp in self.luck.sample(self.partitions(), min(4, len(self.partitions()))):
            for _ in range(self.luck.between(1, 3)):
                self.produce_to(tp, 1000)

    def produce_in_bulk(self) -> None:
        """Much data to one partition, so that copying it takes a while."""
        if self.partitions():
            tp = self.luck.pick(self.partitions())
            if self.world.log_bytes(tp) > LOG_BYTES_MAX:
                return
            for _ in range(3):
                self.produce_to(tp, self.luck.between(*BULK_BYTES))

    def produce_to(
        self,
        tp: TopicPartition,
        size_bytes: int,
        leader: BrokerId | None = None,
        done: Callable[[], object] | None = None,
    ) -> None:
        """One record, to a broker that believes to lead; unless told, that may be a wrong one."""
        leaders = [
            machine.process
            for broker, machine in sorted(self.world.machines.items())
            if machine.process is not None
            and (hosted := machine.process.hosted.get(tp)) is not None
            and hosted.leading is not None
            and leader in (None, broker)
        ]
        if not leaders:
            return
        self.records_made += 1
        identity = self.records_made

        def acked(offset: int | None) -> None:
            if offset is not None:
                self.world.count_acked(tp, offset, identity)
                if done is not None:
                    done()

        self.luck.pick(leaders).produce(tp, identity, size_bytes, acked)

    # ---- seeing and writing ----

    def view(self) -> ClusterView:
        """The cluster as a broker that serves admin requests sees it."""
        truth = self.world.truth
        return ClusterView(
            brokers=tuple(self.world.machines[b].broker for b in self.live()),
            topics={name: topic.partitions for name, topic in truth.topics.items()},
            marked=frozenset(truth.deletions),
            configs={name: truth.topic_config(name) for name in truth.topics},
        )

    def live(self) -> list[BrokerId]:
        """The brokers that are registered."""
        return self.world.registered()

    def partitions(self) -> list[TopicPartition]:
        """The partitions of topics that stay."""
        deletions = self.world.truth.deletions
        return [tp for tp in self.world.truth.partitions() if tp.topic not in deletions]

    def _pick_topic(self) -> str | None:
        names = sorted(self.world.truth.topics.keys() - self.world.truth.deletions)
        return self.luck.pick(names) if names else None

    def _write(self, *requests: Request) -> None:
        for answer in self.world.batch(OPERATOR, self.store, list(requests)):
            if isinstance(answer, KedgeError):
                raise answer

    def _plan(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        answer = self.world.batch(OPERATOR, self.store, [GetData(REASSIGN_PARTITIONS)])[0]
        return decode_reassignments(answer.data) if isinstance(answer, Node) else {}


def _ignore(_answer: object) -> None:
    """An answer that nothing depends on."""


def _nothing() -> None:
    """A failure that nothing depends on."""
