"""A cluster changed through its ZooKeeper, as the first generation of Kafka's tools did.

Topics are written where the controller watches; moves and elections are orders that it takes from
`/admin/reassign_partitions` and `/admin/preferred_replica_election` and removes when they are done.
It works while no broker can be reached, and it goes past what brokers check, so the judges of
`kedge.topics` stand in for them. What never went through ZooKeeper is refused: cancelling, log
directories, client quotas, unclean elections.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NoReturn, TypeVar

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
from kedge.model import NO_LEADER, Broker, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.plan import reassign_to
from kedge.store import znodes
from kedge.store.port import Children, Create, GetChildren, GetData, Node, SetData, Store
from kedge.topics import (
    Alteration,
    ClusterView,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    Op,
    is_internal,
    judge_alter,
    judge_creates,
    judge_deletes,
    judge_expands,
)

PATIENCE_S = 10.0
PAUSE_S = 0.05

T = TypeVar("T")
Topics = dict[str, znodes.TopicAssignment]


class ZooKeeperCluster:
    """The cluster port on a metadata store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def close(self) -> None:
        self._store.close()

    # ---- reading --------------------------------------------------------------------------------

    def describe(self) -> ClusterDescription:
        identity, claim = self._store.batch(
            [GetData(znodes.CLUSTER_ID), GetData(znodes.CONTROLLER)]
        )
        name = znodes.decode_cluster_id(identity.data) if isinstance(identity, Node) else ""
        controller = (
            znodes.decode_controller(claim.data).broker if isinstance(claim, Node) else None
        )
        return ClusterDescription(name, controller, self._brokers())

    def _brokers(self) -> tuple[Broker, ...]:
        ids = sorted(znodes.broker_id_of(name) for name in self._children(znodes.BROKER_IDS))
        nodes = self._nodes(znodes.broker_path(broker) for broker in ids)
        registered = zip(ids, nodes, strict=True)
        return tuple(znodes.decode_broker(b, node.data).broker for b, node in registered if node)

    def topic_names(self) -> dict[str, bool]:
        return {name: is_internal(name) for name in sorted(self._children(znodes.TOPICS))}

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | KedgeError]:
        topics = self._topics(names)
        unknown = UnknownTopicOrPartition
        return {
            name: self._described(name, topics[name])
            if name in topics
            else unknown(f"no topic {name!r}")
            for name in names
        }

    def _described(self, name: str, topic: znodes.TopicAssignment) -> TopicDescription:
        states = self._states(TopicPartition(name, number) for number in topic.partitions)
        partitions = [
            _partition(number, each, states.get(TopicPartition(name, number)))
            for number, each in topic.partitions.items()
        ]
        return TopicDescription(name, topic.topic_id or "", is_internal(name), tuple(partitions))

    def _topics(self, names: Iterable[str]) -> Topics:
        listed = list(names)
        nodes = self._nodes(map(znodes.topic_path, listed))
        found = zip(listed, nodes, strict=True)
        return {name: znodes.decode_topic(name, node.data) for name, node in found if node}

    def _states(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Leadership]:
        listed = list(partitions)
        nodes = self._nodes(map(znodes.state_path, listed))
        return {
            tp: znodes.decode_state(tp, node.data, node.stat.version)
            for tp, node in zip(listed, nodes, strict=True)
            if node
        }

    def _children(self, path: str) -> tuple[str, ...]:
        (answer,) = self._store.batch([GetChildren(path)])
        return answer.names if isinstance(answer, Children) else ()

    def _nodes(self, paths: Iterable[str]) -> list[Node | None]:
        answers = self._store.batch([GetData(path) for path in paths])
        return [answer if isinstance(answer, Node) else None for answer in answers]

    def _view(self) -> ClusterView:
        """What the judges need to know."""
        topics = self._topics(self._children(znodes.TOPICS))
        return ClusterView(
            brokers=self._brokers(),
            topics={name: topic.partitions for name, topic in topics.items()},
            marked=frozenset(self._children(znodes.DELETE_TOPICS)),
            configs={name: self._own(_entity_of_topic(name))[0] for name in topics},
        )

    # ---- topics ---------------------------------------------------------------------------------

    def create_topics(
        self, orders: Sequence[TopicOrder], *, validate_only: bool = False
    ) -> Answers[str]:
        requests = [
            CreateRequest(o.name, o.partitions, o.replication_factor, o.assignment, dict(o.configs))
            for o in orders
        ]
        judged = judge_creates(
            requests, self._view(), draw=Random().randrange, validate_only=validate_only
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

    def _write_topic(self, name: str, topic: Any) -> KedgeError | None:
        """Configs first: the controller looks at them as soon as the topic is there."""
        self._write_config(_entity_of_topic(name), topic.configs)
        lists = {p: ReplicaAssignment(tuple(ids)) for p, ids in topic.assignment.items()}
        data = znodes.encode_topic(znodes.TopicAssignment(lists))
        (answer,) = self._store.batch([Create(znodes.topic_path(name), data)])
        if isinstance(answer, NodeExists):
            return TopicExists(f"topic {name!r} exists already")
        return answer if isinstance(answer, Conflict) else DONE

    def expand_topics(
        self, orders: Sequence[ExpandOrder], *, validate_only: bool = False
    ) -> Answers[str]:
        requests = [ExpandRequest(o.topic, o.total, o.added) for o in orders]
        answers: Answers[str] = {}
        for order, verdict in zip(orders, judge_expands(requests, self._view()), strict=True):
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
        (node,) = self._nodes([path])
        if node is None:
            return UnknownTopicOrPartition(f"no topic {name!r}")
        topic = znodes.decode_topic(name, node.data)
        grown = {**topic.partitions, **{p: ReplicaAssignment(tuple(i)) for p, i in added.items()}}
        data = znodes.encode_topic(znodes.TopicAssignment(grown, topic.topic_id))
        (answer,) = self._store.batch([SetData(path, data, node.stat.version)])
        return answer if isinstance(answer, Conflict) else DONE

    def delete_topics(self, names: Sequence[str]) -> Answers[str]:
        judged = judge_deletes([DeleteRequest(name) for name in names], self._view())
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
            resource: UnknownTopicOrPartition(f"no topic {resource.name!r}")
            if resource.kind is ResourceKind.TOPIC and resource.name not in topics
            else self._entries(resource)
            for resource in resources
        }

    def _entries(self, resource: ConfigResource) -> Configs:
        source = {ResourceKind.TOPIC: ConfigSource.TOPIC}.get(resource.kind, ConfigSource.BROKER)
        if resource == BROKER_DEFAULTS:
            source = ConfigSource.ALL_BROKERS
        own, _ = self._own(_entity(resource))
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
            result = dict(judge_alter(resource.name, asked, self._view()).configs)
        else:
            result, _ = self._own(entity)
            for step in steps:
                result.pop(step.name, None)
                if step.op is not ConfigOp.DELETE:
                    result[step.name] = step.value or ""
        if validate_only:
            return
        self._write_config(entity, result)
        notice = znodes.encode_config_change(entity)
        self._store.batch([Create(znodes.NEW_CONFIG_CHANGE, notice, sequential=True)])

    def _own(self, entity: str) -> tuple[dict[str, str], bool]:
        """The configs set on an entity, and whether its node is there."""
        path = znodes.config_path(entity)
        (node,) = self._nodes([path])
        return (znodes.decode_config(node.data, path), True) if node else ({}, False)

    def _write_config(self, entity: str, configs: Mapping[str, str]) -> None:
        path, data = znodes.config_path(entity), znodes.encode_config(configs)
        (answer,) = self._store.batch([SetData(path, data)])
        if isinstance(answer, NodeMissing):
            self._store.batch([Create(path, data)])

    # ---- moves and elections --------------------------------------------------------------------

    def reassignments(self) -> dict[TopicPartition, ReplicaAssignment]:
        """What is under way, and what is ordered and has yet to begin."""
        (node,) = self._nodes([znodes.REASSIGN_PARTITIONS])
        ordered = znodes.decode_reassignments(node.data) if node else {}
        topics = self._topics(self._children(znodes.TOPICS))
        moving: dict[TopicPartition, ReplicaAssignment] = {}
        for name, topic in topics.items():
            for number, now in topic.partitions.items():
                tp = TopicPartition(name, number)
                if now.in_progress or tp in ordered:
                    moving[tp] = now if now.in_progress else reassign_to(now, ordered[tp])
        return moving

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
            refusal = ReassignmentInProgress("an order to move partitions is there already")
        return dict.fromkeys(targets, refusal)

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        if election is not Election.PREFERRED:
            _unsupported("only preferred leaders are elected")
        topics = self._topics(self._children(znodes.TOPICS))
        everything = [TopicPartition(n, p) for n, t in topics.items() for p in t.partitions]
        before = self._states(everything)
        chosen = everything if partitions is None else list(partitions)
        preferred = {tp: topics[tp.topic].partitions[tp.partition].replicas[0] for tp in before}
        needed = [tp for tp in chosen if tp in before and before[tp].leader != preferred[tp]]
        if needed:
            self._order_election(needed)
        after = self._states(needed)
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
        while self._nodes([path])[0] is not None:
            if time.monotonic() > deadline:
                raise RequestTimedOut("no controller has taken the election up")
            time.sleep(PAUSE_S)

    # ---- what never went this way ---------------------------------------------------------------

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        _unsupported("log directories are not known")

    def alter_log_dirs(self, moves: Mapping[Replica, str]) -> Answers[Replica]:
        _unsupported("log directories are not known")

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
        return _entity_of_topic(resource.name)
    if resource.kind is not ResourceKind.BROKER:
        _unsupported(f"configs of {resource} are not kept")
    return f"brokers/{resource.name or znodes.DEFAULT_ENTITY}"


def _entity_of_topic(name: str) -> str:
    return f"topics/{name}"


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
