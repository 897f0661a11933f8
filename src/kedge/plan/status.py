"""The status of reassignments that a file requested, as values and as the lines that Kafka prints.

Scripts of operators read these lines, so they are Kafka's to the letter. The judgement:

    the partition is moving now             Reassignment of partition t-0 is still in progress.
    its replicas are the wanted list        Reassignment of partition t-0 is completed.
    anything else, unknown partitions too   There is no active reassignment of partition t-0, but
                                            replica set is 0,2 rather than 0,1.

Lists are compared in order: the first replica is the preferred leader, so a wrong order is a wrong
result. A partition counts as moving when replicas are coming or going, whichever of the two
(Kafka 3.7 to 3.9 overlooks moves that only add, and so cannot cancel them).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan.kafka_json import ReassignmentFile, Replicas
from kedge.plan.log_dirs import LogDirState, LogDirStatus

Active = Mapping[TopicPartition, ReplicaAssignment]


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One wanted replica list and what became of it."""

    tp: TopicPartition
    current: Replicas
    wanted: Replicas
    done: bool

    @property
    def completed(self) -> bool:
        """Whether the move ended where it should."""
        return self.done and self.current == self.wanted

    @property
    def line(self) -> str:
        """The status as `--verify` prints it."""
        if not self.done:
            return f"Reassignment of partition {self.tp} is still in progress."
        if self.completed:
            return f"Reassignment of partition {self.tp} is completed."
        return (
            f"There is no active reassignment of partition {self.tp}, but replica set is "
            f"{commas(self.current)} rather than {commas(self.wanted)}."
        )


@dataclass(frozen=True, slots=True)
class Verification:
    """What `--verify` found out."""

    partitions: tuple[PartitionStatus, ...]
    log_dirs: tuple[LogDirStatus, ...]
    anything_active: bool

    @property
    def may_clear_throttles(self) -> bool:
        """Whether nothing in the cluster needs the throttles any more.

        A move outside the file keeps them; a partition that ended elsewhere does not.
        """
        return not self.anything_active and all(status.done for status in self.log_dirs)

    @property
    def lines(self) -> list[str]:
        """The report; an empty line stands for no directories."""
        partitions = [status.line for status in self.partitions]
        log_dirs = [status.line for status in self.log_dirs] or [""]
        return ["Status of partition reassignment:", *partitions, *log_dirs]


def verification(
    file: ReassignmentFile,
    *,
    current: Mapping[TopicPartition, Sequence[BrokerId]],
    active: Active,
    log_dirs: Iterable[LogDirStatus] = (),
) -> Verification:
    """Judge a file: `current` has the replicas of its partitions, `active` is cluster-wide."""
    moving = moving_now(active)
    statuses = partition_statuses(file.targets, current=current, active=moving)
    return Verification(tuple(statuses), tuple(log_dirs), bool(moving))


def partition_statuses(
    wanted: Mapping[TopicPartition, Replicas],
    *,
    current: Mapping[TopicPartition, Sequence[BrokerId]],
    active: Active,
) -> list[PartitionStatus]:
    """The state of every wanted replica list, by topic and partition."""
    return [partition_status(tp, wanted[tp], current.get(tp, ()), active) for tp in sorted(wanted)]


def partition_status(
    tp: TopicPartition, wanted: Replicas, current: Sequence[BrokerId], active: Active
) -> PartitionStatus:
    """The state of one wanted replica list."""
    if tp in active and active[tp].in_progress:
        return PartitionStatus(tp, active[tp].replicas, wanted, done=False)
    return PartitionStatus(tp, tuple(current), wanted, done=True)


def moving_now(states: Active) -> dict[TopicPartition, ReplicaAssignment]:
    """Those with replicas coming or going, by topic and partition."""
    return {tp: now for tp, now in sorted(states.items()) if now.in_progress}


def cancellable(file: ReassignmentFile, active: Active) -> list[TopicPartition]:
    """The partitions of a file that are moving; its replica lists do not matter here."""
    return [tp for tp in moving_now(active) if tp in file.targets]


def list_lines(active: Active) -> list[str]:
    """The report of `--list`."""
    moving = moving_now(active)
    if not moving:
        return ["No partition reassignments found."]
    return ["Current partition reassignments:", *(list_line(tp, moving[tp]) for tp in moving)]


def list_line(tp: TopicPartition, now: ReplicaAssignment) -> str:
    """One move; parts that are empty are left out."""
    adding = f" adding: {commas(now.adding)}." if now.adding else ""
    removing = f" removing: {commas(now.removing)}." if now.removing else ""
    return f"{tp}: replicas: {commas(now.replicas)}.{adding}{removing}"


def started_line(partitions: Iterable[TopicPartition]) -> str:
    """What `--execute` says when the moves have begun."""
    listed = sorted(partitions)
    return f"Successfully started partition reassignment{plural(listed)} for {commas(listed)}"


def cancelled_line(partitions: Iterable[TopicPartition]) -> str:
    """What `--cancel` says, also when there was nothing to cancel."""
    listed = sorted(partitions)
    if not listed:
        return "None of the specified partition reassignments are active."
    return f"Successfully cancelled partition reassignment{plural(listed)} for: {commas(listed)}"


def cancelled_log_dirs_line(statuses: Iterable[LogDirStatus]) -> str:
    """What `--cancel` says about directories when none is moving, else nothing."""
    active = any(status.state is LogDirState.ACTIVE for status in statuses)
    return "" if active else "None of the specified partition moves are active."


@dataclass(frozen=True, slots=True)
class Clearing:
    """Where throttles are deleted: the three rates on brokers, the two lists on topics."""

    brokers: tuple[BrokerId, ...]
    topics: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """What is said while clearing."""
        return [
            f"Clearing broker-level throttles on broker{plural(self.brokers)} "
            f"{commas(self.brokers)}",
            f"Clearing topic-level throttles on topic{plural(self.topics)} {commas(self.topics)}",
        ]


def clearing(file: ReassignmentFile, live: Iterable[BrokerId]) -> Clearing:
    """All live brokers and those of the file; only the topics of the file."""
    named = {broker for entry in file.entries for broker in entry.replicas}
    topics = {entry.tp.topic for entry in file.entries}
    return Clearing(tuple(sorted(named | set(live))), tuple(sorted(topics)))


def commas(items: Iterable[object]) -> str:
    """Items as Kafka's tools list them."""
    return ",".join(map(str, items))


def plural(items: Sequence[object]) -> str:
    """The ending of a noun that counts `items`."""
    return "" if len(items) == 1 else "s"
