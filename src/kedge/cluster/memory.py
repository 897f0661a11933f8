"""A cluster that lives in this process: for trying commands out, and for their tests.

It keeps what it is told and judges the plainest faults. Placement is a plain round of the brokers.
A move is done at once, unless `hold_moves` is set: then it stays under way until `finish_moves`.
The contract suite holds it to what real clusters do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kedge.cluster.memory_configs import KeptConfigs, KeptQuotas, judge_config
from kedge.cluster.port import (
    BROKER_DEFAULTS,
    BY_DEFAULT,
    DONE,
    Answers,
    Changes,
    ClusterDescription,
    ConfigChange,
    ConfigResource,
    Configs,
    Election,
    LogDirDescription,
    PartitionDescription,
    QuotaEntity,
    Replica,
    ResourceKind,
    StoredReplica,
    TopicCreation,
    TopicDescription,
    TopicExpansion,
    broker_resource,
    topic_resource,
)
from kedge.errors import (
    ElectionNotNeeded,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidTopic,
    KedgeError,
    LeaderNotAvailable,
    LogDirNotFound,
    NoReassignmentInProgress,
    ReplicaNotAvailable,
    TopicExists,
    UnknownBroker,
    UnknownTopicOrPartition,
)
from kedge.model import Broker, BrokerId, ReplicaAssignment, TopicPartition

INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")
LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
LOG_DIRS = ("/data/a", "/data/b")

T = TypeVar("T")


@dataclass(slots=True)
class _Partition:
    assignment: ReplicaAssignment
    leader: BrokerId | None
    isr: tuple[BrokerId, ...]
    directories: dict[BrokerId, str] = field(default_factory=dict[BrokerId, str])
    future: dict[BrokerId, str] = field(default_factory=dict[BrokerId, str])
    preferred: dict[BrokerId, str] = field(default_factory=dict[BrokerId, str])


class MemoryCluster:
    """The adapter of the cluster port that needs no cluster."""

    def __init__(
        self, brokers: Sequence[Broker] | int = 3, *, controller_node: BrokerId | None = None
    ) -> None:
        """With a `controller_node`, that node is the controller and listed, and is no broker."""
        if isinstance(brokers, int):
            brokers = [Broker(BrokerId(i), f"r{i}") for i in range(1, brokers + 1)]
        self._brokers = {broker.id: broker for broker in brokers}
        self._controller_node = controller_node
        if controller_node is not None:
            self._brokers[controller_node] = Broker(controller_node)
        self.alive = set(self._brokers)
        self.hold_moves = False
        self._topics: dict[str, dict[int, _Partition]] = {}
        self._ids: dict[str, str] = {}
        self._configs = KeptConfigs()
        self._quotas = KeptQuotas()
        self._created = 0

    # ---- what a test may do to it ---------------------------------------------------------------

    def stop_broker(self, broker: BrokerId) -> None:
        """A broker goes away: it leads nothing and is in sync with nothing."""
        self.alive.discard(broker)
        for partition in self._partitions():
            others = tuple(b for b in partition.isr if b != broker)
            partition.isr = others or partition.isr
            if partition.leader == broker:
                partition.leader = next((b for b in others if b in self.alive), None)

    def start_broker(self, broker: BrokerId) -> None:
        """A broker comes back and catches up at once."""
        self.alive.add(broker)
        for partition in self._partitions():
            replicas = partition.assignment.replicas
            partition.isr = tuple(b for b in replicas if b in self.alive)
            if partition.leader is None and partition.isr:
                partition.leader = partition.isr[0]

    def finish_moves(self) -> None:
        """All moves that are held come to their end."""
        for partition in self._partitions():
            if partition.assignment.in_progress:
                self._finish(partition)
            partition.directories |= partition.future
            partition.future.clear()

    def _partitions(self) -> list[_Partition]:
        return [each for topic in self._topics.values() for each in topic.values()]

    # ---- reading --------------------------------------------------------------------------------

    def describe(self) -> ClusterDescription:
        alive = sorted(self.alive)
        controller = self._controller_node or (alive[0] if alive else None)
        return ClusterDescription("memory", controller, tuple(self._brokers[b] for b in alive))

    def topic_names(self) -> dict[str, bool]:
        return {name: name in INTERNAL for name in sorted(self._topics)}

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | KedgeError]:
        return {name: _or_refusal(lambda name=name: self._described(name)) for name in names}

    def _described(self, name: str) -> TopicDescription:
        partitions = tuple(
            PartitionDescription(
                number,
                each.leader,
                each.assignment.replicas,
                each.isr,
                tuple(b for b in each.assignment.replicas if b not in self.alive),
            )
            for number, each in sorted(self._topic(name).items())
        )
        return TopicDescription(name, self._ids[name], name in INTERNAL, partitions)

    def _topic(self, name: str) -> dict[int, _Partition]:
        if name not in self._topics:
            raise UnknownTopicOrPartition(f"Topic {name!r} not found")
        return self._topics[name]

    def _partition(self, tp: TopicPartition) -> _Partition:
        topic = self._topic(tp.topic)
        if tp.partition not in topic:
            raise UnknownTopicOrPartition(f"no partition {tp}")
        return topic[tp.partition]

    # ---- topics ---------------------------------------------------------------------------------

    def create_topics(
        self, topics: Sequence[TopicCreation], *, validate_only: bool = False
    ) -> Answers[str]:
        return {t.name: _outcome(lambda t=t: self._create(t, validate_only)) for t in topics}

    def _create(self, wanted: TopicCreation, validate_only: bool) -> None:
        if not wanted.name or wanted.name in (".", "..") or not LEGAL.issuperset(wanted.name):
            raise InvalidTopic(f"{wanted.name!r} is no topic name")
        if wanted.name in self._topics:
            raise TopicExists(f"Topic {wanted.name!r} already exists")
        for name, value in wanted.configs.items():
            judge_config(topic_resource(wanted.name), name, value)
        lists = wanted.assignment or self._placed(wanted)
        if validate_only:
            return
        self._created += 1
        self._ids[wanted.name] = f"memory{self._created:016d}"
        self._configs.put(topic_resource(wanted.name), wanted.configs)
        self._topics[wanted.name] = {p: self._fresh(ids) for p, ids in lists.items()}

    def _placed(self, wanted: TopicCreation) -> dict[int, tuple[BrokerId, ...]]:
        count = 1 if wanted.partitions == BY_DEFAULT else wanted.partitions
        factor = 1 if wanted.replication_factor == BY_DEFAULT else wanted.replication_factor
        if count < 1:
            raise InvalidPartitions(f"{count} partitions")
        return self._round(range(count), factor)

    def _round(self, numbers: range, factor: int) -> dict[int, tuple[BrokerId, ...]]:
        brokers = sorted(self.alive)
        if not 1 <= factor <= len(brokers):
            raise InvalidReplicationFactor(f"{factor} replicas, {len(brokers)} brokers")
        return {p: tuple(brokers[(p + i) % len(brokers)] for i in range(factor)) for p in numbers}

    def _fresh(self, ids: Sequence[BrokerId]) -> _Partition:
        in_sync = tuple(b for b in ids if b in self.alive)
        leader = in_sync[0] if in_sync else None
        directories = {broker: LOG_DIRS[0] for broker in ids}
        return _Partition(ReplicaAssignment(tuple(ids)), leader, in_sync, directories)

    def expand_topics(
        self, topics: Sequence[TopicExpansion], *, validate_only: bool = False
    ) -> Answers[str]:
        return {t.topic: _outcome(lambda t=t: self._expand(t, validate_only)) for t in topics}

    def _expand(self, wanted: TopicExpansion, validate_only: bool) -> None:
        topic = self._topic(wanted.topic)
        if wanted.total <= len(topic):
            raise InvalidPartitions(f"{wanted.topic} has {len(topic)} partitions already")
        numbers = range(len(topic), wanted.total)
        if wanted.added is not None and len(wanted.added) != len(numbers):
            raise InvalidReplicaAssignment(
                f"{len(wanted.added)} lists for {len(numbers)} partitions"
            )
        factor = len(topic[0].assignment.replicas)
        lists = wanted.added or list(self._round(numbers, factor).values())
        if not validate_only:
            topic |= {p: self._fresh(ids) for p, ids in zip(numbers, lists, strict=True)}

    def delete_topics(self, names: Sequence[str]) -> Answers[str]:
        return {name: _outcome(lambda name=name: self._delete(name)) for name in names}

    def _delete(self, name: str) -> None:
        self._topic(name)
        del self._topics[name]
        self._configs.forget(topic_resource(name))

    # ---- configs --------------------------------------------------------------------------------

    def describe_configs(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, Configs | KedgeError]:
        return {r: _or_refusal(lambda r=r: self._entries(r, synonyms)) for r in resources}

    def _entries(self, resource: ConfigResource, synonyms: bool) -> Configs:
        self._judge_resource(resource)
        if self._controller_node is not None and (
            resource == broker_resource(self._controller_node)
        ):
            return ()
        return self._configs.entries(resource, synonyms=synonyms)

    def config_names(self, kind: ResourceKind) -> frozenset[str]:
        return self._configs.names(kind)

    def _judge_resource(self, resource: ConfigResource) -> None:
        if resource.kind is ResourceKind.TOPIC:
            self._topic(resource.name)
        elif (
            resource.kind is ResourceKind.BROKER
            and resource != BROKER_DEFAULTS
            and BrokerId(int(resource.name)) not in self.alive
        ):
            raise UnknownBroker(f"Broker {resource.name} is down")

    def alter_configs(
        self, changes: Changes, *, validate_only: bool = False
    ) -> Answers[ConfigResource]:
        return {
            resource: _outcome(
                lambda resource=resource, steps=steps: self._alter(resource, steps, validate_only)
            )
            for resource, steps in changes.items()
        }

    def _alter(
        self, resource: ConfigResource, steps: Sequence[ConfigChange], validate_only: bool
    ) -> None:
        self._judge_resource(resource)
        self._configs.alter(resource, steps, validate_only=validate_only)

    def describe_quotas(
        self, entity: QuotaEntity, *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        return self._quotas.matching(entity, strict=strict)

    def alter_quotas(
        self, entity: QuotaEntity, changes: Mapping[str, float | None]
    ) -> Answers[QuotaEntity]:
        self._quotas.alter(entity, changes)
        return {entity: DONE}

    # ---- moves ----------------------------------------------------------------------------------

    def reassignments(self) -> dict[TopicPartition, ReplicaAssignment]:
        return {
            TopicPartition(name, number): each.assignment
            for name, topic in sorted(self._topics.items())
            for number, each in sorted(topic.items())
            if each.assignment.in_progress
        }

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        return {
            tp: _outcome(lambda tp=tp, target=target: self._move(tp, target))
            for tp, target in targets.items()
        }

    def authorize_reassignments(self) -> KedgeError | None:
        return DONE

    def _move(self, tp: TopicPartition, target: Sequence[BrokerId] | None) -> None:
        partition = self._partition(tp)
        now = partition.assignment
        if target is None:
            if not now.in_progress:
                raise NoReassignmentInProgress(f"{tp} is not being moved")
            target = now.origin
        elif not target or len(set(target)) < len(target) or set(target) - self.alive:
            raise InvalidReplicaAssignment(f"{tp} cannot be on {list(target)}")
        wanted, origin = tuple(target), now.origin
        full = tuple(dict.fromkeys(wanted + origin))
        adding = tuple(b for b in full if b not in origin)
        removing = tuple(b for b in full if b not in wanted)
        partition.assignment = ReplicaAssignment(full, adding, removing)
        if not self.hold_moves or not (adding or removing):
            self._finish(partition)

    def _finish(self, partition: _Partition) -> None:
        target = partition.assignment.target
        partition.assignment = ReplicaAssignment(target)
        partition.isr = tuple(b for b in target if b in self.alive)
        chosen = {b: partition.preferred.pop(b, LOG_DIRS[0]) for b in target}
        partition.directories = {b: partition.directories.get(b, chosen[b]) for b in target}
        partition.future = {b: path for b, path in partition.future.items() if b in target}
        if partition.leader not in target:
            partition.leader = partition.isr[0] if partition.isr else None

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        return {b: _or_refusal(lambda b=b: self._log_dirs(b, topics)) for b in brokers}

    def _log_dirs(
        self, broker: BrokerId, topics: Sequence[str] | None
    ) -> tuple[LogDirDescription, ...]:
        if broker not in self.alive:
            raise UnknownBroker(f"Broker {broker} is down")
        stored = {
            path: [
                StoredReplica(TopicPartition(name, number), 0, 0, future=places is each.future)
                for name, topic in sorted(self._topics.items())
                for number, each in sorted(topic.items())
                for places in (each.directories, each.future)
                if places.get(broker) == path and (topics is None or name in topics)
            ]
            for path in LOG_DIRS
        }
        return tuple(LogDirDescription(path, tuple(found)) for path, found in stored.items())

    def alter_log_dirs(self, moves: Mapping[Replica, str]) -> Answers[Replica]:
        return {
            replica: _outcome(lambda replica=replica, path=path: self._change_dir(replica, path))
            for replica, path in moves.items()
        }

    def _change_dir(self, replica: Replica, path: str) -> None:
        if replica.broker not in self.alive:
            raise UnknownBroker(f"Broker {replica.broker} is down")
        if path not in LOG_DIRS:
            raise LogDirNotFound("the broker has no such log directory")
        partition = self._topics.get(replica.topic, {}).get(replica.partition)
        if partition is not None:
            partition.preferred[replica.broker] = path
        if partition is None or replica.broker not in partition.directories:
            raise ReplicaNotAvailable("the broker does not have this replica")
        partition.preferred.pop(replica.broker)
        partition.future.pop(replica.broker, None)
        if self.hold_moves and partition.directories[replica.broker] != path:
            partition.future[replica.broker] = path
        else:
            partition.directories[replica.broker] = path

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        if partitions is not None:
            return {tp: _outcome(lambda tp=tp: self._elect(election, tp)) for tp in partitions}
        everything = [TopicPartition(name, p) for name in self._topics for p in self._topics[name]]
        answers = self.elect_leaders(election, sorted(everything))
        return {tp: e for tp, e in answers.items() if not isinstance(e, ElectionNotNeeded)}

    def _elect(self, election: Election, tp: TopicPartition) -> None:
        partition = self._partition(tp)
        replicas = partition.assignment.replicas
        if election is Election.PREFERRED:
            if partition.leader == replicas[0]:
                raise ElectionNotNeeded(f"{tp} has its preferred leader")
            if replicas[0] not in partition.isr or replicas[0] not in self.alive:
                raise LeaderNotAvailable(f"broker {replicas[0]} cannot lead {tp}")
            partition.leader = replicas[0]
            return
        if partition.leader is not None:
            raise ElectionNotNeeded(f"{tp} has a leader")
        alive = [b for b in replicas if b in self.alive]
        if not alive:
            raise LeaderNotAvailable(f"no replica of {tp} is alive")
        partition.leader, partition.isr = alive[0], (alive[0],)

    def close(self) -> None:
        """Nothing to let go of: what was kept stays for whoever holds the cluster."""


def _outcome(action: Callable[[], None]) -> KedgeError | None:
    try:
        action()
    except KedgeError as refusal:
        return refusal
    return DONE


def _or_refusal(question: Callable[[], T]) -> T | KedgeError:
    try:
        return question()
    except KedgeError as refusal:
        return refusal
