"""The adapter: every call of the cluster port as reads and writes of ZooKeeper nodes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NoReturn

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
    LogDirDescription,
    Outcome,
    PartitionDescription,
    QuotaEntity,
    Replica,
    ResourceKind,
    TopicCreation,
    TopicDescription,
    TopicExpansion,
)
from kedge.errors import (
    Conflict,
    ElectionNotNeeded,
    InvalidReplicaAssignment,
    KedgeError,
    LeaderNotAvailable,
    NodeExists,
    NoReassignmentInProgress,
    ReassignmentInProgress,
    RequestTimedOut,
    StaleVersion,
    UnknownTopicOrPartition,
    UnsupportedByCluster,
)
from kedge.model import NO_LEADER, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.plan import reassign_to
from kedge.store import znodes
from kedge.store.port import Answer, Create, Store
from kedge.topic_changes import TopicChanges, change_configs
from kedge.topics import (
    Alteration,
    ClusterView,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    Op,
    is_internal,
    validate_alter,
)
from kedge.zookeeper_cluster.reader import ZooKeeperReader, topic_entity

ELECTION_TIMEOUT_S = 10.0
ELECTION_POLL_S = 0.05


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
        states = self._read.states(
            TopicPartition(name, number)
            for name, topic in topics.items()
            for number in topic.partitions
        )
        return {
            name: _topic(name, topics[name], states) if name in topics else _no_topic(name)
            for name in names
        }

    # ---- topics ---------------------------------------------------------------------------------

    def create_topics(
        self, topics: Sequence[TopicCreation], *, validate_only: bool = False
    ) -> Answers[str]:
        requests = [
            CreateRequest(t.name, t.partitions, t.replication_factor, t.assignment, dict(t.configs))
            for t in topics
        ]
        written = self._changes().create(requests, validate_only=validate_only)
        return _answers([topic.name for topic in topics], written)

    def expand_topics(
        self, topics: Sequence[TopicExpansion], *, validate_only: bool = False
    ) -> Answers[str]:
        requests = [ExpandRequest(t.topic, t.total, t.added) for t in topics]
        expanded = self._changes().expand(requests, validate_only=validate_only)
        return _answers([topic.topic for topic in topics], expanded)

    def delete_topics(self, names: Sequence[str]) -> Answers[str]:
        marked = self._changes().delete([DeleteRequest(name) for name in names])
        return _answers(names, marked)

    def _changes(self) -> TopicChanges:
        """Changes of topics; the controller gives new topics their ids."""
        return TopicChanges(
            self._store.batch, self._view, draw=Random().randrange, new_id=lambda: None
        )

    def _view(self, partitions: Mapping[str, Mapping[int, ReplicaAssignment]]) -> ClusterView:
        view = self._read.view()
        return replace(view, topics={**view.topics, **partitions})

    # ---- configs --------------------------------------------------------------------------------

    def describe_configs(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, Configs | KedgeError]:
        """Only what is set on the resources themselves: brokers alone know their defaults."""
        refused = self._refused_resources(resources)
        own = self._read.configs(_entity(each) for each in resources if each not in refused)
        return {
            each: refused[each] if each in refused else _entries(each, own[_entity(each)])
            for each in resources
        }

    def alter_configs(
        self, changes: Changes, *, validate_only: bool = False
    ) -> Answers[ConfigResource]:
        refused = self._refused_resources(changes)
        view = self._read.view() if any(map(_is_topic, changes)) else ClusterView()
        own = self._read.configs(
            _entity(each) for each in changes if not _is_topic(each) and each not in refused
        )
        answers: Answers[ConfigResource] = {}
        results: dict[str, Mapping[str, str]] = {}
        for resource, steps in changes.items():
            answers[resource] = refused.get(resource, DONE)
            if resource in refused:
                continue
            try:
                results[_entity(resource)] = _altered(resource, steps, view, own)
            except KedgeError as refusal:
                answers[resource] = refusal
        if not validate_only:
            change_configs(self._store.batch, results)
        return answers

    def _refused_resources(
        self, resources: Iterable[ConfigResource]
    ) -> dict[ConfigResource, KedgeError]:
        """The resources without a node for configs: absent topics, and kinds that have none."""
        listed = list(resources)
        topics = self.topic_names() if any(map(_is_topic, listed)) else {}
        refused: dict[ConfigResource, KedgeError] = {}
        for each in listed:
            if _is_topic(each) and each.name not in topics:
                refused[each] = _no_topic(each.name)
            elif not _is_topic(each) and each.kind is not ResourceKind.BROKER:
                refused[each] = _unsupported_error(f"configs of {each} are not kept")
        return refused

    # ---- moves and elections --------------------------------------------------------------------

    def reassignments(self) -> dict[TopicPartition, ReplicaAssignment]:
        """Moves in progress, and moves that are requested and have not begun."""
        return self._moving(self._read.assignments())

    def _moving(
        self, present: Mapping[TopicPartition, ReplicaAssignment]
    ) -> dict[TopicPartition, ReplicaAssignment]:
        node = self._read.node(znodes.REASSIGN_PARTITIONS)
        requested = znodes.decode_reassignments(node.data) if node else {}
        return {
            tp: now if now.in_progress else reassign_to(now, requested[tp])
            for tp, now in present.items()
            if now.in_progress or tp in requested
        }

    def authorize_reassignments(self) -> Outcome:
        return DONE  # ZooKeeper checks the permission at each write

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        present = self._read.assignments({tp.topic for tp in targets})
        registered = {broker.id for broker in self._read.brokers()}
        moving = self._moving(present) if None in targets.values() else {}
        if any(target is None and tp in moving for tp, target in targets.items()):
            _unsupported("a move cannot be cancelled")
        answers: Answers[TopicPartition] = {
            tp: _refused_move(tp, target, present, registered) for tp, target in targets.items()
        }
        accepted = {
            tp: tuple(target)
            for tp, target in targets.items()
            if target is not None and answers[tp] is DONE
        }
        if not accepted:
            return answers
        data = znodes.encode_reassignments(accepted)
        (answer,) = self._store.batch([Create(znodes.REASSIGN_PARTITIONS, data)])
        refusal = _refusal(answer)
        if isinstance(answer, NodeExists):
            refusal = ReassignmentInProgress("A reassignment is already in progress")
        return answers | dict.fromkeys(accepted, refusal)

    def keeps_registrations(self) -> bool:
        return False

    def unregister_broker(self, broker: BrokerId) -> Outcome:
        _unsupported("no broker is unregistered")

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        if election is not Election.PREFERRED:
            _unsupported("only preferred leaders are elected")
        present = self._read.assignments(
            None if partitions is None else {tp.topic for tp in partitions}
        )
        chosen = list(present) if partitions is None else list(partitions)
        before = self._read.states(tp for tp in chosen if tp in present)
        preferred = {tp: present[tp].replicas[0] for tp in before}
        needed = [tp for tp in before if before[tp].leader != preferred[tp]]
        if needed:
            self._request_election(needed)
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

    def _request_election(self, partitions: Sequence[TopicPartition]) -> None:
        """Write the request and wait until the controller has removed it."""
        path = znodes.PREFERRED_ELECTION
        (answer,) = self._store.batch([Create(path, znodes.encode_partitions(partitions))])
        if isinstance(answer, Conflict):
            raise StaleVersion("another election is in progress", hint="try again") from answer
        deadline = time.monotonic() + ELECTION_TIMEOUT_S
        while self._read.node(path) is not None:
            if time.monotonic() > deadline:
                raise RequestTimedOut("No controller handled the election")
            time.sleep(ELECTION_POLL_S)

    # ---- not available through ZooKeeper --------------------------------------------------------

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

    # ---- shared ---------------------------------------------------------------------------------


def _unsupported_error(what: str) -> UnsupportedByCluster:
    return UnsupportedByCluster(f"{what} through ZooKeeper", hint="use --bootstrap-server")


def _unsupported(what: str) -> NoReturn:
    raise _unsupported_error(what)


def _no_topic(name: str) -> KedgeError:
    return UnknownTopicOrPartition(f"Topic {name!r} not found")


def _answers(names: Iterable[str], results: Iterable[object]) -> Answers[str]:
    return {
        name: result if isinstance(result, KedgeError) else DONE
        for name, result in zip(names, results, strict=True)
    }


def _refusal(answer: Answer) -> Outcome:
    return answer if isinstance(answer, Conflict) else DONE


def _is_topic(resource: ConfigResource) -> bool:
    return resource.kind is ResourceKind.TOPIC


def _entity(resource: ConfigResource) -> str:
    if _is_topic(resource):
        return topic_entity(resource.name)
    return f"brokers/{resource.name or znodes.DEFAULT_ENTITY}"


def _entries(resource: ConfigResource, own: Mapping[str, str]) -> Configs:
    source = ConfigSource.TOPIC if _is_topic(resource) else ConfigSource.BROKER
    if resource == BROKER_DEFAULTS:
        source = ConfigSource.ALL_BROKERS
    return tuple(ConfigEntry(name, value, source) for name, value in sorted(own.items()))


def _altered(
    resource: ConfigResource,
    steps: Sequence[ConfigChange],
    view: ClusterView,
    own: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """The configs of a resource after a change; raises what `kedge.topics` refuses."""
    if _is_topic(resource):
        wanted = [Alteration(s.name, Op(int(s.op)), s.value) for s in steps]
        return dict(validate_alter(resource.name, wanted, view).configs)
    result = dict(own[_entity(resource)])
    for step in steps:
        result.pop(step.name, None)
        if step.op is not ConfigOp.DELETE:
            result[step.name] = step.value or ""
    return result


def _refused_move(
    tp: TopicPartition,
    target: Sequence[BrokerId] | None,
    present: Mapping[TopicPartition, ReplicaAssignment],
    registered: set[BrokerId],
) -> Outcome:
    if tp not in present:
        return UnknownTopicOrPartition(f"no partition {tp}")
    if target is None:
        return NoReassignmentInProgress(f"{tp} is not being moved")
    if not target or len(set(target)) < len(target) or not registered.issuperset(target):
        return InvalidReplicaAssignment(f"{tp} cannot be on {list(target)}")
    return DONE


def _topic(
    name: str, topic: znodes.TopicAssignment, states: Mapping[TopicPartition, Leadership]
) -> TopicDescription:
    partitions = tuple(
        _partition(number, each, states.get(TopicPartition(name, number)))
        for number, each in topic.partitions.items()
    )
    return TopicDescription(name, topic.topic_id or "", is_internal(name), partitions)


def _partition(
    number: int, assignment: ReplicaAssignment, state: Leadership | None
) -> PartitionDescription:
    if state is None:
        return PartitionDescription(number, None, assignment.replicas, ())
    leader = None if state.leader == NO_LEADER else state.leader
    return PartitionDescription(number, leader, assignment.replicas, state.isr)
