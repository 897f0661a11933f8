"""An image being edited: the mutable side of replay.

Small maps (brokers, features, ACLs …) are copied when first touched; topics, names, configs and the
indexes are persistent maps. Partitions of a topic are copied once per draft.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from kedge.errors import InvariantViolated
from kedge.metadata.ids import MIGRATING, Uuid
from kedge.metadata.image import (
    Image,
    Partition,
    PartitionKey,
    Topic,
)
from kedge.metadata.index_edit import IndexEdit
from kedge.metadata.records import (
    LEADER_UNCHANGED,
    RECOVERY_UNCHANGED,
    PartitionChangeRecord,
    PartitionRecord,
)
from kedge.topics import has_collision_chars

TOPIC_RESOURCE = 2

_PLAIN = ("features", "brokers", "controllers", "quotas", "acls", "scram", "tokens")
_MAPS = ("topic_ids", "alike", "configs")


class Draft:
    """Edits of an image, until they are finished."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._partitions: dict[Uuid, dict[int, Partition]] = {}
        self._new_topics: dict[Uuid, Topic] = {}
        self._removed_topics: set[Uuid] = set()
        self.next_producer_id = image.next_producer_id

    # each of these is copied when it is first needed
    @cached_property
    def features(self):
        return dict(self._image.features)

    @cached_property
    def brokers(self):
        return dict(self._image.brokers)

    @cached_property
    def controllers(self):
        return dict(self._image.controllers)

    @cached_property
    def quotas(self):
        return dict(self._image.quotas)

    @cached_property
    def acls(self):
        return dict(self._image.acls)

    @cached_property
    def scram(self):
        return dict(self._image.scram)

    @cached_property
    def tokens(self):
        return dict(self._image.tokens)

    @cached_property
    def topic_ids(self):
        return self._image.topic_ids.edit()

    @cached_property
    def alike(self):
        return self._image.alike.edit()

    @cached_property
    def configs(self):
        return self._image.configs.edit()

    @cached_property
    def _indexes(self) -> IndexEdit:
        return IndexEdit(self._image.indexes)

    # ---- topics ----------------------------------------------------------------------------------

    def _topic(self, topic_id: Uuid) -> Topic | None:
        if topic_id in self._removed_topics:
            return None
        return self._new_topics.get(topic_id) or self._image.topics.get(topic_id)

    def knows_topic(self, name: str) -> bool:
        """Whether a topic of that name exists."""
        return name in self.topic_ids

    def topic_names(self) -> list[str]:
        """The names of all topics, sorted."""
        added = {topic.name for topic in self._new_topics.values()}
        names = added.union(self._image.topic_ids)
        return sorted(name for name in names if name in self.topic_ids)

    def add_topic(self, topic_id: Uuid, name: str) -> None:
        """A new topic without partitions."""
        if name in self.topic_ids or self._topic(topic_id) is not None:
            raise InvariantViolated(f"topic {name} exists already")
        self.topic_ids[name] = topic_id
        self._removed_topics.discard(topic_id)
        self._new_topics[topic_id] = Topic(topic_id, name)
        self._partitions[topic_id] = {}
        if has_collision_chars(name):
            unified = name.replace(".", "_")
            self.alike[unified] = (*(self.alike.get(unified) or ()), name)

    def remove_topic(self, topic_id: Uuid) -> None:
        """Remove a topic with its partitions and configs."""
        topic = self._topic(topic_id)
        if topic is None:
            raise InvariantViolated(f"no topic has the id {topic_id}")
        for number, partition in self._partitions_of(topic_id).items():
            self._indexes.move((topic_id, number), partition, None)
        self.topic_ids.discard(topic.name)
        self.configs.discard((TOPIC_RESOURCE, topic.name))
        self._removed_topics.add(topic_id)
        self._new_topics.pop(topic_id, None)
        self._partitions.pop(topic_id, None)
        if has_collision_chars(topic.name):
            unified = topic.name.replace(".", "_")
            left = tuple(name for name in self.alike.get(unified) or () if name != topic.name)
            if left:
                self.alike[unified] = left
            else:
                self.alike.discard(unified)

    def _partitions_of(self, topic_id: Uuid) -> dict[int, Partition]:
        mine = self._partitions.get(topic_id)
        if mine is None:
            topic = self._topic(topic_id)
            if topic is None:
                raise InvariantViolated(f"no topic has the id {topic_id}")
            mine = self._partitions[topic_id] = dict(topic.partitions)
        return mine

    def partition(self, key: PartitionKey) -> Partition | None:
        """A partition as edited so far."""
        return self._partitions_of(key[0]).get(key[1])

    def put_partition(self, key: PartitionKey, before: Partition | None, after: Partition) -> None:
        """Add or replace a partition."""
        self._partitions_of(key[0])[key[1]] = after
        self._indexes.move(key, before, after)

    def clear_elr(self, name: str) -> None:
        """Clear the eligible leader replicas of a topic's partitions."""
        topic_id = self.topic_ids.get(name)
        assert topic_id is not None, "the topic was found by its name"
        for number, before in sorted(self._partitions_of(topic_id).items()):
            if before.elr or before.last_known_elr:
                after = replace(before, elr=(), last_known_elr=(), epoch=before.epoch + 1)
                self.put_partition((topic_id, number), before, after)

    # ---- the result ------------------------------------------------------------------------------

    def finish(self) -> Image:
        """The edited image; nothing is copied that was not touched."""
        touched = vars(self)
        changes = {name: touched[name] for name in _PLAIN if name in touched}
        changes |= {name: touched[name].finish() for name in _MAPS if name in touched}
        if self._partitions or self._removed_topics:
            changes["topics"] = self._finished_topics()
        if "_indexes" in touched:
            changes["indexes"] = self._indexes.finish()
        if self.next_producer_id != self._image.next_producer_id:
            changes["next_producer_id"] = self.next_producer_id
        return replace(self._image, **changes) if changes else self._image

    def _finished_topics(self):
        edit = self._image.topics.edit()
        for topic_id in self._removed_topics:
            edit.discard(topic_id)
        for topic_id, partitions in self._partitions.items():
            topic = self._topic(topic_id)
            assert topic is not None, "partitions are kept for topics that exist"
            edit[topic_id] = Topic(topic_id, topic.name, partitions)
        return edit.finish()


