"""Computes how many bytes producers write to each partition, from the seed alone.

    even      every partition gets the same share
    skewed    topics by Zipf's law (the n-th gets 1/n), partitions of a topic by the keys' skew
              (the n-th gets 1/n^0.6); the seed decides the rank of each topic and partition

Over a day the load varies by 30 % around its mean, and from minute to minute by 10 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import pi, sin
from zlib import crc32

from kedge.lab.settings import Traffic
from kedge.model import TopicPartition

KEY_SKEW = 0.6
DAILY_AMPLITUDE = 0.3
NOISE = 0.1
MINUTES_PER_DAY = 1440
CONSUMER_GROUPS_MAX = 4


def hash_fraction(*parts: object) -> float:
    """A number from 0 to 1 that depends on the parts alone."""
    return crc32("/".join(map(str, parts)).encode()) / 2**32


def traffic_shares(
    partitions: Mapping[str, Iterable[int]], traffic: Traffic, seed: int
) -> dict[TopicPartition, float]:
    """The share of all written bytes that each partition gets; the shares add up to one."""
    if traffic is Traffic.NONE:
        return {}
    weights: dict[TopicPartition, float] = {}
    ranked = sorted(partitions, key=lambda topic: (hash_fraction(seed, topic), topic))
    for rank, topic in enumerate(ranked, 1):
        numbers = sorted(partitions[topic], key=lambda number: hash_fraction(seed, topic, number))
        if traffic is Traffic.EVEN:
            weights.update({TopicPartition(topic, number): 1.0 for number in numbers})
            continue
        keys = [place**-KEY_SKEW for place in range(1, len(numbers) + 1)]
        whole = sum(keys) * rank
        for number, key in zip(numbers, keys, strict=True):
            weights[TopicPartition(topic, number)] = key / whole
    total = sum(weights.values())
    return {tp: weight / total for tp, weight in weights.items()}


def bytes_in_minute(share: float, rate: float, tp: TopicPartition, minute: int, seed: int) -> int:
    """The bytes that producers write to a partition in one minute of lab time."""
    wave = 1 + DAILY_AMPLITUDE * sin(2 * pi * (minute % MINUTES_PER_DAY) / MINUTES_PER_DAY)
    noise = 1 + NOISE * (2 * hash_fraction(seed, tp.topic, tp.partition, minute) - 1)
    return int(share * rate * 60 * wave * noise)


def consumer_groups(topic: str, seed: int) -> int:
    """The number of consumer groups that read a topic."""
    return 1 + int(hash_fraction(seed, topic, "groups") * CONSUMER_GROUPS_MAX)
