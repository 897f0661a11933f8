"""Reads the partitions of a plan from a cluster, and the health of the rest of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kedge.cluster.port import (
    Cluster,
    PartitionDescription,
    TopicDescription,
    topic_resource,
)
from kedge.errors import KedgeError, Unauthorised, UnknownTopicOrPartition
from kedge.execution import (
    ANYWHERE,
    DIVERGED,
    Health,
    LogDirs,
    MoveStatus,
    Observation,
    PartitionHealth,
    Sizes,
    Statuses,
    Target,
    Work,
    health_of,
    statuses_of,
    work_of,
)
from kedge.execution.health import NOTHING_GIVEN_UP, GivenUp, OfflineLogDir, left_by
from kedge.model import BrokerId, TopicPartition
from kedge.model.runs_topic import TOPICS_OF_RUNS
from kedge.plan import Change, Directories, PartitionReplica

RECHECKS, RECHECK_S = 20, 0.25
MIN_ISR = "min.insync.replicas"


class Found(NamedTuple):
    """The partitions of a plan as observed, the sizes of their replicas, and log directories."""

    seen: Observation
    sizes: Sizes
    log_dirs: Mapping[PartitionReplica, str]  # of each replica whose broker responded
    online: Mapping[BrokerId, frozenset[str]]  # the paths of each broker that responded
    offline: Mapping[BrokerId, tuple[str, ...]] = MappingProxyType({})  # only of those with some
    usable: Mapping[BrokerId, Mapping[str, int]] = MappingProxyType({})  # bytes, where reported


def observe(
    cluster: Cluster,
    changes: Sequence[Change],
    target: Target = ANYWHERE,
    *,
    may_be_hidden: bool = False,
) -> Found:
    """Where the partitions of a plan are now, and how large their replicas are.

    Topics that this user may not see are a refusal, unless they `may_be_hidden`.

    Reassignments are read before replicas: one that ends in between is then seen as moving, for a
    moment longer than it was, and never as drifted.
    """
    wanted = {change.tp for change in changes}
    moving = cluster.reassignments()
    alive = cluster.describe().alive
    hidden: dict[str, str] | None = {} if may_be_hidden else None
    found = _partitions(cluster, {tp.topic for tp in wanted}, hidden)
    known = {tp: each for tp, each in found.items() if tp in wanted}
    found_dirs = _log_dirs(cluster, changes, alive)
    seen = Observation(
        alive=alive,
        replicas={tp: each.replicas for tp, each in known.items()},
        leaders={tp: each.leader for tp, each in known.items()},
        moving=moving,
        directories=found_dirs.directories if target.log_dirs else {},
        hidden=hidden or {},
    )
    log_dirs = {r: each.current for r, each in found_dirs.directories.items() if each.current}
    return Found(
        seen, found_dirs.sizes, log_dirs, found_dirs.online, found_dirs.offline, found_dirs.usable
    )


def observe_until_confirmed(
    read: Callable[[], Found],
    changes: Sequence[Change],
    target: Target,
    *,
    confirmed: set[TopicPartition],
    sleep: Callable[[float], None],
) -> tuple[Found, dict[TopicPartition, MoveStatus]]:
    """Observe; a partition that seems to have diverged is read again before it is reported.

    The controller reports the end of a reassignment before every broker has the new metadata.
    `confirmed` are the partitions known to have diverged; those found are added to it.
    """
    rechecks = RECHECKS
    while True:
        found = read()
        statuses = statuses_of(changes, found.seen, target)
        diverged = {tp for tp, status in statuses.items() if status in DIVERGED}
        rechecks -= 1
        if diverged <= confirmed or rechecks <= 0:
            confirmed |= diverged
            return found, statuses
        sleep(RECHECK_S)


def described_topics(
    cluster: Cluster,
    names: Iterable[str],
    *,
    all_exist: bool = False,
    hidden: dict[str, str] | None = None,
) -> dict[str, TopicDescription]:
    """Topics by name; absent ones are left out, unless `all_exist` is demanded.

    Topics that this user may not see go to `hidden`, with the missing permission, if it is given.
    """
    listed = sorted(set(names))
    found: dict[str, TopicDescription] = {}
    for name, topic in (cluster.describe_topics(listed) if listed else {}).items():
        if isinstance(topic, UnknownTopicOrPartition) and not all_exist:
            continue
        if isinstance(topic, Unauthorised) and hidden is not None:
            hidden[name] = str(topic)
            continue
        if isinstance(topic, KedgeError):
            raise topic
        found[name] = topic
    return found


def _partitions(
    cluster: Cluster, topics: Iterable[str], hidden: dict[str, str] | None = None
) -> dict[TopicPartition, PartitionDescription]:
    return {
        TopicPartition(name, each.partition): each
        for name, topic in described_topics(cluster, topics, hidden=hidden).items()
        for each in topic.partitions
    }


def work_in(
    found: Found,
    changes: Sequence[Change],
    statuses: Statuses,
    target: Target,
    log_dirs_before: LogDirs,
) -> Work:
    """What the changes of a run copy, as observed."""
    return work_of(changes, statuses, found.sizes, found.seen.leaders, target, log_dirs_before)


class _LogDirs(NamedTuple):
    directories: dict[PartitionReplica, Directories]
    sizes: Sizes
    online: dict[BrokerId, frozenset[str]]
    offline: dict[BrokerId, tuple[str, ...]]
    usable: dict[BrokerId, dict[str, int]]


def _log_dirs(cluster: Cluster, changes: Sequence[Change], alive: Iterable[BrokerId]) -> _LogDirs:
    """The log directories of these partitions' replicas; brokers without a response are left out.

    Every change names its brokers, so one request to each of them is enough for all questions.
    """
    brokers = {b for change in changes for b in (*change.before, *change.after)} & set(alive)
    topics = sorted({change.tp.topic for change in changes})
    current: dict[PartitionReplica, tuple[str, int]] = {}
    future: dict[PartitionReplica, tuple[str, int]] = {}
    online: dict[BrokerId, frozenset[str]] = {}
    offline: dict[BrokerId, tuple[str, ...]] = {}
    usable: dict[BrokerId, dict[str, int]] = {}
    for broker, answer in cluster.log_dirs(sorted(brokers), topics).items() if brokers else ():
        if isinstance(answer, KedgeError):
            continue
        online[broker] = frozenset(each.path for each in answer if each.error is None)
        if failed := tuple(each.path for each in answer if each.error is not None):
            offline[broker] = failed
        usable[broker] = {
            each.path: each.usable_bytes
            for each in answer
            if each.error is None and each.usable_bytes is not None
        }
        for log_dir in answer:
            for stored in log_dir.replicas:
                place = future if stored.future else current
                place[PartitionReplica(*stored.tp, broker)] = log_dir.path, stored.size_bytes
    directories = {
        replica: Directories(path, future.get(replica, (None, 0))[0])
        for replica, (path, _) in current.items()
    }
    sizes = Sizes(
        {replica: size for replica, (_, size) in current.items()},
        {replica: size for replica, (_, size) in future.items()},
    )
    return _LogDirs(directories, sizes, online, offline, usable)


# ---- everything else ----------------------------------------------------------------------------


def observe_health(
    cluster: Cluster, changes: Sequence[Change], given_up: GivenUp = NOTHING_GIVEN_UP
) -> Health:
    """The health of the brokers and of all partitions, those that a run changes apart.

    Topics that this user may not see are left out, as brokers leave them out of their list.
    """
    in_plan = {change.tp for change in changes}
    moving = cluster.reassignments()
    alive = cluster.describe().alive
    left = left_by(changes) - alive
    partitions = [
        PartitionHealth(tp, each.replicas, each.isr, moving[tp].adding if tp in moving else ())
        for tp, each in _partitions(cluster, cluster.topic_names(), hidden={}).items()
    ]
    outside = [e for e in partitions if e.tp not in in_plan and not _is_of_the_run(e, left)]
    planned = [each for each in partitions if each.tp in in_plan and each.under_replicated]
    short = [*planned, *(each for each in outside if each.under_replicated)]
    min_isr = min_isr_of(cluster, sorted({each.tp.topic for each in short}))
    offline = offline_log_dirs(cluster, sorted(alive))
    return health_of(outside, alive, min_isr, offline, given_up, planned)


def _is_of_the_run(partition: PartitionHealth, left: frozenset[BrokerId]) -> bool:
    """Whether it is one that a run has made Kafka create, with a replica on a broker that is down
    and that the plan leaves: KRaft places replicas there where the rack has no other broker.
    """
    short = partition.under_replicated and partition.out_of_sync <= left
    return short and partition.tp.topic in TOPICS_OF_RUNS


def min_isr_of(cluster: Cluster, topics: Sequence[str]) -> dict[str, int]:
    """`min.insync.replicas` of topics; those whose configs cannot be read are left out."""
    found: dict[str, int] = {}
    resources = [topic_resource(name) for name in topics]
    for resource, entries in (cluster.describe_configs(resources) if topics else {}).items():
        for entry in () if isinstance(entries, KedgeError) else entries:
            if entry.name == MIN_ISR and entry.value is not None and entry.value.isdigit():
                found[resource.name] = int(entry.value)
    return found


def offline_log_dirs(cluster: Cluster, brokers: Sequence[BrokerId]) -> list[OfflineLogDir]:
    """The log directories that live brokers cannot use."""
    found: list[OfflineLogDir] = []
    for broker, answer in cluster.log_dirs(brokers, []).items() if brokers else ():
        for log_dir in () if isinstance(answer, KedgeError) else answer:
            if log_dir.error is not None:
                found.append(OfflineLogDir(log_dir.path, broker))
    return found
