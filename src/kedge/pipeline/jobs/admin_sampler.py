"""Samples a live cluster by admin requests, and `/metrics` endpoints: `kedge pipeline sample`.

    out/
      metadata.json                    the cluster, for --metadata
      leaders.json.gz                  leaders over time, for --leaders
      admin/<unix seconds>.json.gz     log directories, offsets, committed offsets of groups
      scrape/<broker>/<unix seconds>.prom.gz

A file is written when its sample is complete. A second run on the same directory adds to it.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import orjson

from kedge.cluster.port import Cluster, TopicDescription
from kedge.errors import InvalidRequest, KedgeError, Unavailable
from kedge.files import read_bytes, with_path_context, write_atomically
from kedge.metrics.parsing.cluster_metadata import parse_leaders, parse_metadata
from kedge.pipeline.jobs.sample_attempts import Missed, SampleAttempts
from kedge.pipeline.sources.offset_reader import OffsetReader

SCRAPE_BYTES_MAX: Final = 256 << 20
SCRAPE_TIMEOUT_S: Final = 20.0
Clock = Callable[[], float]


@dataclass(slots=True)
class AdminSampler:
    """Takes samples of one cluster into a directory."""

    cluster: Cluster
    offsets: OffsetReader
    out: Path
    clock: Clock
    scrapes: Mapping[int, str] = field(default_factory=dict[int, str])  # broker: URL
    _leaders: list[dict[str, Any]] = field(default_factory=list)

    def prepare(self) -> None:
        """Write the metadata, and read the leaders of an earlier run."""
        described = self.cluster.describe()
        brokers = [
            {"id": b.id, "rack": b.rack, "listeners": [f"{e.host}:{e.port}" for e in b.endpoints]}
            for b in described.brokers
        ]
        unknown = sorted(set(self.scrapes) - {broker.id for broker in described.brokers})
        if unknown:
            raise InvalidRequest(f"--scrape: the cluster has no broker {unknown[0]}")
        instances = {urlsplit(url).netloc: broker for broker, url in self.scrapes.items()}
        metadata = {"cluster": described.cluster_id, "brokers": brokers}
        with with_path_context(self.out):
            for part in ("admin", *(f"scrape/{broker}" for broker in self.scrapes)):
                (self.out / part).mkdir(parents=True, exist_ok=True)
        path = self.out / "metadata.json"
        if path.exists() and _cluster_in(path) != described.cluster_id:
            raise InvalidRequest(f"{self.out}: has samples of another cluster")
        self._leaders = _leaders_in(self.out / "leaders.json.gz")
        write_atomically(path, orjson.dumps({**metadata, "instance_to_broker": instances}))

    def sample(self) -> tuple[int, list[str]]:
        """Take one sample; the number of replicas, and a sentence for each that failed."""
        ts = self.clock()
        topics = self._topics()
        self._note_leaders(ts, topics)
        snapshot, replicas, faults = self._snapshot(ts, topics)
        packed = gzip.compress(orjson.dumps(snapshot), 6, mtime=0)
        write_atomically(self.out / "admin" / f"{int(ts)}.json.gz", packed)
        for broker, url in self.scrapes.items():
            try:
                text = scraped(url)
            except KedgeError as error:
                faults.append(str(error))
                continue
            path = self.out / "scrape" / str(broker) / f"{int(self.clock())}.prom.gz"
            write_atomically(path, gzip.compress(text, 6, mtime=0))
        return replicas, faults

    def _topics(self) -> dict[str, TopicDescription]:
        described = self.cluster.describe_topics(sorted(self.cluster.topic_names()))
        return {n: d for n, d in described.items() if not isinstance(d, KedgeError)}

    def _note_leaders(self, ts: float, topics: Mapping[str, TopicDescription]) -> None:
        state = {
            name: {
                str(p.partition): [
                    -1 if p.leader is None else p.leader,
                    list(p.replicas),
                    list(p.isr),
                ]
                for p in topic.partitions
            }
            for name, topic in topics.items()
        }
        if self._leaders and self._leaders[-1]["topics"] == state:
            return
        self._leaders.append({"ts": ts, "topics": state})
        packed = gzip.compress(orjson.dumps(self._leaders), 6, mtime=0)
        write_atomically(self.out / "leaders.json.gz", packed)

    def _snapshot(
        self, ts: float, topics: Mapping[str, TopicDescription]
    ) -> tuple[dict[str, Any], int, list[str]]:
        alive = sorted(self.cluster.describe().alive)
        found: list[dict[str, Any]] = []
        errors: dict[str, str] = {}
        for broker, dirs in self.cluster.log_dirs(alive, sorted(topics)).items():
            if isinstance(dirs, KedgeError):
                errors[str(broker)] = dirs.what
            else:
                listed = [
                    {"log_dir": each.path, "topics": _by_topic(each.replicas)} for each in dirs
                ]
                found.append({"broker": broker, "log_dirs": listed})
        ids = {name: [p.partition for p in topic.partitions] for name, topic in topics.items()}
        times = {"log_dirs_ts": ts, "end_offsets_ts": self.clock()}
        ends = self.offsets.offsets(ids, end=True)
        starts = self.offsets.offsets(ids, end=False)
        groups_ts = self.clock()
        snapshot = {
            "ts": ts,
            **times,
            "groups_ts": groups_ts,
            "log_dirs": found,
            "log_dirs_errors": errors,
            "end_offsets": ends,
            "start_offsets": starts,
            "groups": self.offsets.committed(),
        }
        replicas = sum(
            len(topic["partitions"])
            for broker in found
            for directory in broker["log_dirs"]
            for topic in directory["topics"]
        )
        return snapshot, replicas, [f"broker {b}: {what}" for b, what in errors.items()]


def _cluster_in(path: Path) -> str:
    """The cluster that an earlier run has sampled."""
    data = read_bytes(path)
    with with_path_context(path):
        return parse_metadata(data).cluster


def _leaders_in(path: Path) -> list[dict[str, Any]]:
    """The leaders that an earlier run has noted; refused where `ingest` could not read them."""
    if not path.exists():
        return []
    data = read_bytes(path)
    with with_path_context(path):
        parse_leaders(data)
    noted: list[dict[str, Any]] = orjson.loads(data)
    return noted


def _by_topic(replicas: Any) -> list[dict[str, Any]]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for replica in replicas:
        topics.setdefault(replica.tp.topic, []).append(
            {
                "partition_index": replica.tp.partition,
                "partition_size": replica.size_bytes,
                "offset_lag": replica.offset_lag,
                "is_future_key": replica.future,
            }
        )
    return [{"name": name, "partitions": found} for name, found in topics.items()]


def scraped(url: str) -> bytes:
    """The text of a `/metrics` endpoint."""
    request = Request(url, headers={"Accept": "text/plain"})
    try:
        with urlopen(request, timeout=SCRAPE_TIMEOUT_S) as answer:
            text = answer.read(SCRAPE_BYTES_MAX + 1)
            missing = answer.length or 0  # of Content-Length, which a read by size does not check
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise Unavailable(f"{url}: {str(reason)[:120]}") from error
    if len(text) > SCRAPE_BYTES_MAX:
        raise Unavailable(f"{url}: more than 256 MB")
    if missing:
        raise Unavailable(f"{url}: the answer ends {missing} bytes too early")
    return text


def sample_into_files(
    sampler: AdminSampler,
    *,
    every_s: float,
    for_s: float | None,
    wait: Callable[[float], bool],
    sampled: Callable[[int, list[str]], None],
    missed: Missed,
) -> int:
    """Sample at fixed moments until the time is over or `wait` returns True; the samples taken.

    A sample that fails is `missed`, and the next one is due at its moment.
    """
    if every_s < 1:
        raise InvalidRequest("the time between samples must be 1 s or more")
    sampler.prepare()
    first, attempts = sampler.clock(), SampleAttempts(missed)
    while True:
        if (sample := attempts.attempt(sampler.sample)) is not None:
            sampled(*sample)
        due = first + attempts.count * every_s
        is_over = for_s is not None and due > first + for_s
        if is_over or wait(max(0.0, due - sampler.clock())):
            return attempts.finish()
