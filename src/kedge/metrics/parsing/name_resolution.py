"""Turns the names in metrics into those of the cluster: instances into brokers, topic names.

No series of the usual exporter rules has the broker's id. An instance is resolved, the best
knowledge first (a label is of the series itself, while an address may pass to another broker), by

1. `instance_to_broker` of the metadata,
2. a label of the target with the id (`broker_id`, `broker`, `node_id`, …),
3. the series `kafka_server_app_info_start_time_ms{broker_id="1"}` of the same instance, which is
   `kafka_server_app_info_StartTimeMs{id="1"}` without exporter rules,
4. the host of the instance, or the name of its pod, which one broker's listener has too.

Other exporters run on the host of a broker, or in its pod, and have `up` and the cpu of a process
too. Where 1. or 3. name the instance of a broker, these two are not taken from another one there.

Some reporters write `_` for `.` in topic names. Kafka refuses two topics that differ only in this,
so the list of topics restores the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kedge.metrics.measurement import NONE
from kedge.metrics.parsing.cluster_metadata import ClusterMetadata, host_of
from kedge.metrics.parsing.series_names import label_int

ID_LABELS: Final = ("broker_id", "brokerid", "kafka_broker_id", "node_id", "broker")
POD_LABELS: Final = ("pod", "pod_name", "kubernetes_pod_name", "strimzi_io_pod_name")
REPLICA_LABELS: Final = ("prometheus_replica", "replica", "__replica__", "prometheus", "receive")


class Instances:
    """Finds the broker of a series by its labels."""

    def __init__(self, metadata: ClusterMetadata, learned: Mapping[str, int] | None = None) -> None:
        self._ids = metadata.ids
        self._given = metadata.instance_to_broker
        self._learned = {i: b for i, b in (learned or {}).items() if b in metadata.ids}
        self._hosts = unambiguous((host, b.id) for b in metadata.brokers for host in b.hosts)
        self._pods = unambiguous(
            (host.partition(".")[0], b.id) for b in metadata.brokers for host in b.hosts
        )
        self._named: dict[int, set[str]] = {}  # hosts of the instances of each broker
        for instance, broker in (*self._given.items(), *self._learned.items()):
            self._named.setdefault(broker, set()).add(host_of(instance))

    def broker_of(self, labels: Mapping[str, str], *, of_process: bool = False) -> int:
        """The id of the broker; NONE if the labels are not those of a broker of the cluster.

        `of_process`: of a series that any process has.
        """
        instance = labels.get("instance", "")
        if instance in self._given:
            return self._given[instance]
        labelled = label_int(labels, *ID_LABELS)
        if labelled in self._ids:
            return labelled
        if instance in self._learned:
            return self._learned[instance]
        host = host_of(instance) if instance else ""
        for pod in POD_LABELS:
            broker = self._pods.get(labels.get(pod, "").lower(), NONE)
            if broker != NONE:  # a pod that is started again has another address
                beside = of_process and host in self._named.get(broker, ())
                return NONE if beside else broker
        broker = self._hosts.get(host, NONE) if host else NONE
        return NONE if of_process and broker in self._named else broker


def unambiguous(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The broker of each host or instance that only one broker has."""
    found: dict[str, set[int]] = {}
    for host, broker in pairs:
        found.setdefault(host, set()).add(broker)
    return {host: ids.pop() for host, ids in found.items() if len(ids) == 1}


def replica_of(labels: Mapping[str, str]) -> str:
    """Which of several Prometheus servers has scraped a series; empty if no label tells."""
    return next((labels[name] for name in REPLICA_LABELS if labels.get(name)), "")


def distinct_topics(known: Iterable[str], stored: Iterable[str]) -> tuple[str, ...]:
    """The topics that are known, and those of earlier runs that can exist beside them.

    An earlier run may have stored a topic under the name with `_` because it knew no other one: of
    stored names that collide, the one with most dots is the topic's.
    """
    names = set(known)
    taken = {_folded(name) for name in names}
    best = {_folded(name): name for name in sorted(stored, key=lambda name: name.count("."))}
    return tuple(sorted(names.union(best[key] for key in best.keys() - taken)))


def _folded(topic: str) -> str:
    return topic.replace(".", "_")


class TopicNames:
    """Restores topic names in which `_` was written for `.`."""

    def __init__(self, topics: Iterable[str] = ()) -> None:
        self._topics = frozenset(topics)
        self._dotted = {_folded(topic): topic for topic in sorted(self._topics)}

    def restore(self, name: str) -> str:
        """The topic's name in the cluster; unchanged if no topic is known that it could be."""
        return name if name in self._topics else self._dotted.get(name, name)
