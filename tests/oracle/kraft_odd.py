"""Odd requests for KRaft controllers: what clients get wrong, and the rules that tell them so."""

from __future__ import annotations

import random
from typing import Any

from kedge.topics import V4_1

Case = dict[str, Any]

TOPIC_KEYS = sorted(V4_1.keys)
VALUES = (
    "1", "0", "-1", "-2", "-3", "2", "0.5", "1.5", "true", "FALSE", "maybe", "", " 5 ", "+7", "x",
    "compact", "delete", "compact,delete", "delete, odd", "*", "0:1,1:2", "0:1;", "zstd", "ZSTD",
    "LogAppendTime", "9223372036854775807", "9223372036854775808", "1048576", "1e3", "NaN",
)  # fmt: skip
BROKER_LISTS = ("ssl.cipher.suites", "log.cleanup.policy", "sasl.enabled.mechanisms", "listeners")
NAMES = ("t0", "a.b", "a_b", "a-b", "", ".", "..", "x y", "x" * 249, "x" * 250, "é", "__ok")
FEATURES = (
    "metadata.version",
    "group.version",
    "transaction.version",
    "share.version",
    "streams.version",
    "kraft.version",
    "eligible.leader.replicas.version",
    "odd.version",
)


def odd_scenario(seed: int) -> Case:
    """The odd scenario of a seed."""
    rng = random.Random(f"odd {seed}")
    makers = [_create, _configs, _replace, _features, _quotas, _scram, _acls, _expand, _elect]
    steps: list[Case] = []
    for broker in (1, 2, 3):
        steps.append({"op": "register", "broker": broker})
        steps.append({"op": "heartbeat", "broker": broker})
    first = [{"name": "t0", "assignments": [[1, 2], [2, 3]]}, {"name": "t1", "partitions": 2}]
    steps.append({"op": "createTopics", "topics": first})
    leaning = rng.choice(makers)
    for _ in range(rng.randint(4, 14)):
        steps.append(rng.choice((leaning, rng.choice(makers)))(rng))
    features = rng.choice(({}, {"eligible.leader.replicas.version": 1}, {"group.version": 1}))
    static = rng.choice(({}, {"log.retention.hours": "2"}, {"min.insync.replicas": "2"}))
    settings = {"features": features, "static": static, "draw": rng.randrange(9)}
    return {"settings": settings, "steps": steps}


def _create(rng: random.Random) -> Case:
    topics: dict[str, Case] = {}
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(NAMES) if rng.random() < 0.4 else f"n{rng.randrange(99)}"
        topic: Case = {"name": name}
        if rng.random() < 0.5:
            topic["assignments"] = _assignments(rng)
            if rng.random() < 0.1:
                topic["replication_factor"] = 1
        else:
            topic["partitions"] = rng.choice((-2, -1, 0, 1, 2, 10_001))
            topic["replication_factor"] = rng.choice((-2, -1, 0, 1, 3, 4))
        if rng.random() < 0.5:
            keys = rng.sample(TOPIC_KEYS, rng.choice((1, 1, 2)))
            topic["configs"] = {key: rng.choice((*VALUES, "1", "1", None)) for key in keys}
        topics[name] = topic
    step: Case = {"op": "createTopics", "topics": list(topics.values())}
    if rng.random() < 0.3:
        step["describe"] = True
    if rng.random() < 0.2:
        step["validate_only"] = True
    return step


def _assignments(rng: random.Random) -> list[Any]:
    lists: list[Any] = [
        rng.choice(([1], [1, 2], [2, 1], [3, 1, 2], [1, 1], [9], [])) for _ in range(3)
    ][: rng.randint(1, 3)]
    if rng.random() < 0.3:
        numbers = rng.sample(range(4), len(lists))
        return [{"partition": n, "replicas": r} for n, r in zip(numbers, lists, strict=True)]
    return lists


def _resource(rng: random.Random) -> tuple[str, str, list[str]]:
    kind = rng.choice(("topic", "topic", "broker", "broker", "group", "client_metrics"))
    if kind == "topic":
        return kind, rng.choice(("t0", "t0", "t1", *NAMES)), TOPIC_KEYS
    if kind == "broker":
        name = rng.choice(("", "1", "2", "3000", "77", "-1", "+1", " 1", "x", "2147483648"))
        return kind, name, ["min.insync.replicas", "log.retention.ms", *BROKER_LISTS]
    if kind == "group":
        keys = [f"{g}.{k}" for g in ("consumer", "share", "streams") for k in (
            "session.timeout.ms", "heartbeat.interval.ms")]  # fmt: skip
        return kind, rng.choice(("g", "")), [
            *keys, "share.record.lock.duration.ms", "streams.num.standby.replicas",
            "share.auto.offset.reset", "share.isolation.level", "odd",
        ]  # fmt: skip
    return kind, rng.choice(("m", "")), ["interval.ms", "match", "metrics", "odd"]


def _value(rng: random.Random, key: str) -> str:
    special = {
        "match": ("client_id=a", "client_id=[", "client_id", "odd=1", "client_id=a=b", ""),
        "interval.ms": ("100", "99", "3600000", "3600001", "x"),
        "share.auto.offset.reset": (
            "earliest",
            "LATEST",
            "by_duration:PT1H",
            "by_duration:1",
            "by_duration:-PT1H",
            "by_duration:P1DT",
            "by_duration:p1dt2h3m4.5s",
            "by_duration:PT",
            "none",
        ),
        "share.isolation.level": ("read_committed", "READ_COMMITTED", "read_uncommitted"),
    }
    if key in special:
        return rng.choice(special[key])
    if key.endswith((".timeout.ms", ".interval.ms", ".duration.ms", ".replicas")):
        return rng.choice(("0", "1", "2", "3", "4999", "5000", "15001", "20000", "45000", "60001"))
    return rng.choice(VALUES)


