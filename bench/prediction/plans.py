"""Plans to predict: replicas that move between random brokers, with sizes of a heavy tail."""

from __future__ import annotations

import random
from typing import NamedTuple

from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change


class Moves(NamedTuple):
    """Changes with the bytes and the leader of each partition."""

    changes: list[Change]
    sizes: dict[TopicPartition, int]
    leaders: dict[TopicPartition, BrokerId | None]


def random_moves(brokers: int, moves: int, *, seed: int, mean_bytes: float = 2e9) -> Moves:
    """Moves of one replica each; one in five moves a follower instead of the leader."""
    rng = random.Random(seed)
    changes: list[Change] = []
    sizes: dict[TopicPartition, int] = {}
    for number in range(moves):
        *before, new = map(BrokerId, rng.sample(range(1, brokers + 1), 4))
        tp = TopicPartition(f"topic-{number % 50:02}", number // 50)
        place = 1 if number % 5 == 0 else 0
        after = [*before[:place], new, *before[place + 1 :]]
        changes.append(Change(tp, tuple(before), tuple(after)))
        sizes[tp] = int(rng.lognormvariate(0.0, 1.0) * mean_bytes)
    return Moves(changes, sizes, {change.tp: change.before[0] for change in changes})
