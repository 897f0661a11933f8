"""Wide scenarios for KRaft controllers: more brokers, and requests about many things at once.

The other generators ask about one partition at a time. Here a request names several topics and
partitions, known and unknown, some of them twice where Kafka's own controller accepts that, and a
cluster has up to ten brokers in racks, so that placement, elections and fencing meet many at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Case = dict[str, Any]

ELR = "eligible.leader.replicas.version"
VERSIONS = ("4.1-IV1", "4.1-IV1", "4.1-IV0", "4.0-IV3", "4.0-IV0", "3.9-IV0", "3.7-IV2", "3.4-IV0")
STATIC: tuple[dict[str, str], ...] = (
    {},
    {},
    {"min.insync.replicas": "2"},
    {"unclean.leader.election.enable": "true"},
    {"log.retention.hours": "3", "compression.type": "lz4", "log.roll.ms": "5000"},
)


def wide_scenario(seed: int) -> Case:
    """The wide scenario of a seed."""
    return _Wide(random.Random(f"wide {seed}")).scenario()


class _Wide:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.brokers = sorted(rng.sample(range(40), rng.randint(3, 10)))
        self.lives = dict.fromkeys(self.brokers, 0)
        self.dirs = {
            broker: [f"dir:{broker}{x}" for x in "abc"[: rng.choice((1, 1, 2, 3))]]
            for broker in self.brokers
        }
        self.topics: dict[str, int] = {}
        self.held = False

    def scenario(self) -> Case:
        rng, steps = self.rng, []
        racks = [f"r{n}" for n in range(rng.choice((0, 2, 3)))]
        for broker in self.brokers:
            steps.append(self._registered(broker, rng.choice(racks) if racks else None))
            steps.append({"op": "heartbeat", "broker": broker})
        steps.append(self._create())
        steps.append(self._create())
        makers = self._makers()
        chosen = [maker for _, maker in makers]
        weights = [weight * rng.choice((0.3, 1, 1, 4)) for weight, _ in makers]
        for _ in range(rng.randint(6, 30)):
            steps.append(rng.choices(chosen, weights)[0]())
        if self.held:
            steps.append({"op": "failover"})
        return {"settings": self._settings(), "steps": steps}

    def _settings(self) -> Case:
        rng = self.rng
        version = rng.choice(VERSIONS)
        settings: Case = {
            "metadata_version": version,
            "draw": rng.randrange(100),
            "static": rng.choice(STATIC),
            "default_replication_factor": rng.randint(1, 4),
            "default_partitions": rng.randint(1, 8),
        }
        if version >= "4.0-IV1" and rng.random() < 0.6:
            settings["features"] = {ELR: 1}
        if rng.random() < 0.4:
            settings["preferred_ms"] = rng.choice((10_000, 300_000))
        if rng.random() < 0.4:
            settings["unclean_ms"] = rng.choice((10_000, 300_000))
        return settings

    def _makers(self) -> list[tuple[float, Callable[[], Case]]]:
        return [
            (8, self._heartbeat),
            (5, self._expire),
            (3, self._restart),
            (1, lambda: {"op": "unregister", "broker": self._broker()}),
            (4, self._create),
            (3, self._expand),
            (2, self._delete),
            (8, self._alter_partitions),
            (7, self._reassign),
            (1, self._list),
            (4, self._elect),
            (4, self._configs),
            (2, self._replace),
            (4, self._assign_dirs),
            (2, self._producer_ids),
            (2, self._advance),
            (1, self._features),
            (1, self._term),
        ]

    def _broker(self) -> int:
        return self.rng.choice(self.brokers)

    def _partitions(self, most: int = 6) -> dict[str, list[int]]:
        """Partitions by topic: mostly such that exist."""
        rng, found = self.rng, {}
        names = sorted(self.topics) or ["w0"]
        for name in rng.sample(names, rng.randint(1, min(3, len(names)))):
            there = range(self.topics.get(name, 1) + (rng.random() < 0.1))
            found[name] = rng.sample(there, rng.randint(1, min(most, len(there))))
        return found

    # ---- brokers ---------------------------------------------------------------------------------

    def _registered(self, broker: int, rack: str | None) -> Case:
        step: Case = {"op": "register", "broker": broker, "dirs": list(self.dirs[broker])}
        if rack:
            step["rack"] = rack
        if self.lives[broker]:
            step["incarnation"] = f"inc:{broker}-{self.lives[broker]}"
        return step

    def _restart(self) -> Case:
        rng, broker = self.rng, self._broker()
        self.lives[broker] += rng.random() < 0.8
        if rng.random() < 0.3:
            self.dirs[broker] = [f"dir:{broker}{x}" for x in "abcd"[: rng.randint(1, 4)]]
        step = self._registered(broker, rng.choice((None, "r0", "r1")))
        step["previous_epoch"] = rng.choice(("current", "current", -1, 3))
        step["version"] = rng.choice((4, 4, 3, 2, 1, 0))
        return step

    def _heartbeat(self) -> Case:
        rng, broker = self.rng, self._broker()
        step: Case = {"op": "heartbeat", "broker": broker}
        if rng.random() < 0.2:
            step["want_shut_down"] = True
        if rng.random() < 0.1:
            step["want_fence"] = True
        if rng.random() < 0.1:
            step["offset"] = rng.choice(("registered", "before", "end", 7))
        if rng.random() < 0.15:
            lost = rng.sample(self.dirs[broker], rng.randint(1, len(self.dirs[broker])))
            step["offline_dirs"] = [*lost, *rng.choice(([], ["dir:foreign"], ["dir:LOST"]))]
        if rng.random() < 0.03:
            step["epoch"] = rng.choice(("stale", 1, 10_000))
        return step

    def _expire(self) -> Case:
        return {"op": "expire", "broker": self._broker()}

    def _advance(self) -> Case:
        return {"op": "advance", "ms": self.rng.choice((50, 5_000, 10_001, 300_001))}

    def _producer_ids(self) -> Case:
        step: Case = {"op": "allocateProducerIds", "broker": self.rng.choice((self._broker(), 77))}
        if self.rng.random() < 0.2:
            step["epoch"] = self.rng.choice(("stale", 1))
        return step

    # ---- topics ----------------------------------------------------------------------------------

    def _create(self) -> Case:
        rng = self.rng
        topics: dict[str, Case] = {}
        for _ in range(rng.randint(1, 5)):
            topic = self._new_topic()
            topics[topic["name"]] = topic
        step: Case = {"op": "createTopics", "topics": list(topics.values())}
        if rng.random() < 0.1:
            step["validate_only"] = True
        if rng.random() < 0.2:
            step["describe"] = True
        return step

    def _new_topic(self) -> Case:
        rng, name = self.rng, f"w{self.rng.randrange(9)}"
        topic: Case = {"name": name}
        if rng.random() < 0.45:
            size = rng.randint(1, min(5, len(self.brokers)))
            lists = [rng.sample(self.brokers, size) for _ in range(rng.randint(1, 6))]
            if rng.random() < 0.1:
                rng.choice(lists).append(rng.choice((99, lists[0][0])))
            topic["assignments"] = lists
            self.topics.setdefault(name, len(lists))
        else:
            topic["partitions"] = rng.choice((-1, 1, 3, 7, 12))
            topic["replication_factor"] = rng.choice((-1, 1, 2, 3, 5, len(self.brokers)))
            self.topics.setdefault(name, max(1, topic["partitions"]))
        if rng.random() < 0.3:
            topic["configs"] = self._topic_configs()
        return topic

    def _topic_configs(self) -> dict[str, str]:
        some = [
            ("min.insync.replicas", self.rng.choice(("1", "2", "3", "4"))),
            ("unclean.leader.election.enable", self.rng.choice(("true", "false"))),
            ("retention.ms", self.rng.choice(("1000", "-1", "86400000"))),
            ("segment.bytes", self.rng.choice(("1048576", "1", "1073741824"))),
            ("compression.type", self.rng.choice(("zstd", "producer", "none"))),
            ("leader.replication.throttled.replicas", self.rng.choice(("*", "0:1,1:2", "x"))),
            ("local.retention.ms", self.rng.choice(("-2", "1000", "99999999999"))),
            ("remote.storage.enable", self.rng.choice(("true", "false"))),
        ]
        return dict(self.rng.sample(some, self.rng.randint(1, 3)))

    def _expand(self) -> Case:
        rng, wanted = self.rng, []
        for name in self._partitions():
            have = self.topics.get(name, 1)
            more: Case = {"name": name, "count": have + rng.choice((0, 1, 2, 3, 9, -1))}
            if rng.random() < 0.4:
                size = rng.randint(1, min(3, len(self.brokers)))
                lists = [rng.sample(self.brokers, size) for _ in range(rng.randint(1, 3))]
                more["assignments"] = lists
            self.topics[name] = max(have, more["count"])
            wanted.append(more)
        step: Case = {"op": "createPartitions", "topics": wanted}
        if rng.random() < 0.1:
            step["validate_only"] = True
        return step

    def _delete(self) -> Case:
        gone = [*self._partitions(), *self.rng.choice(([], [], ["none:1"]))]
        return {"op": "deleteTopics", "topics": gone}

    # ---- partitions ------------------------------------------------------------------------------

    def _alter_partitions(self) -> Case:
        rng = self.rng
        step: Case = {"op": "alterPartition", "broker": "leader", "topics": []}
        for name, numbers in self._partitions().items():
            parts = [self._wanted_isr(number) for number in numbers]
            step["topics"].append({"topic": name, "partitions": parts})
        if rng.random() < 0.08:
            odd = [{"partition": 0, "isr": ["leader"]}]
            step["topics"].append({"topic": "none:2", "partitions": odd})
        if rng.random() < 0.15:
            step["version"] = 2
        if rng.random() < 0.4:
            step["broker"] = self._broker()
        if rng.random() < 0.05:
            step["epoch"] = rng.choice(("stale", 2))
        return step

    def _wanted_isr(self, number: int) -> Case:
        rng = self.rng
        members: list[Any] = ["leader", *rng.sample(self.brokers, rng.randint(0, 3))]
        if rng.random() < 0.08:
            members.append([self._broker(), rng.choice((-1, 0, 5))])
        wanted: Case = {"partition": number, "isr": members}
        if rng.random() < 0.05:
            wanted["isr"] = []
        if rng.random() < 0.06:
            wanted[rng.choice(("leader_epoch_delta", "partition_epoch_delta"))] = rng.choice(
                (-1, 1)
            )
        if rng.random() < 0.1:
            wanted["recovery"] = 1
        return wanted

    def _reassign(self) -> Case:
        rng, wanted = self.rng, []
        for name, numbers in self._partitions().items():
            parts: list[Case] = []
            for number in numbers:
                size = rng.randint(1, min(5, len(self.brokers)))
                replicas: list[int] | None = rng.sample(self.brokers, size)
                if rng.random() < 0.2:
                    replicas = None
                elif rng.random() < 0.05:
                    replicas = rng.choice(([], [99], [-1], [self.brokers[0]] * 2))
                parts.append({"partition": number, "replicas": replicas})
            wanted.append({"topic": name, "partitions": parts})
        if rng.random() < 0.05:
            wanted.append({"topic": "zz", "partitions": [{"partition": 0, "replicas": None}]})
        step: Case = {"op": "reassign", "topics": wanted}
        if rng.random() < 0.15:
            step["allow_rf_change"] = False
        return step

    def _list(self) -> Case:
        return self._heartbeat() if self.held else {"op": "listReassignments"}

    def _elect(self) -> Case:
        rng = self.rng
        step: Case = {"op": "electLeaders", "type": rng.choice(("preferred", "unclean"))}
        if rng.random() < 0.7:
            asked = [[name, n] for name, ns in self._partitions().items() for n in ns]
            step["partitions"] = [*asked, *rng.choice(([], [], [["zz", 0]], asked[:1]))]
        return step

    def _assign_dirs(self) -> Case:
        rng, broker = self.rng, self._broker()
        wanted: list[Case] = []
        for directory in rng.sample(self.dirs[broker], rng.randint(1, len(self.dirs[broker]))):
            topics = [{"topic": t, "partitions": ns} for t, ns in self._partitions().items()]
            wanted.append({"dir": directory, "topics": topics})
        if rng.random() < 0.1:
            odd = rng.choice(("dir:other", "dir:LOST", "dir:UNASSIGNED", "dir:MIGRATING"))
            topics = [{"topic": t, "partitions": ns} for t, ns in self._partitions(2).items()]
            wanted.append({"dir": odd, "topics": topics})
        step: Case = {"op": "assignDirs", "broker": broker, "dirs": wanted}
        if rng.random() < 0.05:
            step["epoch"] = "stale"
        return step

    # ---- configs, features, terms ---------------------------------------------------------------

    def _configs(self) -> Case:
        rng = self.rng
        resources: dict[tuple[str, str], Case] = {}
        for _ in range(rng.randint(1, 4)):
            ops: list[list[Any]]
            if rng.random() < 0.7:
                kind, name = "topic", rng.choice((*sorted(self.topics), "w0", "zz"))
                ops = [[k, rng.choice(("set", "set", "delete")), v]
                       for k, v in self._topic_configs().items()]  # fmt: skip
            else:
                kind, name = "broker", rng.choice(("", str(self._broker()), "3000", "77"))
                key = rng.choice(("min.insync.replicas", "log.cleaner.threads", "num.io.threads"))
                ops = [[key, rng.choice(("set", "set", "delete")), str(rng.randint(1, 3))]]
            for op in ops:
                op[2] = None if op[1] == "delete" else op[2]
            resources[kind, name] = {"type": kind, "name": name, "ops": ops}
        step: Case = {"op": "alterConfigs", "resources": list(resources.values())}
        if rng.random() < 0.1:
            step["validate_only"] = True
        return step

    def _replace(self) -> Case:
        rng = self.rng
        resources = [{"type": "topic", "name": name, "configs": self._topic_configs()}
                     for name in self._partitions()]  # fmt: skip
        if rng.random() < 0.3:
            configs = rng.choice(({}, {"min.insync.replicas": "2"}, {"num.io.threads": "3"}))
            name = rng.choice(("", str(self._broker())))
            resources.append({"type": "broker", "name": name, "configs": configs})
        step: Case = {"op": "legacyAlterConfigs", "resources": resources}
        if rng.random() < 0.1:
            step["validate_only"] = True
        return step

    def _features(self) -> Case:
        rng = self.rng
        levels = {
            "metadata.version": rng.randint(14, 28),
            ELR: rng.randint(0, 1),
            "group.version": rng.randint(0, 1),
            "transaction.version": rng.randint(0, 2),
            "share.version": rng.randint(0, 1),
        }
        ways = ("upgrade", "upgrade", "safe_downgrade", "unsafe_downgrade")
        names = rng.sample(sorted(levels), rng.randint(1, 3))
        updates = [[name, levels[name], rng.choice(ways)] for name in names]
        return {"op": "updateFeatures", "updates": updates, "validate_only": rng.random() < 0.1}

    def _term(self) -> Case:
        if not self.held and self.rng.random() < 0.4:
            self.held = True
            return {"op": "hold"}
        self.held = False
        return {"op": "failover"}
