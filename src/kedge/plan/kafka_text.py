"""Write Kafka's files: one exact form, so that equal assignments are equal texts.

No blanks, keys in Kafka's order, partitions sorted by topic and then by number, `log_dirs` always
there. Kafka's tool writes "any" for every replica, since it never asks where a replica lies; so do
the writers here unless directories are given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from kedge.model import BrokerId, TopicPartition
from kedge.plan.kafka_json import VERSION, Reassignment


def reassignment_text(replicas: Mapping[TopicPartition, Sequence[BrokerId]]) -> str:
    """An assignment as the text of a reassignment file, directories left to the brokers."""
    return entries_text(Reassignment.anywhere(tp, ids) for tp, ids in replicas.items())


def entries_text(entries: Iterable[Reassignment]) -> str:
    """Entries as the text of a reassignment file, sorted, with their directories."""
    rows = [
        {
            "topic": entry.tp.topic,
            "partition": entry.tp.partition,
            "replicas": entry.replicas,
            "log_dirs": entry.log_dirs,
        }
        for entry in sorted(entries, key=lambda entry: entry.tp)
    ]
    return compact({"version": VERSION, "partitions": rows})


def topics_to_move_text(topics: Iterable[str]) -> str:
    """The text of a topics-to-move file, in the order given."""
    return compact({"version": VERSION, "topics": [{"topic": topic} for topic in topics]})


def election_text(partitions: Iterable[TopicPartition]) -> str:
    """The text of a leader-election file, sorted."""
    return compact({"partitions": [tp._asdict() for tp in sorted(partitions)]})


def compact(value: object) -> str:
    """JSON without blanks, other scripts as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
