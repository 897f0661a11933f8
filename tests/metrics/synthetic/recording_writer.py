"""Writes a drawn cluster as a recording: what exporters and admin requests show of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tests.metrics.synthetic.drawn_cluster import BEFORE_S, Cluster
from tests.metrics.synthetic.reports import (
    GAUGES,
    METER,
    Series,
    admin_snapshot,
    reporter_records,
)
from tests.metrics.synthetic.simulated_logs import TICKS, Array, Logs

COUNTERS = ("bytesin", "bytesout", "messagesin")


@dataclass(frozen=True)
class Style:
    """How targets are labelled and which exporter writes the text."""

    labels: dict[str, str]
    port: int
    servers: int  # Prometheus servers that scrape the same brokers
    replica_label: str
    old_agent: bool  # agent 0.20.0: a comma before the closing brace, labels as the bean has them
    mapped: str  # how instances are told: "metadata", "label" or "host"
    packed: bool = True  # whether answers and scrapes are compressed


def draw_style(seed: int) -> Style:
    draw = np.random.default_rng(seed + 1)
    labels: dict[str, str] = {"job": str(draw.choice(["kafka", "jmx", "kafka-brokers"]))}
    if draw.random() < 0.7:
        labels["cluster"] = str(draw.choice(["main", "blue", "eu-1"]))
    if draw.random() < 0.5:
        labels |= {"env": "prod", "dc": "ber1", "namespace": "kafka", "container": "kafka"}
    return Style(
        labels,
        int(draw.choice([7071, 9404, 5556])),
        2 if draw.random() < 0.3 else 1,
        str(draw.choice(["prometheus_replica", "replica", "__replica__"])),
        bool(draw.random() < 0.5),
        str(draw.choice(["metadata", "metadata", "label", "host"])),
        bool(draw.random() < 0.7),
    )


@dataclass
class RecordingWriter:
    """Writes one recording."""

    cluster: Cluster
    style: Style
    directory: Path

    @cached_property
    def logs(self) -> list[Logs]:
        root = np.random.default_rng(self.cluster.seed + 2)
        return [Logs(self.cluster, topic, root.spawn(1)[0]) for topic in self.cluster.topics]

    @cached_property
    def series(self) -> list[Series]:
        return [one for logs in self.logs for one in _series_of(logs)]

    @cached_property
    def up(self) -> dict[int, Array]:
        return {broker: self.logs[0].up(broker) for broker in self.cluster.brokers}

    def write(self) -> Path:
        self.directory.mkdir(parents=True)
        self._metadata()
        self._truth()
        self._leaders()
        self._prometheus()
        self._scrapes()
        for second in range(0, self.cluster.seconds + 1, 60):
            at = self.cluster.t0 + second
            self._dump(f"admin/{at}.json.gz", admin_snapshot(self.cluster, self.logs, second))
        records = b"\n".join(reporter_records(self.cluster, self.series, self.up))
        path = self.directory / "cruise-control" / "__CruiseControlMetrics.jsonl.gz"
        path.parent.mkdir()
        path.write_bytes(gzip.compress(records, 1))
        return self.directory

    def _instance(self, broker: int) -> str:
        return f"{self.cluster.hosts[broker]}:{self.style.port}"

    def _dump(self, name: str, value: Any) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(value).encode()
        path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)

    # ---- the cluster and the truth --------------------------------------------------------------

    def _metadata(self) -> None:
        brokers = [
            {"id": b, "rack": rack, "listener": f"{self.cluster.hosts[b]}:9092"}
            for b, rack in self.cluster.brokers.items()
        ]
        given = self.cluster.brokers if self.style.mapped == "metadata" else {}
        instances = {self._instance(broker): broker for broker in given}
        found = {"cluster": self.cluster.name, "brokers": brokers}
        self._dump("metadata.json", {**found, "instance_to_broker": instances})

    def _truth(self) -> None:
        fine: list[dict[str, Any]] = []
        for logs in self.logs:
            for p in range(len(logs.topic.replicas)):
                key = {"topic": logs.topic.name, "partition": p, "internal": False}
                log_in = _sums(logs.appended[1][p], self.cluster.seconds)
                out = _sums(logs.out[p], self.cluster.seconds)
                fine.append({**key, "log_in": log_in, "out_log": out})
        t0 = self.cluster.t0
        common = {"run": "drawn", "cluster": self.cluster.name, "t0": t0}
        common |= {"t1": t0 + self.cluster.seconds, "steady_window": [t0, t0 + 300]}
        self._dump("truth.json", {**common, "partitions": fine})
        self._dump("truth_15s.json.gz", {**common, "partitions": fine})

    def _leaders(self) -> None:
        entries: list[Any] = []
        for second in range(0, self.cluster.seconds + 30, 4):
            topics = {logs.topic.name: _states(logs, second) for logs in self.logs}
            if not entries or entries[-1]["topics"] != topics:
                entries.append({"ts": self.cluster.t0 + second + 0.4, "topics": topics})
        self._dump("leaders.json.gz", entries)

    # ---- Prometheus -----------------------------------------------------------------------------

    def _prometheus(self) -> None:
        names = {one.name for one in self.series}
        for step in (15, 60):
            for name in sorted(names):
                of_name = [one for one in self.series if one.name == name]
                self._answer(name, step, [s for one in of_name for s in self._queried(one, step)])
            self._answer("up", step, [s for b in self.up for s in self._ups(b, step)])
            self._answer("expr_size_deriv", step, self._expression(step))
        targets = [{"labels": self._labels(b, 0), "health": "up"} for b in self.cluster.brokers]
        self._dump("prometheus/targets.json", _success({"activeTargets": targets}))
        self._dump("prometheus/series.json.gz", _success([{"__name__": one} for one in names]))
        (self.directory / "prometheus" / "prometheus.yml").write_text("global: {}\n")

    def _answer(self, name: str, step: int, result: list[Any]) -> None:
        ending = ".gz" if self.style.packed else ""
        answer = _success({"resultType": "matrix", "result": result})
        self._dump(f"prometheus/{name}.step{step}.json{ending}", answer)

    def _expression(self, step: int) -> list[Any]:
        """An answer to a query that is no bare series: it has labels and no name."""
        times = range(self.cluster.t0, self.cluster.t0 + self.cluster.seconds, step)
        values = [[at, "1234.5"] for at in times]
        of = [(one.labels, self._labels(one.broker, 0)) for one in self.series[:20]]
        return [{"metric": {**labels, **target}, "values": values} for labels, target in of]

    def _labels(self, broker: int, server: int) -> dict[str, str]:
        labels = {**self.style.labels, "instance": self._instance(broker)}
        if self.style.mapped == "label":
            labels |= {"instance": f"kafka-{broker}", "broker_id": str(broker)}
        if self.style.servers > 1:
            labels[self.style.replica_label] = f"prom-{server}"
        return labels

    def _scraped(self, broker: int, server: int, step: int) -> Iterator[tuple[int, float]]:
        """Steps of a query, and the moment of the last scrape before each."""
        phase = (broker * 31 + server * 67) % 150 / 10
        for second in range(0, self.cluster.seconds + 1, step):
            yield second, (second - phase) // 15 * 15 + phase

    def _queried(self, one: Series, step: int) -> Iterator[Any]:
        for server in range(self.style.servers):
            values: list[Any] = []
            for second, scraped in self._scraped(one.broker, server, step):
                value = one.value[self._tick(scraped)]
                if self.up[one.broker][self._tick(scraped)] and np.isfinite(value):
                    values.append([self.cluster.t0 + second, f"{value:.0f}"])
            if values:
                metric = {"__name__": one.name, **self._labels(one.broker, server), **one.labels}
                yield {"metric": metric, "values": values}

    def _ups(self, broker: int, step: int) -> Iterator[Any]:
        for server in range(self.style.servers):
            values = [
                [self.cluster.t0 + second, str(int(self.up[broker][self._tick(scraped)]))]
                for second, scraped in self._scraped(broker, server, step)
            ]
            yield {"metric": {"__name__": "up", **self._labels(broker, server)}, "values": values}

    def _tick(self, second: float) -> int:
        return self.logs[0].tick(second)

    # ---- scrapes --------------------------------------------------------------------------------

    def _scrapes(self) -> None:
        for broker in self.cluster.brokers:
            own = [one for one in self.series if one.broker == broker]
            for second in range(2 + broker % 25, self.cluster.seconds + 5, 30):
                if not self.up[broker][self._tick(second)]:
                    continue
                ending = ".gz" if self.style.packed else ""
                at = self.cluster.t0 + second
                path = self.directory / f"scrape/{broker}/{at}.prom{ending}"
                path.parent.mkdir(parents=True, exist_ok=True)
                lines = ["# HELP x arbitrary {text}", "jvm_threads_current 71.0"]
                lines += [self._line(one, self._tick(second)) for one in own]
                text = "\n".join(filter(None, lines)).encode() + b"\n"
                path.write_bytes(gzip.compress(text, 1) if self.style.packed else text)

    def _line(self, one: Series, tick: int) -> str:
        value = one.value[tick]
        if not np.isfinite(value):
            return ""
        pairs = [f'{name}="{text}"' for name, text in one.labels.items()]
        pairs = pairs[::-1] if self.style.old_agent else sorted(pairs)
        end = "," if self.style.old_agent else ""
        text = np.format_float_scientific(value, trim="0").replace("e+0", "E").replace("e+", "E")
        return f"{one.name}{{{','.join(pairs)}{end}}} {text}" if pairs else f"{one.name} {text}"


def _success(data: Any) -> dict[str, Any]:
    return {"status": "success", "data": data}


def _series_of(logs: Logs) -> Iterator[Series]:
    name = {"topic": logs.topic.name}
    for broker in logs.cluster.brokers:
        for counter in COUNTERS:
            value = logs.counter(broker, counter)
            if np.isfinite(value).any():
                yield Series(METER.format(counter), broker, name, value)
    for p in range(len(logs.topic.replicas)):
        labels = {**name, "partition": str(p)}
        for broker, first, last in logs.held(p):
            there = np.zeros(logs.ticks, np.bool_)
            there[first:last] = True
            there &= logs.up(broker)
            for gauge, value in zip(GAUGES, logs.replica(p, broker, first), strict=True):
                yield Series(gauge, broker, labels, np.where(there, value, np.nan))
            leads = np.where(logs.leader[p] == broker, float(len(logs.topic.replicas[p])), 0.0)
            replicas = np.where(there, leads, np.nan)
            yield Series("kafka_cluster_partition_replicascount", broker, labels, replicas)


def _states(logs: Logs, second: int) -> dict[str, Any]:
    tick = logs.tick(second)
    found: dict[str, Any] = {}
    for p in range(len(logs.topic.replicas)):
        held = [broker for broker, first, last in logs.held(p) if first <= tick < last]
        isr = [broker for broker in held if logs.up(broker)[tick]]
        found[str(p)] = [int(logs.leader[p, tick]), held, isr]
    return found


def _sums(amount: Array, seconds: int) -> list[float]:
    inside = amount[BEFORE_S * TICKS : (BEFORE_S + seconds) * TICKS]
    return [float(x) for x in inside.reshape(-1, 15 * TICKS).sum(axis=1)]
