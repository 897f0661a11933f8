"""What the controller is and does, for Prometheus, on a port of the loopback interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kedge.brokers.wire import WireBrokers
from kedge.endpoint.server import Traffic
from kedge.runtime import Loop

LOOPBACK = "127.0.0.1"


class Measured(Protocol):
    """What is looked at."""

    @property
    def loop(self) -> Loop: ...
    @property
    def wire(self) -> WireBrokers: ...
    @property
    def traffic(self) -> Traffic: ...


class ControllerCollector(Collector):
    """Reads the counts when somebody asks for them; nothing is kept twice."""

    def __init__(self, service: Measured) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        """All families."""
        yield from self._state()
        yield from self._events()
        yield from self._brokers()

    def _state(self) -> Iterator[Metric]:
        context = self._service.loop.context
        gauges = {
            "active": ("Whether this process holds the role", int(context.active)),
            "epoch": ("The controller epoch", context.epoch),
            "brokers": ("Registered brokers", len(context.registered)),
            "topics": ("Topics", len(context.topics)),
            "partitions": ("Partitions", len(context.assignments)),
            "offline_partitions": ("Partitions without leader", context.offline_partition_count),
            "preferred_replica_imbalance": (
                "Partitions whose leader is not the preferred one",
                context.preferred_replica_imbalance_count,
            ),
            "reassigning_partitions": ("Partitions on the move", len(context.being_reassigned)),
            "topics_to_delete": ("Topics queued for deletion", len(context.topics_to_be_deleted)),
        }
        for name, (words, value) in gauges.items():
            yield GaugeMetricFamily(f"kedge_controller_{name}", words, value=value)

    def _events(self) -> Iterator[Metric]:
        timings = dict(self._service.loop.metrics.events)
        prefix, label = "kedge_controller_event", ["event"]
        count = CounterMetricFamily(f"{prefix}s", "Events processed", labels=label)
        failed = CounterMetricFamily(f"{prefix}_failures", "Events that failed", labels=label)
        took = CounterMetricFamily(f"{prefix}_seconds", "Time spent on events", labels=label)
        for name, timing in sorted(timings.items()):
            count.add_metric([name], timing.count)
            failed.add_metric([name], timing.failures)
            took.add_metric([name], timing.took_ms / 1000)
        yield from (count, failed, took)

    def _brokers(self) -> Iterator[Metric]:
        traffic, label = self._service.wire.traffic, ["request"]
        sent = CounterMetricFamily(
            "kedge_broker_requests", "Requests sent to brokers", labels=label
        )
        for name, number in sorted(traffic.sent.items()):
            sent.add_metric([name], number)
        waiting = GaugeMetricFamily(
            "kedge_broker_requests_outstanding", "Requests not yet answered", labels=["broker"]
        )
        for broker, number in self._service.wire.outstanding().items():
            waiting.add_metric([str(broker)], number)
        taken = CounterMetricFamily("kedge_endpoint_requests", "Requests taken", labels=label)
        for name, number in sorted(self._service.traffic.requests.items()):
            taken.add_metric([name], number)
        yield from (sent, waiting, taken)
        yield CounterMetricFamily(
            "kedge_broker_bytes_sent", "Bytes sent to brokers", value=traffic.bytes_sent
        )


class MetricsServer:
    """`/metrics` over HTTP until it is stopped."""

    def __init__(self, service: Measured, port: int) -> None:
        registry = CollectorRegistry()
        registry.register(ControllerCollector(service))
        self._server, self._thread = start_http_server(port, addr=LOOPBACK, registry=registry)

    @property
    def port(self) -> int:
        """The port that is listened at."""
        server: Any = self._server
        return int(server.server_port)

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
