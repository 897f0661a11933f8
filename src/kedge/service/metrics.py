"""The controller's metrics for Prometheus at /metrics, and its health at /healthz.

Health is 200 for the active controller, and for a standby that knows the active one; 503 without a
session with ZooKeeper or without any active controller.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any, Protocol
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kedge.brokers.wire import WireBrokers
from kedge.brokers.wire_forms import Address
from kedge.endpoint.server import Traffic
from kedge.errors import InvalidRequest
from kedge.runtime import Loop

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class Measured(Protocol):
    """The parts of a controller process that have metrics."""

    @property
    def loop(self) -> Loop: ...
    @property
    def wire(self) -> WireBrokers: ...
    @property
    def traffic(self) -> Traffic: ...


class ControllerCollector(Collector):
    """Reads the counts at each scrape."""

    def __init__(self, service: Measured) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        """All metric families."""
        yield from self._state()
        yield from self._events()
        yield from self._brokers()

    def _state(self) -> Iterator[Metric]:
        view = self._service.loop.view
        gauges = {
            "active": ("Whether this process is the active controller", int(view.active)),
            "epoch": ("The controller epoch", view.epoch),
            "brokers": ("Registered brokers", len(view.registered)),
            "topics": ("Topics", len(view.topics)),
            "partitions": ("Partitions", view.partition_count),
            "offline_partitions": ("Partitions without leader", view.offline_partition_count),
            "preferred_replica_imbalance": (
                "Partitions whose leader is not the preferred one",
                view.preferred_replica_imbalance_count,
            ),
            "reassigning_partitions": ("Partitions being reassigned", view.reassigning_count),
            "topics_to_delete": ("Topics queued for deletion", view.topics_to_delete_count),
            "under_replicated_partitions": (
                "Partitions with fewer replicas in sync than assigned",
                view.under_replicated_count,
            ),
            "event_queue_size": ("Events in the queue", self._service.loop.queued),
            "zookeeper_connected": (
                "Whether the session with ZooKeeper is usable",
                int(self._service.loop.connected),
            ),
        }
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"kedge_controller_{name}", text, value=value)

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
        taken = CounterMetricFamily("kedge_endpoint_requests", "Requests answered", labels=label)
        for name, number in sorted(self._service.traffic.requests.items()):
            taken.add_metric([name], number)
        yield from (sent, waiting, taken)
        yield CounterMetricFamily(
            "kedge_broker_bytes_sent", "Bytes sent to brokers", value=traffic.bytes_sent
        )


class MetricsServer:
    """`/metrics` and `/healthz` over HTTP until it is stopped."""

    def __init__(self, service: Measured, at: Address) -> None:
        registry = CollectorRegistry()
        registry.register(ControllerCollector(service))
        untyped: Any = exposition
        app = with_health(untyped.make_wsgi_app(registry), service)
        try:
            self._server = make_server(at.host, at.port, app, _server_for(at.host), _Quiet)
        except OSError as error:
            raise InvalidRequest(
                f"--metrics-listen {at.host}:{at.port}: {error.strerror or error}",
                hint="use an address of this machine with a free port",
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="metrics", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._server.server_port

    def stop(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    """One thread per connection: a slow scraper delays no health check."""

    daemon_threads = True


class _ServerV6(_Server):
    address_family = socket.AF_INET6


class _Quiet(WSGIRequestHandler):
    """Requests are not logged."""

    timeout = 10  # seconds for a request to arrive

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _server_for(host: str) -> type[WSGIServer]:
    return _ServerV6 if ":" in host else _Server


def with_health(metrics: WSGIApplication, service: Measured) -> WSGIApplication:
    """`/healthz` in front of an application."""

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != "/healthz":
            return metrics(environ, start_response)
        healthy, text = health(service)
        status = "200 OK" if healthy else "503 Service Unavailable"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{text}\n".encode()]

    return app


def health(service: Measured) -> tuple[bool, str]:
    """Whether the process is healthy, and its role in words."""
    loop = service.loop
    view = loop.view
    if not loop.connected:
        return False, "no session with ZooKeeper"
    if view.active:
        return True, f"active: controller epoch {view.epoch}"
    if view.active_controller is None:
        return False, "standby: there is no controller"
    return True, f"standby: controller is node {view.active_controller}"
