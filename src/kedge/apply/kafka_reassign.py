"""Carries out a reassignment file as kafka-reassign-partitions does: generate to cancel.

Each function validates with `kedge.plan` and acts through the cluster port. A `Reporter` gets each
line that Kafka's tool prints, notes beside them, and the question before a change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from kedge.apply.observe import described_topics
from kedge.apply.throttles import CONFIRM_S, Waiting, until_confirmed
from kedge.cluster.port import (
    Cluster,
    ClusterDescription,
    ConfigChange,
    ConfigOp,
    ConfigResource,
    Replica,
    broker_resource,
    topic_resource,
)
from kedge.errors import (
    KedgeError,
    ReplicaNotAvailable,
    RequestTimedOut,
    UnknownBroker,
)
from kedge.execution import Lease
from kedge.model import Broker, BrokerId, TopicPartition
from kedge.placement import drawn, place
from kedge.plan import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    Clearing,
    Directories,
    LogDirStatus,
    PartitionReplica,
    Proposal,
    ReassignmentFile,
    Verification,
    broker_rates,
    cancellable,
    cancelled_line,
    cancelling_log_dir_moves,
    clearing,
    failed_lines,
    judge_execute,
    log_dir_brokers,
    log_dir_lines,
    log_dir_rates,
    log_dir_statuses,
    move_map,
    propose,
    rollback_lines,
    started_line,
    throttle_lines,
    throttles_of,
    verification,
)

RETRY_S = 0.1

Replicas = tuple[BrokerId, ...]
Present = dict[TopicPartition, Replicas]


def _ignore(_text: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Reporter:
    """Where the text of a command goes; `confirm` raises where the operator declines."""

    line: Callable[[str], None] = _ignore
    note: Callable[[str], None] = _ignore
    confirm: Callable[[str], None] = _ignore

    def lines(self, lines: Iterable[str]) -> None:
        """Report several lines."""
        for line in lines:
            self.line(line)


@dataclass(frozen=True, slots=True)
class Execution:
    """What an execute did."""

    before: Present
    started: tuple[TopicPartition, ...] = ()
    refused: Mapping[TopicPartition, KedgeError] = field(
        default_factory=dict[TopicPartition, KedgeError]
    )
    log_dirs: Mapping[PartitionReplica, str] = field(default_factory=dict[PartitionReplica, str])


@dataclass(frozen=True, slots=True)
class Limits:
    """Rates in bytes per second, None for no change; and how long moves of directories may take."""

    inter_broker: int | None = None
    log_dirs: int | None = None
    timeout_ms: int = 10_000


def present_replicas(cluster: Cluster, topics: Iterable[str]) -> dict[str, dict[int, Replicas]]:
    """The replicas of topics by partition; absent topics are left out."""
    return {name: topic.replicas() for name, topic in described_topics(cluster, topics).items()}


def _present(cluster: Cluster, file: ReassignmentFile) -> Present:
    by_topic = present_replicas(cluster, (entry.tp.topic for entry in file.entries))
    return {
        TopicPartition(topic, partition): ids
        for topic, partitions in by_topic.items()
        for partition, ids in partitions.items()
        if TopicPartition(topic, partition) in file.targets
    }


# ---- generate -----------------------------------------------------------------------------------


def generate(
    cluster: Cluster, topics: Sequence[str], brokers: Sequence[BrokerId], *, rack_aware: bool
) -> Proposal:
    """A fresh layout of topics on some of the brokers that are alive."""
    rng = Random()

    def placed(
        brokers: Sequence[Broker], *, partitions: int, replication_factor: int
    ) -> Mapping[int, Replicas]:
        start = drawn(rng.randrange, max(1, len(brokers)))
        return place(
            brokers, partitions=partitions, replication_factor=replication_factor, start=start
        ).as_mapping()

    return propose(
        topics,
        current=present_replicas(cluster, topics),
        alive=cluster.describe().brokers,
        requested=brokers,
        rack_aware=rack_aware,
        place=placed,
    )


# ---- execute ------------------------------------------------------------------------------------


def execute(
    cluster: Cluster,
    file: ReassignmentFile,
    limits: Limits,
    *,
    additional: bool,
    dry_run: bool,
    report: Reporter,
) -> Execution:
    """Start the moves of a file; partitions that the controller refuses are in the result."""
    active = cluster.reassignments()
    cluster_now = cluster.describe()
    alive = cluster_now.alive
    before = _present(cluster, file)
    judge_execute(file, active=active, alive=alive, current=before, additional=additional)
    report.lines(rollback_lines(file, before))
    if dry_run:
        return Execution(before)
    report.confirm(_execute_question(cluster_now, file))
    moves = throttles_of(move_map(active, file.targets, before))
    if limits.inter_broker is not None or limits.log_dirs is not None:
        report.note("throttles stay until verify removes them: run it until all moves are done")
    if limits.inter_broker is not None:
        lists = {t: (moves.leader[t], moves.follower[t]) for t in moves.leader}
        _alter_configs(
            cluster, {topic_resource(t): _set_steps(TOPIC_THROTTLES, v) for t, v in lists.items()}
        )
        _set_rates(cluster, moves.brokers, broker_rates(limits.inter_broker), alive, report)
        report.lines(throttle_lines(inter_broker=limits.inter_broker, log_dirs=None))
    wanted = file.log_dir_moves
    if limits.log_dirs is not None:
        _set_rates(cluster, log_dir_brokers(wanted), log_dir_rates(limits.log_dirs), alive, report)
        report.lines(throttle_lines(inter_broker=None, log_dirs=limits.log_dirs))
    refused = _refused(cluster.alter_reassignments(file.targets))
    started = tuple(sorted(tp for tp in file.targets if tp not in refused))
    if refused:
        report.lines(failed_lines({tp: str(error) for tp, error in refused.items()}))
        return Execution(before, started, refused)
    report.line(started_line(started))
    if wanted:
        move_directories(cluster, wanted, timeout_ms=limits.timeout_ms, report=report)
    return Execution(before, started, log_dirs=wanted)


def _execute_question(cluster: ClusterDescription, file: ReassignmentFile) -> str:
    partitions, log_dirs = len(file.targets), len(file.log_dir_moves)
    moves = f"{partitions} partition{'' if partitions == 1 else 's'}"
    if log_dirs:
        moves += f" and {log_dirs} replica{'' if log_dirs == 1 else 's'} between directories"
    return f"Reassign {moves} of cluster {cluster.cluster_id}?"


def _refused(
    answers: Mapping[TopicPartition, KedgeError | None],
) -> dict[TopicPartition, KedgeError]:
    return {tp: error for tp, error in answers.items() if error is not None}


def move_directories(
    cluster: Cluster, moves: Mapping[PartitionReplica, str], *, timeout_ms: int, report: Reporter
) -> None:
    """Request moves between directories; repeat it for replicas that have not arrived yet."""
    pending = dict(moves)
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        answers = cluster.alter_log_dirs({Replica(*r): path for r, path in pending.items()})
        late: dict[PartitionReplica, str] = {}
        for replica, path in pending.items():
            refusal = answers[Replica(*replica)]
            if isinstance(refusal, ReplicaNotAvailable):
                late[replica] = path
            elif refusal is not None:
                raise type(refusal)(f"{replica}: {refusal.what}", hint=refusal.hint)
        report.lines(log_dir_lines({r: p for r, p in pending.items() if r not in late}))
        pending = late
        if not pending:
            return
        if time.monotonic() >= deadline:
            names = ", ".join(map(str, sorted(pending)))
            raise RequestTimedOut(
                f"Replicas not in their new directories within {timeout_ms} ms: {names}",
                hint="the replicas are still being copied: run execute again, with --additional",
            )
        time.sleep(RETRY_S)


# ---- throttles ----------------------------------------------------------------------------------


def _set_steps(names: Sequence[str], values: Sequence[str]) -> list[ConfigChange]:
    return [ConfigChange(n, ConfigOp.SET, v) for n, v in zip(names, values, strict=True)]


def _delete_steps(names: Iterable[str]) -> list[ConfigChange]:
    return [ConfigChange(name, ConfigOp.DELETE) for name in names]


def _set_rates(
    cluster: Cluster,
    brokers: Sequence[BrokerId],
    rates: Mapping[str, str],
    alive: Iterable[BrokerId],
    report: Reporter,
) -> None:
    reachable = _only_alive(brokers, alive, report)
    steps = _set_steps(list(rates), list(rates.values()))
    _alter_configs(cluster, {broker_resource(broker): steps for broker in reachable})
    lease = Lease({str(broker): dict(rates) for broker in reachable}, {})
    try:
        silent = until_confirmed(cluster, lease, Waiting())
    except KedgeError as refusal:  # altering and describing configs are two permissions
        report.note(f"could not check that brokers applied their throttles: {refusal.what}")
    else:
        if silent:
            report.note(f"broker {', '.join(silent)} did not apply its throttle in {CONFIRM_S:g} s")


def _only_alive(
    brokers: Sequence[BrokerId], alive: Iterable[BrokerId], report: Reporter
) -> list[BrokerId]:
    """The brokers that are alive: configs of a dead broker cannot be changed."""
    dead = sorted(set(brokers) - set(alive))
    if dead:
        report.note(f"broker {', '.join(map(str, dead))} is down: its throttles stay as they are")
    return [broker for broker in brokers if broker not in dead]


def _alter_configs(
    cluster: Cluster, changes: Mapping[ConfigResource, Sequence[ConfigChange]]
) -> None:
    answers = cluster.alter_configs(changes) if changes else {}
    for refusal in answers.values():
        if refusal is not None and not isinstance(refusal, UnknownBroker):
            raise refusal


def clear_throttles(cluster: Cluster, file: ReassignmentFile, report: Reporter) -> Clearing:
    """Delete the rates on all brokers and the lists on the topics of the file."""
    alive = cluster.describe().alive
    cleared = clearing(file, alive)
    brokers_line, topics_line = cleared.lines
    report.line(brokers_line)
    _alter_configs(
        cluster,
        {
            broker_resource(b): _delete_steps(BROKER_THROTTLES)
            for b in _only_alive(cleared.brokers, alive, report)
        },
    )
    report.line(topics_line)
    _alter_configs(
        cluster, {topic_resource(topic): _delete_steps(TOPIC_THROTTLES) for topic in cleared.topics}
    )
    return cleared


# ---- verify and cancel --------------------------------------------------------------------------


def verify(
    cluster: Cluster, file: ReassignmentFile, *, preserve_throttles: bool, report: Reporter
) -> tuple[Verification, Clearing | None]:
    """Report the state of the moves, and clear throttles that are no longer needed."""
    judged = verification(
        file,
        current=_present(cluster, file),
        active=cluster.reassignments(),
        log_dirs=_directory_statuses(cluster, file),
    )
    report.lines(judged.lines)
    if preserve_throttles or not judged.may_clear_throttles:
        return judged, None
    return judged, clear_throttles(cluster, file, report)


def cancel(
    cluster: Cluster,
    file: ReassignmentFile,
    *,
    preserve_throttles: bool,
    timeout_ms: int,
    report: Reporter,
) -> tuple[list[TopicPartition], dict[TopicPartition, KedgeError]]:
    """Cancel the moves of a file that are in progress; the cancelled and the refused ones."""
    moving = cancellable(file, cluster.reassignments())
    refused = _refused(cluster.alter_reassignments(dict.fromkeys(moving)) if moving else {})
    if refused:
        lines = failed_lines({tp: str(error) for tp, error in refused.items()})
        report.lines([lines[0].replace("reassigning", "cancelling"), *lines[1:]])
        return [tp for tp in moving if tp not in refused], refused
    report.line(cancelled_line(moving))
    back = cancelling_log_dir_moves(_directory_statuses(cluster, file))
    if back:
        move_directories(cluster, back, timeout_ms=timeout_ms, report=report)
    else:
        report.line("None of the specified partition moves are active.")
    if not preserve_throttles:
        clear_throttles(cluster, file, report)
    return moving, {}


def _directory_statuses(cluster: Cluster, file: ReassignmentFile) -> list[LogDirStatus]:
    wanted = file.log_dir_moves
    return log_dir_statuses(wanted, _directories(cluster, wanted)) if wanted else []


def _directories(
    cluster: Cluster, wanted: Iterable[PartitionReplica]
) -> dict[PartitionReplica, Directories]:
    """The log directories of these replicas; brokers that do not respond are left out."""
    replicas = list(wanted)
    answered = cluster.log_dirs(
        sorted({r.broker for r in replicas}), sorted({r.topic for r in replicas})
    )
    found: dict[PartitionReplica, Directories] = {}
    for broker, log_dirs in answered.items():
        if isinstance(log_dirs, KedgeError):
            continue
        found |= {r: Directories(None) for r in replicas if r.broker == broker}
        for log_dir in log_dirs:
            for stored in log_dir.replicas if log_dir.error is None else ():
                key = PartitionReplica(*stored.tp, broker)
                known = found.get(key, Directories(None))
                placed = {"future" if stored.future else "current": log_dir.path}
                found[key] = known._replace(**placed)
    return found
