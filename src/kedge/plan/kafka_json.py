"""Kafka's reassignment files: what `kafka-reassign-partitions` reads and writes.

    {"version":1,"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3],
                                "log_dirs":["any","/d/kafka","any"]}]}

One form, two strictnesses. Verify and cancel take what parses (`parse_reassignment`): names and
ids are looked up in the cluster, and what is not there is reported as not moving. Execute changes
things, so it refuses a file that contradicts itself first (`checked_for_execute`).

`log_dirs` stands beside `replicas`, position by position: "any" leaves the directory to the broker.
`kafka_text` writes these files.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from kedge.errors import MalformedInput, RefusedCommand
from kedge.model import BrokerId, TopicPartition
from kedge.model.columns import Int32s, lists_of_matrix
from kedge.plan.json_text import (
    Fields,
    array_field,
    as_object,
    as_whole,
    read_json,
    text_field,
    text_list,
    whole_field,
    whole_list,
)
from kedge.plan.log_dirs import ANY_LOG_DIR, PartitionReplica

VERSION = 1

Replicas = tuple[BrokerId, ...]
Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Reassignment:
    """One line of a reassignment file; `log_dirs` is as long as `replicas`."""

    tp: TopicPartition
    replicas: Replicas
    log_dirs: tuple[str, ...]

    @classmethod
    def anywhere(cls, tp: TopicPartition, replicas: Sequence[BrokerId]) -> Reassignment:
        """A move that leaves the directories to the brokers."""
        return cls(tp, tuple(replicas), (ANY_LOG_DIR,) * len(replicas))


def replica_lists(replicas: Int32s) -> list[Replicas]:
    """The rows of a padded matrix of broker ids."""
    return cast("list[Replicas]", list(map(tuple, lists_of_matrix(replicas))))


def reassignments_of(
    names: Iterable[TopicPartition],
    replicas: Int32s,
    log_dirs: Iterable[tuple[str, ...]] | None = None,
) -> tuple[Reassignment, ...]:
    """Many lines from a padded matrix of broker ids; directories are left to the brokers."""
    lists = replica_lists(replicas)
    if log_dirs is None:
        log_dirs = [(ANY_LOG_DIR,) * len(ids) for ids in lists]
    return tuple(map(Reassignment, names, lists, log_dirs))


@dataclass(frozen=True, slots=True)
class ReassignmentFile:
    """A reassignment file in the order it was written, possibly with a partition twice."""

    entries: tuple[Reassignment, ...]

    @property
    def targets(self) -> dict[TopicPartition, Replicas]:
        """The wanted replicas of each partition; of two lines for one the last counts."""
        return {entry.tp: entry.replicas for entry in self.entries}

    @property
    def log_dir_moves(self) -> dict[PartitionReplica, str]:
        """The directory wanted for each replica that names one."""
        return {
            PartitionReplica(*entry.tp, broker): path
            for entry in self.entries
            for broker, path in zip(entry.replicas, entry.log_dirs, strict=True)
            if path != ANY_LOG_DIR
        }


def parse_reassignment(text: str) -> ReassignmentFile:
    """Read a reassignment file as verify and cancel do: its shape is checked, its sense is not."""
    fields = as_object(read_json(text, "reassignment file"), "")
    check_version(fields)
    if "partitions" not in fields:
        return ReassignmentFile(())
    items = enumerate(array_field(fields, "partitions", ""))
    return ReassignmentFile(tuple(entry(item, f"partitions[{i}]") for i, item in items))


def entry(item: object, place: str) -> Reassignment:
    """One element of `partitions`."""
    fields = as_object(item, place)
    tp = topic_partition(fields, place)
    replicas = broker_ids(whole_list(fields, "replicas", place))
    if "log_dirs" not in fields:
        return Reassignment.anywhere(tp, replicas)
    log_dirs = text_list(fields, "log_dirs", place)
    if len(log_dirs) != len(replicas):
        raise RefusedCommand(
            f"{place}.log_dirs: {len(log_dirs)} directories for the {len(replicas)} replicas of "
            f"{tp}",
            hint=f'name one per replica, "{ANY_LOG_DIR}" where it does not matter',
        )
    return Reassignment(tp, replicas, log_dirs)


def parse_execute(text: str) -> ReassignmentFile:
    """Read a reassignment file as execute does: parsed, then checked against itself."""
    return checked_for_execute(parse_reassignment(text))


def checked_for_execute(file: ReassignmentFile) -> ReassignmentFile:
    """The same file, if it can be carried out as it stands; the cluster is not asked."""
    entries = file.entries
    if not entries:
        raise RefusedCommand("the reassignment file lists no partition")
    for i, each in enumerate(entries):
        if not each.replicas:
            raise RefusedCommand(f"partitions[{i}].replicas: {each.tp} would have no replica")
    twice = repeated(each.tp for each in entries)
    if twice:
        raise RefusedCommand(f"the reassignment file lists {joined(twice)} more than once")
    for i, each in enumerate(entries):
        if again := repeated(each.replicas):
            raise RefusedCommand(
                f"partitions[{i}].replicas: {each.tp} lists broker {joined(again)} more than once"
            )
    return file


def parse_topics_to_move(text: str) -> tuple[str, ...]:
    """Read a topics-to-move file, `{"version":1,"topics":[{"topic":"foo"}]}`, in its order."""
    fields = as_object(read_json(text, "topics file"), "")
    check_version(fields)
    if "topics" not in fields:
        return ()
    items = enumerate(array_field(fields, "topics", ""))
    topics = tuple(topic_name(item, f"topics[{i}]") for i, item in items)
    if twice := repeated(topics):
        raise RefusedCommand(f"the topics file lists {joined(twice)} more than once")
    return topics


def topic_name(item: object, place: str) -> str:
    """One element of `topics`."""
    return text_field(as_object(item, place), "topic", place)


def parse_election(text: str) -> tuple[TopicPartition, ...]:
    """Read a leader-election file, `{"partitions":[{"topic":"foo","partition":1}]}`.

    A version is neither wanted nor looked at.
    """
    fields = as_object(read_json(text, "election file"), "")
    if "partitions" not in fields:
        raise MalformedInput("the election file has no partitions")
    items = enumerate(array_field(fields, "partitions", ""))
    listed = tuple(election_entry(item, f"partitions[{i}]") for i, item in items)
    if twice := repeated(listed):
        raise MalformedInput(f"the election file lists {joined(twice)} more than once")
    return listed


def election_entry(item: object, place: str) -> TopicPartition:
    """One element of an election file."""
    return topic_partition(as_object(item, place), place)


def check_version(fields: Fields) -> None:
    """Refuse any version but 1; a missing one is 1."""
    version = as_whole(fields.get("version", VERSION), "version")
    if version != VERSION:
        raise MalformedInput(f"{version} is not supported", place="version", hint="write 1")


def topic_partition(fields: Fields, place: str) -> TopicPartition:
    """The partition that an object names."""
    return TopicPartition(
        text_field(fields, "topic", place), whole_field(fields, "partition", place)
    )


def broker_ids(ids: Iterable[int]) -> Replicas:
    """Numbers known to be broker ids."""
    return cast("Replicas", tuple(ids))


def repeated(items: Iterable[Item]) -> list[Item]:
    """What occurs more than once, each one once, in the order noticed."""
    seen: set[Item] = set()
    again: dict[Item, None] = {}
    for item in items:
        if item in seen:
            again[item] = None
        seen.add(item)
    return list(again)


def joined(items: Iterable[object]) -> str:
    """Names for a sentence."""
    return ", ".join(map(str, items))
