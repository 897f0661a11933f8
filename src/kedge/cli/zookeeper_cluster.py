"""A cluster changed through its ZooKeeper, as the first generation of Kafka's tools did.

Topics are written where the controller watches; moves and elections are orders that it takes from
`/admin/reassign_partitions` and `/admin/preferred_replica_election` and removes when they are done.
It works while no broker can be reached, and it goes past what brokers check, so the judges of
`kedge.topics` stand in for them. What never went through ZooKeeper is refused: cancelling, log
directories, client quotas, unclean elections.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NoReturn

from kedge.cli.zookeeper_reader import ZooKeeperReader, entity_of_topic
from kedge.cluster.port import (
    BROKER_DEFAULTS,
    DONE,
    Answers,
    Changes,
    ClusterDescription,
    ConfigChange,
    ConfigEntry,
    ConfigOp,
    ConfigResource,
    Configs,
    ConfigSource,
    Election,
    ExpandOrder,
    LogDirDescription,
    PartitionDescription,
    QuotaEntity,
    Replica,
    ResourceKind,
    TopicDescription,
    TopicOrder,
)
from kedge.errors import (
    Conflict,
    ElectionNotNeeded,
    KedgeError,
    LeaderNotAvailable,
    NodeExists,
    NodeMissing,
    ReassignmentInProgress,
    RequestTimedOut,
    StaleVersion,
    TopicExists,
    UnknownTopicOrPartition,
    UnsupportedByCluster,
)
from kedge.model import NO_LEADER, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.plan import reassign_to
from kedge.store import znodes
from kedge.store.port import Create, SetData, Store
from kedge.topics import (
    Alteration,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    NewTopic,
    Op,
    is_internal,
    validate_alter,
    validate_creates,
    validate_deletes,
    validate_expands,
)

PATIENCE_S = 10.0
PAUSE_S = 0.05


class ZooKeeperCluster:
    """The cluster port on a metadata store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read = ZooKeeperReader(store)

    def close(self) -> None:
        self._store.close()

    # ---- reading --------------------------------------------------------------------------------

    def describe(self) -> ClusterDescription:
        return self._read.cluster()

    def topic_names(self) -> dict[str, bool]:
        return {name: is_internal(name) for name in sorted(self._read.children(znodes.TOPICS))}

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | KedgeError]:
        topics = self._read.topics(names)
        unknown = UnknownTopicOrPartition
        return {
            name: self._described(name, topics[name])
            if name in topics
            else unknown(f"Topic {name!r} not found")
            for name in names
        }

    def _described(self, name: str, topic: znodes.TopicAssignment) -> TopicDescription:
        states = self._read.states(TopicPartition(name, number) for number in topic.partitions)
        partitions = [
            _partition(number, each, states.get(TopicPartition(name, number)))
            for number, each in topic.partitions.items()
        ]
        return TopicDescription(name, topic.topic_id or "", is_internal(name), tuple(partitions))

    # ---- topics ---------------------------------------------------------------------------------

    def create_topics(
        self, orders: Sequence[TopicOrder], *, validate_only: bool = False
    ) -> Answers[str]:
        requests = [
            CreateRequest(o.name, o.partitions, o.replication_factor, o.assignment, dict(o.configs))
            for o in orders
        ]
        judged = validate_creates(
            requests, self._read.view(), draw=Random().randrange, validate_only=validate_only
        )
        answers: Answers[str] = {}
        for order, verdict in zip(orders, judged, strict=True):
            if isinstance(verdict, KedgeError):
                answers[order.name] = verdict
            else:
                answers[order.name] = DONE
                if not validate_only:
                    answers[order.name] = self._write_topic(order.name, verdict)
        return answers

    def _write_topic(self, name: str, topic: NewTopic) -> KedgeError | None:
        """Configs first: the controller looks at them as soon as the topic is there."""
        self._write_config(entity_of_topic(name), topic.configs)
        lists = {p: ReplicaAssignment(tuple(ids)) for p, ids in topic.assignment.items()}
        data = znodes.encode_topic(znodes.TopicAssignment(lists))
        (answer,) = self._store.batch([Create(znodes.topic_path(name), data)])
        if isinstance(answer, NodeExists):
            return TopicExists(f"Topic {name!r} already exists")
        return answer if isinstance(answer, Conflict) else DONE

    def expand_topics(
        self, orders: Sequence[ExpandOrder], *, validate_only: bool = False
    ) -> Answers[str]:
        requests = [ExpandRequest(o.topic, o.total, o.added) for o in orders]
        answers: Answers[str] = {}
        for order, verdict in zip(
            orders, validate_expands(requests, self._read.view()), strict=True
        ):
            if isinstance(verdict, KedgeError):
                answers[order.topic] = verdict
            else:
                answers[order.topic] = DONE
                if not validate_only:
                    answers[order.topic] = self._write_partitions(order.topic, verdict.added)
        return answers

    def _write_partitions(
        self, name: str, added: Mapping[int, Sequence[BrokerId]]
    ) -> KedgeError | None:
        path = znodes.topic_path(name)
        node = self._read.node(path)
        if node is None:
            return UnknownTopicOrPartition(f"Topic {name!r} not found")
        topic = znodes.decode_topic(name, node.data)
        grown = {**topic.partitions, **{p: ReplicaAssignment(tuple(i)) for p, i in added.items()}}
        data = znodes.encode_topic(znodes.TopicAssignment(grown, topic.topic_id))
        (answer,) = self._store.batch([SetData(path, data, node.stat.version)])
        return answer if isinstance(answer, Conflict) else DONE

    def delete_topics(self, names: Sequence[str]) -> Answers[str]:
        judged = validate_deletes([DeleteRequest(name) for name in names], self._read.view())
        answers: Answers[str] = {}
        for name, verdict in zip(names, judged, strict=True):
            answers[name] = verdict if isinstance(verdict, KedgeError) else DONE
            if answers[name] is DONE:
                self._store.batch([Create(znodes.delete_topic_path(name))])
        return answers

    # ---- configs --------------------------------------------------------------------------------

    def describe_configs(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, Configs | KedgeError]:
        """Only what is set on the things themselves: defaults are the brokers' to tell."""
        topics = self.topic_names()
        return {
            resource: UnknownTopicOrPartition(f"Topic {resource.name!r} not found")
            if resource.kind is ResourceKind.TOPIC and resource.name not in topics
            else self._entries(resource)
            for resource in resources
        }

    def _entries(self, resource: ConfigResource) -> Configs:
        source = {ResourceKind.TOPIC: ConfigSource.TOPIC}.get(resource.kind, ConfigSource.BROKER)
        if resource == BROKER_DEFAULTS:
            source = ConfigSource.ALL_BROKERS
        own = self._read.config(_entity(resource))
        return tuple(ConfigEntry(name, value, source) for name, value in sorted(own.items()))

    def alter_configs(
        self, changes: Changes, *, validate_only: bool = False
    ) -> Answers[ConfigResource]:
        return {
            resource: _outcome(lambda r=resource, s=steps: self._alter(r, s, validate_only))
            for resource, steps in changes.items()
        }

    def _alter(
        self, resource: ConfigResource, steps: Sequence[ConfigChange], validate_only: bool
    ) -> None:
        entity = _entity(resource)
        if resource.kind is ResourceKind.TOPIC:
            asked = [Alteration(s.name, Op(int(s.op)), s.value) for s in steps]
            result = dict(validate_alter(resource.name, asked, self._read.view()).configs)
        else:
            result = self._read.config(entity)
            for step in steps:
                result.pop(step.name, None)
                if step.op is not ConfigOp.DELETE:
                    result[step.name] = step.value or ""
        if validate_only:
            return
        self._write_config(entity, result)
        notice = znodes.encode_config_change(entity)
        self._store.batch([Create(znodes.NEW_CONFIG_CHANGE, notice, sequential=True)])

    def _write_config(self, entity: str, configs: Mapping[str, str]) -> None:
        path, data = znodes.config_path(entity), znodes.encode_config(configs)
        (answer,) = self._store.batch([SetData(path, data)])
        if isinstance(answer, NodeMissing):
            self._store.batch([Create(path, data)])

    # ---- moves and elections --------------------------------------------------------------------

    def reassignments(self) -> dict[TopicPartition, ReplicaAssignment]:
        """What is under way, and what is ordered and has yet to begin."""
        node = self._read.node(znodes.REASSIGN_PARTITIONS)
        ordered = znodes.decode_reassignments(node.data) if node else {}
        topics = self._read.topics()
        moving: dict[TopicPartition, ReplicaAssignment] = {}
        for name, topic in topics.items():
            for number, now in topic.partitions.items():
                tp = TopicPartition(name, number)
                if now.in_progress or tp in ordered:
                    moving[tp] = now if now.in_progress else reassign_to(now, ordered[tp])
        return moving

    def authorize_reassignments(self) -> KedgeError | None:
        return DONE  # ZooKeeper's own rights are checked by each write

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        wanted = {tp: tuple(target) for tp, target in targets.items() if target is not None}
        if len(wanted) < len(targets):
            _unsupported("a move cannot be cancelled")
        data = znodes.encode_reassignments(wanted)
        (answer,) = self._store.batch([Create(znodes.REASSIGN_PARTITIONS, data)])
        refusal: KedgeError | None = answer if isinstance(answer, Conflict) else DONE
        if isinstance(answer, NodeExists):
            refusal = ReassignmentInProgress("A reassignment is already in progress")
        return dict.fromkeys(targets, refusal)

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        if election is not Election.PREFERRED:
            _unsupported("only preferred leaders are elected")
        topics = self._read.topics()
        everything = [TopicPartition(n, p) for n, t in topics.items() for p in t.partitions]
        before = self._read.states(everything)
        chosen = everything if partitions is None else list(partitions)
        preferred = {tp: topics[tp.topic].partitions[tp.partition].replicas[0] for tp in before}
        needed = [tp for tp in chosen if tp in before and before[tp].leader != preferred[tp]]
        if needed:
            self._order_election(needed)
        after = self._read.states(needed)
        answers: Answers[TopicPartition] = {}
        for tp in chosen:
            if tp not in before:
                answers[tp] = UnknownTopicOrPartition(f"no partition {tp}")
            elif tp not in after:
                answers[tp] = ElectionNotNeeded(f"{tp} has its preferred leader")
            elif after[tp].leader == preferred[tp]:
                answers[tp] = DONE
            else:
                answers[tp] = LeaderNotAvailable(f"broker {preferred[tp]} cannot lead {tp}")
        if partitions is None:
            return {tp: e for tp, e in answers.items() if not isinstance(e, ElectionNotNeeded)}
        return answers

    def _order_election(self, partitions: Sequence[TopicPartition]) -> None:
        """Leave the order and wait until the controller has taken it away."""
        path = znodes.PREFERRED_ELECTION
        (answer,) = self._store.batch([Create(path, znodes.encode_partitions(partitions))])
        if isinstance(answer, Conflict):
            raise StaleVersion("another election is under way", hint="try again") from answer
        deadline = time.monotonic() + PATIENCE_S
        while self._read.node(path) is not None:
            if time.monotonic() > deadline:
                raise RequestTimedOut("No controller handled the election")
            time.sleep(PAUSE_S)

    # ---- what never went this way ---------------------------------------------------------------

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        _unsupported("log directories are not known")

    def alter_log_dirs(self, moves: Mapping[Replica, str]) -> Answers[Replica]:
        _unsupported("log directories are not known")

    def config_names(self, kind: ResourceKind) -> frozenset[str]:
        _unsupported("Groups and client metrics are not known")

    def describe_quotas(
        self, entity: QuotaEntity, *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        _unsupported("client quotas are not shown")

    def alter_quotas(
        self, entity: QuotaEntity, changes: Mapping[str, float | None]
    ) -> Answers[QuotaEntity]:
        _unsupported("client quotas are not changed")


def _unsupported(what: str) -> NoReturn:
    raise UnsupportedByCluster(f"{what} through ZooKeeper", hint="use --bootstrap-server")


def _outcome(action: Callable[[], None]) -> KedgeError | None:
    try:
        action()
    except KedgeError as refusal:
        return refusal
    return DONE


def _entity(resource: ConfigResource) -> str:
    if resource.kind is ResourceKind.TOPIC:
        return entity_of_topic(resource.name)
    if resource.kind is not ResourceKind.BROKER:
        _unsupported(f"configs of {resource} are not kept")
    return f"brokers/{resource.name or znodes.DEFAULT_ENTITY}"


def _partition(
    number: int, assignment: ReplicaAssignment, state: Leadership | None
) -> PartitionDescription:
    led = state is not None and state.leader != NO_LEADER
    return PartitionDescription(
        number,
        state.leader if state is not None and led else None,
        assignment.replicas,
        state.isr if state is not None else (),
    )
