"""Random scenarios for KRaft controllers, in the form of the vectors without answers.

One seed is the whole input. Numbers that depend on the state (epochs, offsets) are left out: the
oracle fills in the current ones. The generator keeps a rough picture of brokers and topics, so that
most requests are about something that exists.
"""

from __future__ import annotations

import random
from typing import Any

from tests.oracle.kraft_odd import odd_scenario
from tests.oracle.kraft_wide import wide_scenario

Case = dict[str, Any]

VERSIONS = ("4.1-IV1", "4.1-IV1", "4.0-IV3", "3.9-IV0", "3.7-IV4", "3.6-IV2", "3.5-IV2", "3.3-IV3")
ELR = "eligible.leader.replicas.version"


def scenario(seed: int) -> Case:
    """The scenario of a seed: one in four is about odd requests, one about many things at once."""
    match seed % 4:
        case 1:
            return wide_scenario(seed)
        case 3:
            return odd_scenario(seed)
        case _:
            return _Draft(random.Random(seed)).scenario()


class _Draft:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.brokers = sorted(rng.sample(range(20), rng.randint(2, 6)))
        self.registered: set[int] = set()
        self.incarnation = dict.fromkeys(self.brokers, 0)
        self.dirs: dict[int, list[str]] = {}
        self.topics: dict[str, int] = {}
        self.holding = self.failed_over = False

    def scenario(self) -> Case:
        settings = self._settings()
        steps: list[Case] = []
        racks = self.rng.random() < 0.4
        for broker in self.brokers:
            steps.append(self._register(broker, racks))
            if self.rng.random() < 0.9:
                steps.append({"op": "heartbeat", "broker": broker})
        for _ in range(self.rng.randint(1, 3)):
            steps.append(self._create())
        mix = self._mix()
        for _ in range(self.rng.randint(8, 45)):
            steps.append(self._step(mix))
        if self.holding:
            steps.append({"op": "failover"})
        steps.append({"op": "describe", "partitions": self._described()})
        return {"settings": settings, "steps": steps}

    def _described(self) -> list[list[Any]]:
        return []  # partitions may not exist; the snapshot shows them all

    def _settings(self) -> Case:
        rng = self.rng
        version = rng.choice(VERSIONS)
        features: dict[str, int] = {}
        if version >= "4.0":
            features = {"group.version": 1, "transaction.version": 2}
            if rng.random() < 0.5:
                features[ELR] = 1
        settings: Case = {
            "metadata_version": version,
            "features": features,
            "draw": rng.randrange(60),
        }
        if rng.random() < 0.3:
            settings["default_replication_factor"] = rng.randint(1, 3)
            settings["default_partitions"] = rng.randint(1, 4)
        if rng.random() < 0.2:
            settings["static"] = {"min.insync.replicas": str(rng.randint(1, 3))}
        elif rng.random() < 0.1:
            settings["static"] = {"unclean.leader.election.enable": "true"}
        if rng.random() < 0.25:
            settings["preferred_ms"] = 300_000
        if rng.random() < 0.25:
            settings["unclean_ms"] = 300_000
        if rng.random() < 0.1:
            settings["idle_ms"] = 500
        if rng.random() < 0.1:
            settings["session_ms"] = rng.choice((6_000, 18_000))
        return settings

    def _mix(self) -> list[tuple[float, Any]]:
        """Weights of steps: each scenario leans to something."""
        weights = [
            (10, self._heartbeat),
            (6, self._expire),
            (4, self._register_again),
            (1, self._unregister),
            (3, self._create),
            (1, self._expand),
            (1, self._delete),
            (10, self._alter_partition),
            (7, self._reassign),
            (1, self._list),
            (4, self._elect),
            (4, self._configs),
            (1, self._replace),
            (1, lambda: {"op": "allocateProducerIds", "broker": self._broker()}),
            (3, self._assign_dirs),
            (1, self._features),
            (0.5, self._register_controller),
            (0.5, self._quotas),
            (0.5, self._scram),
            (0.5, self._acls),
            (2, self._advance),
            (0.7, self._fail_over),
        ]
        return [(weight * self.rng.choice((0.2, 1, 1, 3)), make) for weight, make in weights]

    def _step(self, mix: list[tuple[float, Any]]) -> Case:
        (chosen,) = self.rng.choices([m for _, m in mix], [w for w, _ in mix])
        return chosen()

    def _broker(self) -> int:
        return self.rng.choice(self.brokers)

    def _partition(self) -> tuple[str, int]:
        if not self.topics:
            return "t0", 0
        topic = self.rng.choice(sorted(self.topics))
        return topic, self.rng.randrange(self.topics[topic])

    # ---- brokers ---------------------------------------------------------------------------------

    def _register(self, broker: int, racks: bool = False) -> Case:
        count = self.rng.choice((1, 1, 1, 2, 3))
        self.dirs.setdefault(
            broker, [f"dir:{broker}"] if count == 1 else [f"dir:{broker}{x}" for x in "xyz"[:count]]
        )
        self.registered.add(broker)
        step: Case = {"op": "register", "broker": broker, "dirs": list(self.dirs[broker])}
        if self.incarnation[broker]:
            step["incarnation"] = f"inc:{broker}-{self.incarnation[broker]}"
        if racks:
            step["rack"] = self.rng.choice(("r1", "r2", "r3", None))
        return step

    def _register_again(self) -> Case:
        rng, broker = self.rng, self._broker()
        if rng.random() < 0.75:
            self.incarnation[broker] += 1
        step = self._register(broker)
        step["previous_epoch"] = rng.choice(("current", "current", -1, 5))
        if rng.random() < 0.2:
            step["version"] = rng.choice((1, 2, 3))
        odd = rng.random()
        if odd < 0.04:
            step["cluster"] = "other"
        elif odd < 0.08:
            step["dirs"] = rng.choice(
                ([], ["dir:LOST"], ["dir:q", "dir:q"], self.dirs[self.brokers[0]])
            )
        elif odd < 0.14:
            step["features"] = {
                "metadata.version": rng.choice(([7, 27], [1, 5], [7, 20])),
                "group.version": rng.choice(([0, 1], [0, 0])),
                "transaction.version": [0, 2],
                ELR: rng.choice(([0, 1], [0, 0])),
            }
        return step

    def _heartbeat(self) -> Case:
        rng = self.rng
        broker = self._broker()
        step: Case = {"op": "heartbeat", "broker": broker}
        if rng.random() < 0.15:
            step["want_fence"] = True
        if rng.random() < 0.25:
            step["want_shut_down"] = True
        if rng.random() < 0.15:
            step["offset"] = rng.choice(("registered", "before", "end", 5))
        if rng.random() < 0.05:
            step["epoch"] = rng.choice(("stale", 99))
        if rng.random() < 0.12 and broker in self.dirs:
            step["offline_dirs"] = rng.sample(
                self.dirs[broker], rng.randint(1, len(self.dirs[broker]))
            )
        return step

    def _expire(self) -> Case:
        return {"op": "expire", "broker": self._broker()}

    def _unregister(self) -> Case:
        return {"op": "unregister", "broker": self._broker()}

    def _register_controller(self) -> Case:
        ranges = {"metadata.version": [7, 27], "kraft.version": [0, 1]}
        return {
            "op": "registerController",
            "controller": self.rng.choice((3000, 3000, 3001)),
            "features": self.rng.choice((ranges, {})),
        }

    def _advance(self) -> Case:
        step: Case = {"op": "advance", "ms": self.rng.choice((100, 501, 2_000, 300_001))}
        # after a failover the order in which sessions end is that of another hash table
        if self.rng.random() < 0.03 and not self.failed_over:
            step["contact"] = False
        return step

    def _fail_over(self) -> Case:
        if not self.holding and self.rng.random() < 0.4:
            self.holding = True
            return {"op": "hold"}
        self.holding, self.failed_over = False, True
        return {"op": "failover"}

    # ---- topics ----------------------------------------------------------------------------------

    def _replicas(self, size: int | None = None) -> list[int]:
        rng = self.rng
        size = size or rng.choice((1, 2, 2, 3, 3, 4))
        chosen = rng.sample(self.brokers, min(size, len(self.brokers)))
        if rng.random() < 0.02:
            chosen.append(rng.choice((chosen[0], 77)))
        return chosen

    def _create(self) -> Case:
        rng = self.rng
        wanted = [self._new_topic() for _ in range(rng.choice((1, 1, 1, 2)))]
        seen: dict[str, Case] = {topic["name"]: topic for topic in wanted}
        step: Case = {"op": "createTopics", "topics": list(seen.values())}
        if rng.random() < 0.08:
            step["validate_only"] = True
        if rng.random() < 0.1:
            step["describe"] = True
        return step

    def _new_topic(self) -> Case:
        rng = self.rng
        name = f"t{rng.randrange(5)}" if rng.random() < 0.9 else rng.choice(("a.b", "a_b", "x y"))
        topic: Case = {"name": name}
        if rng.random() < 0.7:
            size = min(rng.choice((1, 2, 2, 3, 3)), len(self.brokers))
            count = rng.randint(1, 4)
            topic["assignments"] = [self._replicas(size) for _ in range(count)]
            if rng.random() < 0.03:
                topic["partitions"] = 2
        else:
            count = rng.choice((1, 2, 5, 0, -1)) if rng.random() < 0.2 else rng.randint(1, 4)
            topic["partitions"] = count
            topic["replication_factor"] = rng.choice((1, 2, 3, 2, -1)) if rng.random() < 0.9 else 9
        if rng.random() < 0.4:
            topic["configs"] = self._some_configs()
        if count > 0 and " " not in name:
            self.topics.setdefault(name, count)
        return topic

    def _some_configs(self) -> dict[str, str]:
        rng = self.rng
        some = [
            ("min.insync.replicas", rng.choice(("1", "2", "3", "0"))),
            ("unclean.leader.election.enable", rng.choice(("true", "false", "maybe"))),
            ("retention.ms", rng.choice(("1000", "-1", "-2", "x", "+5"))),
            ("cleanup.policy", rng.choice(("compact", "delete,compact", "odd"))),
        ]
        return dict(rng.sample(some, rng.choice((1, 1, 2))))

    def _expand(self) -> Case:
        rng = self.rng
        topic, _ = self._partition()
        have = self.topics.get(topic, 1)
        more: Case = {"name": topic, "count": have + rng.choice((0, 1, 1, 2, -1))}
        if rng.random() < 0.5:
            more["assignments"] = [self._replicas(2) for _ in range(rng.choice((1, 1, 2)))]
        self.topics[topic] = max(have, more["count"])
        return {"op": "createPartitions", "topics": [more]}

    def _delete(self) -> Case:
        topic, _ = self._partition()
        return {"op": "deleteTopics", "topics": [self.rng.choice((topic, topic, "none:1"))]}

    # ---- partitions ------------------------------------------------------------------------------

    def _alter_partition(self) -> Case:
        rng = self.rng
        topic, number = self._partition()
        members: list[Any] = rng.sample(self.brokers, rng.randint(0, min(3, len(self.brokers))))
        wanted: Case = {"partition": number, "isr": ["leader", *members]}
        if rng.random() < 0.5:
            wanted["isr"] = ["leader", *members][: rng.randint(1, 2)]
        if rng.random() < 0.05:
            wanted["leader_epoch_delta"] = rng.choice((-1, 1))
        if rng.random() < 0.05:
            wanted["partition_epoch_delta"] = rng.choice((-1, 1))
        if rng.random() < 0.1:
            wanted["recovery"] = 1
        step: Case = {"op": "alterPartition", "broker": "leader"}
        if rng.random() < 0.2:
            step["version"] = 2
        if rng.random() < 0.05:
            step["broker"] = self._broker()
        return {**step, "topics": [{"topic": topic, "partitions": [wanted]}]}

    def _reassign(self) -> Case:
        rng = self.rng
        orders: list[Case] = []
        for topic, number in {self._partition(): None for _ in range(rng.choice((1, 1, 2)))}:
            replicas = None if rng.random() < 0.25 else self._replicas()
            orders.append(
                {"topic": topic, "partitions": [{"partition": number, "replicas": replicas}]}
            )
        step: Case = {"op": "reassign", "topics": orders}
        if rng.random() < 0.1:
            step["allow_rf_change"] = False
        return step

    def _list(self) -> Case:
        # while nothing commits, Kafka's answer mixes what is committed with what is not
        return self._heartbeat() if self.holding else {"op": "listReassignments"}

    def _elect(self) -> Case:
        rng = self.rng
        step: Case = {"op": "electLeaders", "type": rng.choice(("preferred", "unclean"))}
        if rng.random() < 0.6:
            step["partitions"] = [list(self._partition())]
        return step

    def _assign_dirs(self) -> Case:
        rng = self.rng
        broker = self._broker()
        topic, number = self._partition()
        chosen = rng.choice([*self.dirs.get(broker, ["dir:q"]), "dir:other", "dir:LOST"])
        topic = topic if rng.random() < 0.95 else "none:1"
        return {
            "op": "assignDirs",
            "broker": broker,
            "dirs": [{"dir": chosen, "topics": [{"topic": topic, "partitions": [number]}]}],
        }

    # ---- configs and the rest --------------------------------------------------------------------

    def _configs(self) -> Case:
        rng = self.rng
        kind = rng.choice(("topic", "topic", "topic", "broker", "all", "group", "client_metrics"))
        ops: list[list[Any]]
        if kind == "topic":
            name, _ = self._partition()
            ops = [[k, "set", v] for k, v in self._some_configs().items()]
            if rng.random() < 0.3:
                key = rng.choice(("min.insync.replicas", "cleanup.policy", "retention.ms"))
                ops = [[key, rng.choice(("delete", "append", "subtract")), "compact"]]
        elif kind in ("broker", "all"):
            name = "" if kind == "all" else str(rng.choice((*self.brokers, 3000, 77)))
            kind = "broker"
            key = rng.choice(
                ("min.insync.replicas", "unclean.leader.election.enable", "log.retention.ms")
            )
            value = {"u": "true", "m": rng.choice(("1", "2")), "l": "100"}[key[0]]
            ops = [[key, rng.choice(("set", "set", "delete")), value]]
        elif kind == "group":
            name = rng.choice(("g", ""))
            key, value = rng.choice(
                (
                    ("consumer.session.timeout.ms", rng.choice(("45001", "1", "x", "99999"))),
                    ("share.isolation.level", rng.choice(("read_committed", "odd"))),
                    ("share.auto.offset.reset", rng.choice(("earliest", "odd"))),
                    ("odd", "1"),
                )
            )
            ops = [[key, "set", value]]
        else:
            name = rng.choice(("m", ""))
            key, value = rng.choice(
                (
                    ("interval.ms", rng.choice(("1000", "1", "x"))),
                    ("match", rng.choice(("client_id=a.*", "odd=1", "client_id"))),
                    ("metrics", "a,b"),
                    ("odd", "1"),
                )
            )
            ops = [[key, "set", value]]
        step: Case = {
            "op": "alterConfigs",
            "resources": [{"type": kind, "name": name, "ops": ops}],
        }
        if rng.random() < 0.05:
            step["validate_only"] = True
        return step

    def _replace(self) -> Case:
        topic, _ = self._partition()
        resource = {"type": "topic", "name": topic, "configs": self._some_configs()}
        return {"op": "legacyAlterConfigs", "resources": [resource]}

    def _features(self) -> Case:
        rng = self.rng
        feature = rng.choice(("metadata.version", "group.version", ELR, ELR, "kraft.version"))
        level = rng.choice((0, 1, 2)) if feature != "metadata.version" else rng.randint(19, 28)
        way = rng.choice(("upgrade", "upgrade", "safe_downgrade", "unsafe_downgrade"))
        updates = [[feature, level, way]]
        if rng.random() < 0.2 and feature != "metadata.version":
            updates.append(["metadata.version", 27, "upgrade"])
        step: Case = {"op": "updateFeatures", "updates": updates}
        if rng.random() < 0.1:
            step["validate_only"] = True
        return step

    def _quotas(self) -> Case:
        rng = self.rng
        entity = rng.choice(
            ({"user": "u"}, {"user": None}, {"client-id": "c", "user": "u"}, {"ip": "1.2.3.4"})
        )
        key = rng.choice(("producer_byte_rate", "request_percentage", "connection_creation_rate"))
        value = rng.choice((None, 1, 5.5, 1000, -1))
        return {"op": "alterQuotas", "entries": [{"entity": entity, "ops": [[key, value]]}]}

    def _scram(self) -> Case:
        rng = self.rng
        name = rng.choice(("a", "b"))
        if rng.random() < 0.5:
            return {"op": "alterScram", "upsert": [[name, rng.choice((1, 2)), 4096]], "delete": []}
        return {"op": "alterScram", "upsert": [], "delete": [[name, rng.choice((1, 2))]]}

    def _acls(self) -> Case:
        rng = self.rng

        def acl(*, any_of_them: tuple[str, ...] = ()) -> Case:
            return {
                "resource": rng.choice(("TOPIC", "GROUP", *any_of_them)),
                "name": rng.choice(("a", "ab", "*")),
                "pattern": rng.choice(("LITERAL", "PREFIXED", *any_of_them, *any_of_them)),
                "operation": rng.choice(("READ", "WRITE", "ALL")),
            }

        if rng.random() < 0.6:
            return {"op": "createAcls", "acls": [acl() for _ in range(rng.randint(1, 3))]}
        wanted = acl(any_of_them=("ANY",))
        if rng.random() < 0.3:
            wanted["pattern"] = "MATCH"
        return {"op": "deleteAcls", "filters": [wanted]}