# ---- partitions ----------------------------------------------------------------------------------


def _known(directories: Iterable[Uuid] | None, replicas: int) -> tuple[Uuid, ...]:
    """Directories of replicas; where none is known, all are MIGRATING."""
    given = tuple(directories or ())
    if len(given) == replicas and MIGRATING not in given:
        return given
    if all(directory == MIGRATING for directory in given):
        return (MIGRATING,) * replicas
    if len(given) != replicas:
        raise InvariantViolated(f"{replicas} replicas with {len(given)} directories")
    return given


def partition_of(record: PartitionRecord) -> Partition:
    """The partition that a record describes."""
    return Partition(
        replicas=record.replicas,
        isr=record.isr,
        leader=record.leader,
        directories=_known(record.directories, len(record.replicas)),
        removing=record.removing_replicas,
        adding=record.adding_replicas,
        elr=record.eligible_leader_replicas or (),
        last_known_elr=record.last_known_elr or (),
        recovery=record.leader_recovery_state,
        leader_epoch=record.leader_epoch,
        epoch=record.partition_epoch,
    )


def merged(before: Partition, change: PartitionChangeRecord) -> Partition:
    """The partition after a change: its epoch grows, and the leader's if a leader is named."""
    replicas = before.replicas if change.replicas is None else change.replicas
    directories = before.directories if change.directories is None else change.directories
    led = change.leader != LEADER_UNCHANGED
    recovery = change.leader_recovery_state
    return Partition(
        replicas=replicas,
        isr=before.isr if change.isr is None else change.isr,
        leader=change.leader if led else before.leader,
        directories=_known(directories, len(replicas)),
        removing=_or(change.removing_replicas, before.removing),
        adding=_or(change.adding_replicas, before.adding),
        elr=_or(change.eligible_leader_replicas, before.elr),
        last_known_elr=_or(change.last_known_elr, before.last_known_elr),
        recovery=before.recovery if recovery == RECOVERY_UNCHANGED else recovery,
        leader_epoch=before.leader_epoch + led,
        epoch=before.epoch + 1,
    )


def _or(changed: tuple[int, ...] | None, before: tuple[int, ...]) -> tuple[int, ...]:
    return before if changed is None else changed
