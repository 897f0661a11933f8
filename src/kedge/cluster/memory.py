"""A cluster in memory, for trials and tests of commands.

It validates the most frequent faults, places replicas round-robin, and ends a move at once unless
`hold_moves` is set: then the move stays in progress until `finish_moves`. The contract suite of the
port compares it with real clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kedge.cluster.memory_configs import MemoryConfigs, MemoryQuotas, check_config
from kedge.cluster.memory_partitions import LOG_DIRS, MemoryPartition, check_log_dir
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
    ReplicaNotAvailable,
    TopicExists,
    UnknownBroker,
    UnknownTopicOrPartition,
    UnsupportedByCluster,
)
from kedge.model import Broker, BrokerId, ReplicaAssignment, TopicPartition

INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")
LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")

T = TypeVar("T")


class MemoryCluster:
    """The cluster port on plain dictionaries."""

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
        self.kraft = True
        self._topics: dict[str, dict[int, MemoryPartition]] = {}
        self._ids: dict[str, str] = {}
        self._configs = MemoryConfigs()
        self._quotas = MemoryQuotas()
        self._created = 0

    # ---- changes by a test ---------------------------------------------------------------------

    def stop_broker(self, broker: BrokerId) -> None:
        """A broker goes down: it leads nothing and leaves the ISRs."""
        self.alive.discard(broker)
        for partition in self._partitions():
            partition.broker_stopped(broker, self.alive)

    def start_broker(self, broker: BrokerId) -> None:
        """A broker comes back and is in sync at once."""
        self.alive.add(broker)
        for partition in self._partitions():
            partition.broker_started(self.alive)

    def finish_moves(self) -> None:
        """All moves that are held end."""
        for partition in self._partitions():
            partition.finish_moves(self.alive)

    def _partitions(self) -> list[MemoryPartition]:
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

    def _topic(self, name: str) -> dict[int, MemoryPartition]:
        if name not in self._topics:
            raise UnknownTopicOrPartition(f"Topic {name!r} not found")
        return self._topics[name]

    def _partition(self, tp: TopicPartition) -> MemoryPartition:
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
            raise InvalidTopic(f"{wanted.name!r} is not a topic name")
        if wanted.name in self._topics:
            raise TopicExists(f"Topic {wanted.name!r} already exists")
        for name, value in wanted.configs.items():
            check_config(topic_resource(wanted.name), name, value)
        lists = wanted.assignment or self._placed(wanted)
        if validate_only:
            return
        self._created += 1
        self._ids[wanted.name] = f"memory{self._created:016d}"
        self._configs.put(topic_resource(wanted.name), wanted.configs)
        self._topics[wanted.name] = self._new_partitions(wanted.name, lists)

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

    def _new_partitions(
        self, topic: str, lists: Mapping[int, Sequence[BrokerId]]
    ) -> dict[int, MemoryPartition]:
        return {
            number: MemoryPartition.created(TopicPartition(topic, number), ids, self.alive)
            for number, ids in lists.items()
        }

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
            topic |= self._new_partitions(wanted.topic, dict(zip(numbers, lists, strict=True)))

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
        self._check_resource(resource)
        if self._controller_node is not None and (
            resource == broker_resource(self._controller_node)
        ):
            return ()
        return self._configs.entries(resource, synonyms=synonyms)

    def config_names(self, kind: ResourceKind) -> frozenset[str]:
        return self._configs.names(kind)

    def _check_resource(self, resource: ConfigResource) -> None:
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
        self._check_resource(resource)
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
            tp: _outcome(
                lambda tp=tp, target=target: self._partition(tp).move(
                    target, self.alive, hold=self.hold_moves
                )
            )
            for tp, target in targets.items()
        }

    def authorize_reassignments(self) -> KedgeError | None:
        return DONE

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
            replica: _outcome(lambda r=replica, p=path: self._change_log_dir(r, p))
            for replica, path in moves.items()
        }

    def _change_log_dir(self, replica: Replica, path: str) -> None:
        if replica.broker not in self.alive:
            raise UnknownBroker(f"Broker {replica.broker} is down")
        partition = self._topics.get(replica.topic, {}).get(replica.partition)
        if partition is None:
            check_log_dir(path)
            raise ReplicaNotAvailable("the broker does not have this replica")
        partition.change_log_dir(replica.broker, path, hold=self.hold_moves)

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        if partitions is not None:
            return {
                tp: _outcome(lambda tp=tp: self._partition(tp).elect(election, self.alive))
                for tp in partitions
            }
        everything = [TopicPartition(name, p) for name in self._topics for p in self._topics[name]]
        answers = self.elect_leaders(election, sorted(everything))
        return {tp: e for tp, e in answers.items() if not isinstance(e, ElectionNotNeeded)}

    # ---- registrations --------------------------------------------------------------------------

    def keeps_registrations(self) -> bool:
        return self.kraft

    def unregister_broker(self, broker: BrokerId) -> KedgeError | None:
        if not self.kraft:
            raise UnsupportedByCluster("The brokers do not support UnregisterBroker")
        if self._brokers.pop(broker, None) is None:
            return UnknownBroker(f"broker {broker}: no broker with this id is registered")
        self.alive.discard(broker)
        return DONE

    def close(self) -> None:
        """Nothing to close: the state stays with the object."""


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
