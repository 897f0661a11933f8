"""What pages show of a cluster: sums per broker and per topic, and the partitions as columns.

A view is made once per snapshot and encoded once: a thousand requests for it cost a thousand
writes of the same bytes. 40,000 partitions are a handful of numpy columns here, and lists of
numbers in JSON, never one object per partition.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from kedge.model import BrokerState, Snapshot
from kedge.model.load import Resource, broker_loads

Row = dict[str, Any]
GZIP_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Encoded:
    """A JSON document as bytes, plain and compressed, with its entity tag."""

    plain: bytes
    packed: bytes
    etag: str


def encoded(document: object) -> Encoded:
    """Encode a document once for all who read it."""
    plain = orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    digest = hashlib.sha256(plain).hexdigest()[:20]
    return Encoded(plain, gzip.compress(plain, GZIP_LEVEL, mtime=0), f'"{digest}"')


class ClusterView:
    """One snapshot of a cluster, summed up."""

    def __init__(self, snapshot: Snapshot, controller: int | None, took_s: float) -> None:
        self.snapshot, self.controller, self.took_s = snapshot, controller, took_s
        replicas = snapshot.assignment.replicas
        self._held = replicas >= 0
        self._in_sync = np.minimum((snapshot.isr >= 0).sum(axis=1), self._held.sum(axis=1))
        size = np.where(snapshot.size >= 0, snapshot.size, 0)
        self._sizes: npt.NDArray[Any] = size
        self.under_replicated = np.where(
            snapshot.isr_known, self._in_sync < self._held.sum(axis=1), False
        )
        self.offline = snapshot.leader == -1
        self.moving = (
            (snapshot.adding >= 0).any(axis=1) | (snapshot.removing >= 0).any(axis=1)
            if snapshot.adding.shape[1] or snapshot.removing.shape[1]
            else np.zeros(len(snapshot), np.bool_)
        )
        first = replicas[:, 0] if replicas.shape[1] else np.zeros(0, np.int32)
        self.away_from_preferred = (snapshot.leader >= 0) & (snapshot.leader != first)

    # ---- brokers --------------------------------------------------------------------------------

    @cached_property
    def brokers(self) -> list[Row]:
        """One row per broker."""
        snapshot, count = self.snapshot, len(self.snapshot.brokers)
        index = snapshot.broker_index(snapshot.assignment.replicas)
        held = index >= 0
        rows = np.broadcast_to(np.arange(len(snapshot))[:, None], index.shape)[held]
        at = index[held]
        leader = snapshot.broker_index(np.maximum(snapshot.leader, -1))
        led = leader >= 0
        replicas = np.bincount(at, minlength=count)
        leaders = np.bincount(leader[led], minlength=count)
        disk = np.bincount(at, self._sizes[rows], minlength=count)
        lagging = np.bincount(at[self._lagging()[held]], minlength=count)
        rates = self._rates()
        return [
            {
                "id": int(broker.id),
                "rack": broker.rack,
                "alive": broker.state is not BrokerState.DEAD,
                "controller": broker.id == self.controller,
                "replicas": int(replicas[place]),
                "leaders": int(leaders[place]),
                "out_of_sync": int(lagging[place]),
                "disk_bytes": int(disk[place]),
                "disk_capacity": broker.capacity.disk,
                "bytes_in": None if rates is None else float(rates[place, Resource.BYTES_IN]),
                "bytes_out": None if rates is None else float(rates[place, Resource.BYTES_OUT]),
            }
            for place, broker in enumerate(snapshot.brokers)
        ]

    def _lagging(self) -> npt.NDArray[np.bool_]:
        """Which replicas are not in sync, beside the matrix of replicas."""
        replicas, isr = self.snapshot.assignment.replicas, self.snapshot.isr
        known = self.snapshot.isr_known[:, None]
        in_sync = np.zeros(replicas.shape, np.bool_)
        for column in range(isr.shape[1]):
            in_sync |= replicas == isr[:, column : column + 1]
        return known & ~in_sync & (replicas >= 0)

    def _rates(self) -> npt.NDArray[Any] | None:
        """The loads of each broker, where the snapshot has rates; copies to followers included."""
        bytes_in = self.snapshot.bytes_in
        if not len(bytes_in) or np.isnan(bytes_in).all():
            return None
        return broker_loads(self.snapshot)

    # ---- topics ---------------------------------------------------------------------------------

    @cached_property
    def topics(self) -> list[Row]:
        """One row per topic, by name."""
        assignment = self.snapshot.assignment
        names, count = assignment.topics, len(assignment.topics)
        topic = assignment.topic
        partitions = np.bincount(topic, minlength=count)
        size = np.bincount(topic, self._sizes * self._held.sum(axis=1), minlength=count)
        lagging = np.bincount(topic[self.under_replicated], minlength=count)
        offline = np.bincount(topic[self.offline], minlength=count)
        moving = np.bincount(topic[self.moving], minlength=count)
        factor = np.zeros(count, np.int64)
        np.maximum.at(factor, topic, assignment.rf)
        return [
            {
                "name": name,
                "partitions": int(partitions[place]),
                "replication_factor": int(factor[place]),
                "bytes": int(size[place]),
                "under_replicated": int(lagging[place]),
                "offline": int(offline[place]),
                "moving": int(moving[place]),
            }
            for place, name in enumerate(names)
        ]

    # ---- documents ------------------------------------------------------------------------------

    @cached_property
    def summary(self) -> Row:
        """The figures of the whole cluster."""
        snapshot = self.snapshot
        alive = [broker for broker in self.brokers if broker["alive"]]
        used = [broker["disk_bytes"] for broker in alive]
        shares = [b["disk_bytes"] / b["disk_capacity"] for b in alive if b["disk_capacity"]]
        taken_at = snapshot.taken_at
        return {
            "cluster_id": snapshot.cluster_id,
            "taken_at": None if taken_at is None else taken_at.isoformat(),
            "brokers": len(snapshot.brokers),
            "brokers_down": len(snapshot.brokers) - len(alive),
            "racks": len({broker.rack for broker in snapshot.brokers if broker.rack}),
            "topics": len(snapshot.assignment.topics),
            "partitions": len(snapshot),
            "replicas": int(self._held.sum()),
            "bytes": int(sum(used)),
            "under_replicated": int(self.under_replicated.sum()),
            "offline": int(self.offline.sum()),
            "moving": int(self.moving.sum()),
            "away_from_preferred": int(self.away_from_preferred.sum()),
            "disk_imbalance": max(used) / (sum(used) / len(used)) if used and sum(used) else None,
            "fullest_disk": max(shares, default=None),
            "disk_ratios": self._disk_ratios(used),
        }

    def _disk_ratios(self, used: list[int]) -> list[float | None]:
        """The disk of each broker against the mean, rack by rack; None where it is down."""
        mean = sum(used) / len(used) if used else 0
        ordered = sorted(self.brokers, key=lambda row: (row["rack"] or "", row["id"]))
        return [
            (round(row["disk_bytes"] / mean, 2) if mean else 0.0) if row["alive"] else None
            for row in ordered
        ]

    @cached_property
    def encoded_brokers(self) -> Encoded:
        """The brokers as columns."""
        return encoded({"brokers": columns_of(self.brokers)})

    @cached_property
    def encoded_partitions(self) -> Encoded:
        """Every partition, as columns beside the list of topics."""
        snapshot = self.snapshot
        assignment = snapshot.assignment
        return encoded(
            {
                "topics": list(assignment.topics),
                "topic": np.ascontiguousarray(assignment.topic),
                "partition": np.ascontiguousarray(assignment.partition),
                "leader": np.ascontiguousarray(snapshot.leader),
                "replicas": np.ascontiguousarray(assignment.replicas).ravel(),
                "width": int(assignment.replicas.shape[1]),
                "in_sync": np.ascontiguousarray(self._in_sync.astype(np.int32)),
                "size": np.ascontiguousarray(snapshot.size),
                "moving": np.flatnonzero(self.moving),
            }
        )


def columns_of(rows: list[Row]) -> dict[str, list[Any]]:
    """Rows with the same fields as one list per field."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