def _configs(rng: random.Random) -> Case:
    resources: dict[tuple[str, str], Case] = {}
    for _ in range(rng.choice((1, 1, 2))):
        kind, name, keys = _resource(rng)
        ops: list[list[Any]] = []
        for key in rng.sample(keys, rng.choice((1, 1, 2))):
            ops.append([key, rng.choice(("set", "set", "set", "append", "subtract", "delete")), ""])
            ops[-1][2] = None if ops[-1][1] == "delete" else _value(rng, key)
        resources[kind, name] = {"type": kind, "name": name, "ops": ops}
    step: Case = {"op": "alterConfigs", "resources": list(resources.values())}
    if rng.random() < 0.1:
        step["validate_only"] = True
    return step


def _replace(rng: random.Random) -> Case:
    kind, name, keys = _resource(rng)
    chosen = rng.sample(keys, rng.choice((0, 1, 2)))
    configs = {key: _value(rng, key) for key in chosen}
    resource = {"type": kind, "name": name, "configs": configs}
    return {"op": "legacyAlterConfigs", "resources": [resource]}


def _features(rng: random.Random) -> Case:
    updates: dict[str, list[Any]] = {}
    for _ in range(rng.choice((1, 1, 1, 2))):
        feature = rng.choice(FEATURES)
        level = rng.randint(-1, 3) if feature != "metadata.version" else rng.randint(5, 29)
        way = rng.choice(("upgrade", "upgrade", "safe_downgrade", "unsafe_downgrade", "unknown"))
        updates[feature] = [feature, level, way]
    return {
        "op": "updateFeatures",
        "updates": list(updates.values()),
        "validate_only": rng.random() < 0.2,
    }


def _quotas(rng: random.Random) -> Case:
    entries: list[Case] = []
    for _ in range(rng.choice((1, 1, 2))):
        entity = rng.choice(
            (
                {"user": "u"},
                {"user": None},
                {"user": ""},
                {"client-id": "c"},
                {"client-id": None, "user": "u"},
                {"ip": "1.2.3.4"},
                {"ip": None},
                {"ip": "::1"},
                {"ip": "not.a.host.invalid"},
                {"ip": "1.2.3.4", "user": "u"},
                {"odd": "x"},
                {},
            )
        )
        keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage",
                "controller_mutation_rate", "connection_creation_rate", "odd")  # fmt: skip
        values = (None, 0, 1, 5.5, 1000, -1, 1e19, 3e9, 1.0000000001)
        ops = [[key, rng.choice(values)] for key in rng.sample(keys, 1)]
        if rng.random() < 0.1:
            ops.append(list(ops[0]))
        entries.append({"entity": entity, "ops": ops})
    return {"op": "alterQuotas", "entries": entries, "validate_only": rng.random() < 0.1}


def _scram(rng: random.Random) -> Case:
    users = ("a", "b", "")
    upsert = [
        [rng.choice(users), rng.randint(0, 3), rng.choice((4095, 4096, 16384, 16385))]
        for _ in range(rng.randint(0, 2))
    ]
    delete = [[rng.choice(users), rng.randint(0, 3)] for _ in range(rng.randint(0, 2))]
    return {"op": "alterScram", "upsert": upsert, "delete": delete}


def _acls(rng: random.Random) -> Case:
    def acl(*any_of_them: str) -> Case:
        return {
            "resource": rng.choice(
                ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "USER", "ODD", *any_of_them)
            ),
            "name": rng.choice(("a", "ab", "abc", "*", "kafka-cluster")),
            "pattern": rng.choice(("LITERAL", "PREFIXED", "ODD", *any_of_them)),
            "principal": rng.choice(("User:a", "User:*", "nocolon", "Odd:")),
            "operation": rng.choice(
                ("READ", "ALL", "DESCRIBE_CONFIGS", "TWO_PHASE_COMMIT", "ODD", *any_of_them)
            ),
            "permission": rng.choice(("ALLOW", "DENY", "ODD", *any_of_them)),
        }

    if rng.random() < 0.5:
        return {"op": "createAcls", "acls": [acl() for _ in range(rng.randint(1, 4))]}
    filters = [acl("ANY", "ANY", "ANY") for _ in range(rng.randint(1, 2))]
    for one in filters:
        for key in ("name", "principal"):
            if rng.random() < 0.5:
                del one[key]
        if rng.random() < 0.3:
            one["pattern"] = "MATCH"
    return {"op": "deleteAcls", "filters": filters}


def _expand(rng: random.Random) -> Case:
    topics: list[Case] = []
    for _ in range(rng.choice((1, 2))):
        topic: Case = {"name": rng.choice(("t0", "t1", "zz")), "count": rng.randint(-1, 5)}
        if rng.random() < 0.5:
            topic["assignments"] = [
                rng.choice(([1], [1, 2], [2, 1], [1, 1], [9, 1], []))
                for _ in range(rng.randint(0, 3))
            ]
        topics.append(topic)
    return {"op": "createPartitions", "topics": topics[:1], "validate_only": rng.random() < 0.2}


def _elect(rng: random.Random) -> Case:
    asked = rng.choice((None, [], [["t0", 0]], [["t0", 9], ["zz", 0]], [["t0", 0], ["t0", 0]]))
    return {"op": "electLeaders", "type": rng.choice(("preferred", "unclean", "odd")),
            "partitions": asked}  # fmt: skip
