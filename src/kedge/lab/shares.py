"""How much each partition gets of what producers write: by rule and seed, never by the clock.

    even      every partition alike
    skewed    topics by Zipf's law (the n-th gets 1/n), partitions of a topic by the keys' skew
              (the n-th gets 1/n^0.6); which topic and which partition is the n-th, the seed says

Over a day the load swings by 30 % around its mean, and from minute to minute by 10 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import pi, sin
from zlib import crc32

from kedge.lab.settings import Traffic
from kedge.model import TopicPartition

KEY_SKEW = 0.6
SWING = 0.3
NOISE = 0.1
MINUTES_PER_DAY = 1440
FAN_OUT_MAX = 4


def chance(*parts: object) -> float:
    """A number from 0 to 1 that the parts alone decide."""
    return crc32("/".join(map(str, parts)).encode()) / 2**32


def shares(
    partitions: Mapping[str, Iterable[int]], traffic: Traffic, seed: int
) -> dict[TopicPartition, float]:
    """The part of all that is written that each partition gets; they sum up to one."""
    if traffic is Traffic.NONE:
        return {}
    weights: dict[TopicPartition, float] = {}
    ranked = sorted(partitions, key=lambda topic: (chance(seed, topic), topic))
    for rank, topic in enumerate(ranked, 1):
        numbers = sorted(partitions[topic], key=lambda number: chance(seed, topic, number))
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
    """What producers write to a partition in one minute of lab time."""
    wave = 1 + SWING * sin(2 * pi * (minute % MINUTES_PER_DAY) / MINUTES_PER_DAY)
    noise = 1 + NOISE * (2 * chance(seed, tp.topic, tp.partition, minute) - 1)
    return int(share * rate * 60 * wave * noise)


def fan_out(topic: str, seed: int) -> int:
    """How many groups of consumers read a topic."""
    return 1 + int(chance(seed, topic, "groups") * FAN_OUT_MAX)
