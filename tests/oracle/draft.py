"""A scenario in the making: what has been registered, created and ordered so far.

The draft knows only what was asked for, not what became of it: whether a delete went through or an
election was won is for the controllers to say. It is good enough to name things that mostly exist,
and now and then things that do not.
"""

from __future__ import annotations

import random
from typing import Any

Case = dict[str, Any]
Replicas = list[int]

NOBODY = 9  # a broker that never registers
TOPICS = ("t", "u", "v-1")


class Draft:
    """The input of a scenario, and the luck that shapes it."""

    def __init__(self, seed: int) -> None:
        self.luck = random.Random(seed)
        self.known = list(range(1, self.luck.randint(3, 6) + 1))
        self.registered = set(self.known)
        self.topics: dict[str, dict[int, Replicas]] = {}
        self.given: Case = {"brokers": list(self.known), "steps": []}

    # ---- luck ---------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.luck.random() < probability

    def some(self, things: list[Any], count: int) -> list[Any]:
        return self.luck.sample(things, min(count, len(things)))

    def broker(self, odd: float = 0.03) -> int:
        """Some broker; seldom one that nobody knows."""
        return NOBODY if self.chance(odd) else self.luck.choice(self.known)

    def replicas(self, odd: float = 0.0) -> Replicas:
        count = self.luck.choice((1, 2, 2, 2, 3, 3, 4))
        chosen = self.some(self.known, count)
        if self.chance(odd):
            chosen[self.luck.randrange(len(chosen))] = NOBODY
        return chosen

    def partition(self, odd: float = 0.04) -> str:
        """Some partition; seldom one that nobody knows."""
        every = [f"{topic}-{p}" for topic, ps in self.topics.items() for p in ps]
        if not every or self.chance(odd):
            return self.luck.choice(("t-7", "nobody-0"))
        return self.luck.choice(every)

    def partitions(self, odd: float = 0.04) -> list[str]:
        count = self.luck.choice((1, 1, 2, 3))
        return sorted({self.partition(odd) for _ in range(count)})

    def topic(self) -> str:
        return self.luck.choice(list(self.topics) or ["t"])

    def everyone(self, name: str) -> Replicas:
        """All replicas that a partition ever had or was to have."""
        topic, _, number = name.rpartition("-")
        return self.topics.get(topic, {}).get(int(number), [1, 2])

    def remember(self, name: str, replicas: Replicas | None) -> None:
        topic, _, number = name.rpartition("-")
        known = self.topics.get(topic, {}).get(int(number))
        if known is not None:
            known.extend(b for b in replicas or () if b not in known)

    # ---- the stage ----------------------------------------------------------------------------

    def set_the_stage(self) -> None:
        """Brokers, settings, and often topics from before the first controller."""
        given = self.given
        if self.chance(0.35):
            given["ibp"] = self.luck.choice(
                (
                    "0.9.0",
                    "0.10.2",
                    "1.0",
                    "2.1",
                    "2.3",
                    "2.4",
                    "2.6",
                    "2.6",
                    "2.7",
                    "2.8",
                    "3.0",
                    "3.2",
                    "3.4",
                )
            )
        self.configure()
        if self.chance(0.5):
            self.add_old_topics()
        if self.chance(0.15):
            self.lose_brokers()

    def configure(self) -> None:
        config: Case = {}
        if self.chance(0.05):
            config["delete.topic.enable"] = "false"
        if self.chance(0.12):
            config["unclean.leader.election.enable"] = "true"
        if self.chance(0.2):
            config["leader.imbalance.per.broker.percentage"] = self.luck.choice(("0", "30", "50"))
        if config:
            self.given["config"] = config

    def lose_brokers(self) -> None:
        """Replicas whose brokers are not there at the start."""
        for broker in self.some(self.known, self.luck.randint(1, 2)):
            self.registered.discard(broker)
        self.given["brokers"] = sorted(self.registered)

    def add_old_topics(self) -> None:
        epoch = self.luck.randint(1, 9)
        self.given["controller_epoch"] = epoch
        self.given["topics"] = {
            topic: self.old_topic(topic, epoch)
            for topic in TOPICS[: self.luck.choice((1, 1, 2, 3))]
        }
        if self.chance(0.2):
            self.given["delete_topics"] = self.some([*self.topics, "gone"], 2)
        if self.chance(0.15):
            self.given["reassign_partitions"] = self.plan()
        if self.chance(0.15):
            self.given["preferred_replica_election"] = self.partitions()

    def old_topic(self, topic: str, epoch: int) -> Case:
        count = self.luck.choice((1, 1, 2, 3))
        self.topics[topic] = {p: self.replicas(odd=0.05) for p in range(count)}
        return {str(p): self.old_partition(list(r), epoch) for p, r in self.topics[topic].items()}

    def old_partition(self, replicas: Replicas, epoch: int) -> Any:
        if self.chance(0.1):
            return replicas
        shown: Case = {"replicas": replicas}
        if self.chance(0.25) and len(replicas) > 1:
            self.halfway(shown)
        if self.chance(0.93):
            shown["state"] = self.old_state(replicas, epoch)
        return shown

    def halfway(self, shown: Case) -> None:
        """In the middle of a move."""
        replicas: Replicas = shown["replicas"]
        cut = self.luck.randint(1, len(replicas) - 1)
        shown["adding"] = replicas[:cut]
        if self.chance(0.7):
            shown["removing"] = self.some(replicas[cut:], self.luck.randint(1, 2))

    def old_state(self, replicas: Replicas, epoch: int) -> Case:
        isr = self.some(replicas, self.luck.randint(1, len(replicas)))
        if self.chance(0.4):
            isr = [b for b in replicas if b in isr]
        state: Case = {
            "leader": -1 if self.chance(0.07) else self.luck.choice(isr),
            "leader_epoch": self.luck.randint(0, 9),
            "isr": isr,
        }
        if self.chance(0.3):
            state["controller_epoch"] = self.luck.randint(1, epoch + self.chance(0.1) * 5)
        if self.chance(0.05):
            state["leader_recovery_state"] = 1
        return state

    def plan(self, odd: float = 0.06) -> Case:
        return {name: self.replicas(odd) for name in self.partitions(odd)}
