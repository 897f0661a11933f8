"""What a cluster shows, in the words of `execution`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from kedge.cluster.port import (
    Cluster,
    ConfigChange,
    ConfigOp,
    ConfigSource,
    PartitionDescription,
    broker_resource,
    topic_resource,
)
from kedge.errors import KedgeError, Unavailable, UnknownBroker, UnknownTopicOrPartition
from kedge.execution import Lease, Observation, Sizes, still_ours, throttles_in, unheard
from kedge.execution.journal import Settings
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change

Steps = Mapping[str, Sequence[ConfigChange]]
ABSENT = (UnknownBroker, UnknownTopicOrPartition)
OWN = (ConfigSource.TOPIC, ConfigSource.BROKER)
HEARD_S = 30.0  # longer than any broker was seen to need for the news of a config
HEARD_PAUSE_S = 0.1


def observe(cluster: Cluster, changes: Iterable[Change]) -> Observation:
    """Where the partitions of a plan are now.

    Moves are read before replicas: one that ends in between is then seen as moving, for a moment
    longer than it was, and never as strayed.
    """
    wanted = {change.tp for change in changes}
    moving = cluster.reassignments()
    alive = cluster.describe().alive
    found = _partitions(cluster, sorted({tp.topic for tp in wanted}))
    known = {tp: each for tp, each in found.items() if tp in wanted}
    return Observation(
        alive=alive,
        replicas={tp: each.replicas for tp, each in known.items()},
        leaders={tp: each.leader for tp, each in known.items()},
        moving=moving,
    )


def _partitions(
    cluster: Cluster, topics: Sequence[str]
) -> dict[TopicPartition, PartitionDescription]:
    found: dict[TopicPartition, PartitionDescription] = {}
    for name, topic in (cluster.describe_topics(topics) if topics else {}).items():
        if isinstance(topic, UnknownTopicOrPartition):
            continue
        if isinstance(topic, KedgeError):
            raise topic
        found |= {TopicPartition(name, each.partition): each for each in topic.partitions}
    return found


def sizes_of(cluster: Cluster, changes: Sequence[Change], alive: Iterable[BrokerId]) -> Sizes:
    """The bytes of every replica of these partitions; brokers that do not answer tell nothing."""
    brokers = {b for change in changes for b in (*change.before, *change.after)} & set(alive)
    topics = sorted({change.tp.topic for change in changes})
    sizes: dict[tuple[TopicPartition, BrokerId], int] = {}
    for broker, told in cluster.log_dirs(sorted(brokers), topics).items() if brokers else ():
        for log_dir in () if isinstance(told, KedgeError) else told:
            for stored in log_dir.replicas:
                if not stored.future:
                    sizes[stored.tp, broker] = stored.size_bytes
    return sizes


# ---- throttles ----------------------------------------------------------------------------------


def present_throttles(cluster: Cluster, lease: Lease) -> Lease:
    """The throttles that stand now on the brokers and topics of a lease."""
    brokers = {broker_resource(BrokerId(int(name))): name for name in lease.brokers}
    topics = {topic_resource(name): name for name in lease.topics}
    told = cluster.describe_configs([*brokers, *topics]) if brokers or topics else {}
    found = {True: dict[str, dict[str, str]](), False: dict[str, dict[str, str]]()}
    for resource, entries in told.items():
        if isinstance(entries, ABSENT):
            continue
        if isinstance(entries, KedgeError):
            raise entries
        own = {entry.name: entry.value for entry in entries if entry.source in OWN}
        of_topic = resource in topics
        if throttles := throttles_in(own, of_topic=of_topic):
            found[of_topic][resource.name] = throttles
    return Lease(brokers=found[False], topics=found[True])


def set_throttles(cluster: Cluster, lease: Lease) -> None:
    """Set what the lease says."""

    def steps(settings: Settings) -> Steps:
        return {
            name: [ConfigChange(config, ConfigOp.SET, value) for config, value in configs.items()]
            for name, configs in settings.items()
        }

    _alter(cluster, steps(lease.topics), steps(lease.brokers))


def until_heard(
    cluster: Cluster,
    lease: Lease,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[str]:
    """Wait until brokers tell the rates of a lease as theirs; says which did not in time.

    They hear of throttles some time after these are stored, and a move could be faster. They hear
    in the order of storing, lists first: whoever tells its rate has the lists.
    """
    deadline = clock() + HEARD_S
    while True:
        try:
            silent = unheard(lease, present_throttles(cluster, lease))
        except Unavailable:  # one of them is on its way down, or all are out of reach
            silent = list(lease.brokers)
        if not silent or clock() >= deadline:
            return silent
        sleep(HEARD_PAUSE_S)


def remove_throttles(cluster: Cluster, lease: Lease) -> None:
    """Remove what is still as the lease says; what others have changed stays theirs."""

    def steps(doomed: Mapping[str, Sequence[str]]) -> Steps:
        return {
            name: [ConfigChange(config, ConfigOp.DELETE) for config in configs]
            for name, configs in doomed.items()
        }

    doomed = still_ours(lease, present_throttles(cluster, lease))
    _alter(cluster, steps(doomed["topics"]), steps(doomed["brokers"]))


def _alter(cluster: Cluster, topics: Steps, brokers: Steps) -> None:
    """Topics first: while the lists stand alone they slow nobody down."""
    for changes in (
        {topic_resource(name): steps for name, steps in topics.items()},
        {broker_resource(BrokerId(int(name))): steps for name, steps in brokers.items()},
    ):
        for refusal in (cluster.alter_configs(changes) if changes else {}).values():
            if refusal is not None and not isinstance(refusal, ABSENT):
                raise refusal
