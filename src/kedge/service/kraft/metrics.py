"""Metrics of a KRaft controller for Prometheus, at /metrics."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kedge.errors import InvalidRequest
from kedge.quorum.roles import RoleName
from kedge.service.kraft.process import KraftService
from kedge.service.options import parse_address


class KraftCollector(Collector):
    """Reads the state at each scrape; images are immutable, so no lock is needed."""

    def __init__(self, service: KraftService) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        """All metric families."""
        if not hasattr(self._service, "controller"):
            return
        yield from self._gauges()
        state = GaugeMetricFamily("kedge_kraft_state", "The state in raft", labels=["state"])
        for role in RoleName:
            state.add_metric([role], int(self._service.node.role.name is role))
        yield state
        requests = CounterMetricFamily("kedge_kraft_requests", "Requests", labels=["request"])
        for name, count in sorted(self._service.requests.items()):
            requests.add_metric([name], count)
        yield requests

    def _gauges(self) -> Iterator[Metric]:
        service = self._service
        node, image = service.node, service.stable
        fenced = sum(broker.fenced for broker in image.brokers.values())
        partitions = sum(len(topic.partitions) for topic in image.topics.values())
        leader = node.role.leader_id
        for name, text, value in (
            ("active", "Whether this is the active controller", int(service.is_active)),
            ("epoch", "The epoch of raft", node.role.epoch),
            ("leader", "The leader's node id, or -1", -1 if leader is None else leader),
            ("high_watermark", "Offset up to which all is committed", node.log.high_watermark),
            ("log_end", "The next offset of the log", node.log.end),
            ("applied", "The next offset to be replayed", service.applied.offset),
            (
                "brokers_active",
                "Registered brokers that are not fenced",
                len(image.brokers) - fenced,
            ),
            ("brokers_fenced", "Registered brokers that are fenced", fenced),
            ("topics", "Topics", len(image.topics)),
            ("partitions", "Partitions", partitions),
            ("partitions_offline", "Partitions without a leader", len(image.indexes.leaderless)),
            (
                "partitions_not_preferred",
                "Partitions not led by their first replica",
                len(image.indexes.imbalanced),
            ),
            ("connections", "Open connections to this node", service.connections),
        ):
            yield GaugeMetricFamily(f"kedge_kraft_{name}", text, value=value)


@contextlib.contextmanager
def metrics_of(service: KraftService, address: str | None) -> Generator[int | None]:
    """Serve metrics for the time of a `with` block; the port, or None without an address."""
    if address is None:
        yield None
        return
    at = parse_address(address)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(KraftCollector(service))
    try:
        server, thread = start_http_server(at.port, at.host, registry)
    except OSError as problem:
        raise InvalidRequest(f"{at.host}:{at.port} cannot be bound: {problem.strerror}") from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
