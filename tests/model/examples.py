"""One small snapshot as a JSON document, for tests that break it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any


def example() -> dict[str, Any]:
    """Three brokers, three partitions; one is fully told, one is moving, one is hardly told."""
    log_dirs = [{"path": "/data/0", "capacity": 2e12}, {"path": "/data/1", "capacity": 2e12}]
    capacity = {"disk": 4e12, "in": 2e8, "out": 4e8, "cpu": 100}
    told = {
        "id": 0,
        "replicas": [1, 2, 3],
        "leader": 1,
        "isr": [1, 2, 3],
        "adding": [],
        "removing": [],
        "log_dirs": ["/data/0", None, "/data/1"],
        "load": {"size": 1234567, "in": 1000, "out": 2500.0},
    }
    moving = {
        "id": 1,
        "replicas": [2, 3, 1],
        "leader": -1,
        "isr": [],
        "adding": [1],
        "removing": [2],
        "load": {"size": 0, "out": 7},
    }
    return {
        "format": "kedge.snapshot/1",
        "cluster_id": "prod-eu",
        "taken_at": "2026-11-15T12:00:00Z",
        "brokers": [
            {"id": 1, "rack": "a", "state": "alive", "capacity": capacity, "log_dirs": log_dirs},
            {"id": 2, "rack": "b", "state": "draining", "log_dirs": deepcopy(log_dirs)},
            {"id": 3},
        ],
        "topics": [
            {"name": "orders", "replication_factor": 3, "partitions": [told, moving]},
            {"name": "logs", "replication_factor": 1, "partitions": [{"id": 0, "replicas": [3]}]},
        ],
        "cpu_model": {"leader_in": 6e-7, "leader_out": 3e-7, "follower_in": 2e-7},
    }
