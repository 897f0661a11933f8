"""Ids as names: vectors call ids `topic:t`, `dir:1`, `inc:1`; the code under test has real ones."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from kedge.metadata.ids import LOST, MIGRATING, UNASSIGNED
from kedge.metadata.records import AccessControlEntryRecord, MetadataRecord, TopicRecord
from kedge.topics import encode_id

ID_LETTERS = 22


class Names:
    """Both directions between ids and their names."""

    def __init__(self) -> None:
        self._made = 0
        self._names = {
            MIGRATING: "dir:MIGRATING",
            UNASSIGNED: "dir:UNASSIGNED",
            LOST: "dir:LOST",
        }
        self._ids = {name: uid for uid, name in self._names.items()}
        self._lives: Counter[str] = Counter()

    def id_of(self, name: str) -> str:
        """The id that a scenario chose by this name."""
        if name not in self._ids:
            self._name(name, _from_name(name))
        return self._ids[name]

    def new_id(self) -> str:
        """An id that nobody has; it gets its name when a record uses it."""
        self._made += 1
        return encode_id(hashlib.sha256(str(self._made).encode()).digest()[:16])

    def learn(self, record: MetadataRecord) -> None:
        """Name the id that a record brings into the world."""
        if isinstance(record, TopicRecord):
            self._lives[record.name] += 1
            self._name(self.name_of_life(record.name, self._lives[record.name]), record.topic_id)
        elif isinstance(record, AccessControlEntryRecord):
            self._lives["acl:"] += 1
            self._name(f"acl:{self._lives['acl:']}", record.id)

    def next_topic_name(self, topic: str) -> str:
        """The name that the id of the topic's next life will have."""
        return self.name_of_life(topic, self._lives[topic] + 1)

    @staticmethod
    def name_of_life(topic: str, life: int) -> str:
        """`topic:t`, then `topic:t#2` and so on."""
        return f"topic:{topic}" if life == 1 else f"topic:{topic}#{life}"

    def name(self, uid: str, name: str) -> None:
        """Name an id, unless it has a name."""
        if uid not in self._names:
            self._names[uid] = name

    def forget_lives(self) -> None:
        """Count from the start: the log is learnt again."""
        self._lives.clear()

    def _name(self, name: str, uid: str) -> None:
        self._names[uid] = name
        self._ids[name] = uid

    def symbolic(self, value: Any) -> Any:
        """A JSON value with names for ids."""
        if isinstance(value, str):
            if len(value) > ID_LETTERS:
                for uid, name in self._names.items():
                    value = value.replace(uid, name)
                return value
            return self._names.get(value, value)
        if isinstance(value, list):
            return [self.symbolic(item) for item in value]
        if isinstance(value, dict):
            return {key: self.symbolic(item) for key, item in value.items()}
        return value


def _from_name(name: str) -> str:
    """The id that Java makes of a name (UUID.nameUUIDFromBytes): ids are sorted in places."""
    raw = bytearray(hashlib.md5(name.encode()).digest())
    raw[6] = raw[6] & 0x0F | 0x30
    raw[8] = raw[8] & 0x3F | 0x80
    return encode_id(bytes(raw))
