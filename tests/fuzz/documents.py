"""Valid documents of every kind, from a random number generator."""

from __future__ import annotations

from random import Random
from typing import Any

STATES = ("alive", "alive", "alive", "new", "draining", "dead")


def snapshot_document(random: Random) -> dict[str, Any]:
    """A snapshot of a few brokers and partitions, as JSON."""
    ids = random.sample(range(20), random.randint(1, 6))
    return {
        "format": "kedge.snapshot/1",
        "cluster_id": "prod-eu",
        "taken_at": "2026-11-15T12:00:00Z",
        "brokers": [_broker(number, random) for number in ids],
        "topics": [_topic(f"t{n}", ids, random) for n in range(random.randint(0, 4))],
        "cpu_model": {"leader_in": 6e-7, "leader_out": 3e-7, "follower_in": 2e-7},
    }


def _broker(number: int, random: Random) -> dict[str, Any]:
    broker: dict[str, Any] = {"id": number, "rack": random.choice("abc")}
    if random.random() < 0.8:
        broker["state"] = random.choice(STATES)
        broker["capacity"] = {"disk": 4e12, "in": 2e8, "out": 4e8, "cpu": 100.0}
        paths = ("/data/0", "/data/1")
        broker["log_dirs"] = [{"path": path, "capacity": 2e12} for path in paths]
    return broker


def _topic(name: str, ids: list[int], random: Random) -> dict[str, Any]:
    factor = random.randint(1, min(3, len(ids)))
    partitions: list[dict[str, Any]] = []
    for number in range(random.randint(1, 5)):
        replicas = random.sample(ids, factor)
        partition: dict[str, Any] = {"id": number, "replicas": replicas}
        if random.random() < 0.8:
            load = {"size": random.randrange(10**9), "in": random.random() * 1e6, "out": 2e6}
            partition |= {"leader": replicas[0], "isr": replicas, "adding": [], "removing": []}
            partition |= {"log_dirs": ["/data/0"] * factor, "load": load}
        partitions.append(partition)
    return {"name": name, "replication_factor": factor, "partitions": partitions}


def plan_document(random: Random) -> dict[str, Any]:
    """A plan of a few moves, as JSON."""
    count = random.randint(1, 5)
    named = [{"topic": f"t{n % 2}", "partition": n} for n in range(count)]
    replicas = [random.sample(range(6), 3) for _ in named]
    imbalance = {"disk": 1.7, "in": 1.1, "leaders": 1.5}
    return {
        "format": "kedge.plan/1",
        "version": 1,
        "cluster_id": "prod-eu",
        "snapshot_sha256": "00" * 32,
        "created_at": "2026-11-15T12:00:00Z",
        "partitions": [
            {**each, "replicas": ids, "log_dirs": ["any"] * len(ids)}
            for each, ids in zip(named, replicas, strict=True)
        ],
        "before": [{**each, "replicas": random.sample(range(6), 3)} for each in named],
        "reasons": [{**each, "why": "broker 1 is over its share"} for each in named],
        "waves": [[n] for n in range(count)],
        "summary": {
            "replicas_moved": count,
            "leaders_moved": 0,
            "bytes_moved": 12,
            "bytes_moved_lower_bound": 10,
            "eta_seconds": 840,
            "planning_seconds": 1.7,
            "imbalance_before": imbalance,
            "imbalance_after": imbalance,
            "imbalance_lower_bound": imbalance,
            "peak_disk": {"4": 0.61},
        },
        "goals": {"tolerance": 0.1},
        "notes": ["a note"],
    }
