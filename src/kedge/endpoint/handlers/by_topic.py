"""Requests name partitions topic by topic; here they are flat, and made so again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from kedge.model import TopicPartition

V = TypeVar("V")


def by_topic(values: Mapping[TopicPartition, V]) -> dict[str, dict[int, V]]:
    """Values by topic and partition number, both in the order in which they come."""
    found: dict[str, dict[int, V]] = {}
    for tp, value in values.items():
        found.setdefault(tp.topic, {})[tp.partition] = value
    return found


def flat(topics: Iterable[tuple[str, Iterable[int]]]) -> list[TopicPartition]:
    """Partitions from topics and their numbers."""
    return [TopicPartition(topic, number) for topic, numbers in topics for number in numbers]
