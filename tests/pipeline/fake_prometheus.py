"""A server that answers as Prometheus does, from series in memory, with faults on request."""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Labels = dict[str, str]
LOOKBACK_S = 300


@dataclass(slots=True)
class Fault:
    """What to do instead of an answer."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    truncate: bool = False
    wait: threading.Event | None = None


@dataclass(slots=True)
class FakePrometheus:
    """The series, faults of the next requests, and what was requested."""

    series: list[tuple[Labels, dict[float, float]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    values_max: int = 1_000_000
    envelope: dict[str, Any] = field(default_factory=dict[str, Any])  # beside the data of ranges
    url: str = ""

    def answer(self, path: str, fields: dict[str, str]) -> tuple[int, bytes]:
        if path.startswith("/api/v1/label/"):
            label = path.split("/")[-2]
            found = self._selected(fields["match[]"])
            return _success(sorted({labels.get(label, "") for labels, _ in found} - {""}))
        if path == "/api/v1/query" and fields["query"].endswith("s]"):
            return self._latest(fields["query"])
        if path == "/api/v1/query":
            found = self._selected(fields["query"].removeprefix("count(").removesuffix(")"))
            value = [{"metric": {}, "value": [0, str(len(found))]}] if found else []
            return _success({"resultType": "vector", "result": value})
        if path == "/api/v1/query_range":
            return self._range(fields)
        return 404, b"not found"

    def _latest(self, query: str) -> tuple[int, bytes]:
        """All values of the series of a name, as if all were scraped within the range."""
        pattern = re.search(r'__name__=~"([^"]*)"', query)
        assert pattern is not None, query
        result = [
            {"metric": labels, "values": [[at, repr(points[at])] for at in sorted(points)]}
            for labels, points in self.series
            if re.fullmatch(pattern[1], labels["__name__"])
        ]
        return _success({"resultType": "matrix", "result": result})

    def _range(self, fields: dict[str, str]) -> tuple[int, bytes]:
        start, end, step = (float(fields[name]) for name in ("start", "end", "step"))
        moments = [start + i * step for i in range(int((end - start) // step) + 1)]
        found = self._selected(fields["query"])
        if len(moments) * max(len(found), 1) > self.values_max:
            return 422, json.dumps({"error": "query would load too many samples"}).encode()
        result: list[dict[str, Any]] = []
        for labels, points in found:
            known = [(at, _at(points, at)) for at in moments]
            values = [[at, repr(value)] for at, value in known if value is not None]
            if values:
                result.append({"metric": labels, "values": values})
        return _success({"resultType": "matrix", "result": result}, self.envelope)

    def _selected(self, selector: str) -> list[tuple[Labels, dict[float, float]]]:
        name, _, inner = selector.partition("{")
        matchers: list[tuple[str, str, str]] = re.findall(r'(\w+)\s*(=~?)\s*"([^"]*)"', inner)
        if name:
            matchers.append(("__name__", "=", name))
        return [
            (labels, points)
            for labels, points in self.series
            if all(_matches(labels.get(label, ""), *rest) for label, *rest in matchers)
        ]


def _success(data: Any, envelope: dict[str, Any] | None = None) -> tuple[int, bytes]:
    return 200, json.dumps({"status": "success", "data": data, **(envelope or {})}).encode()


def _matches(value: str, operator: str, text: str) -> bool:
    text = text.replace("\\\\", "\\")
    return value == text if operator == "=" else re.fullmatch(text, value) is not None


def _at(points: dict[float, float], at: float) -> float | None:
    times = [ts for ts in points if at - LOOKBACK_S < ts <= at]
    return points[max(times)] if times else None


@contextmanager
def serving(fake: FakePrometheus, tls: ssl.SSLContext | None = None) -> Generator[FakePrometheus]:
    """The server on a port of its own, for the time of a block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve(urlsplit(self.path).query)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self._serve(self.rfile.read(length).decode())

        def _serve(self, query: str) -> None:
            path = urlsplit(self.path).path
            fields = {name: values[0] for name, values in parse_qs(query).items()}
            fake.requests.append((path, fields, dict(self.headers)))
            fault = fake.faults.pop(0) if fake.faults else None
            status, body = fake.answer(path, fields)
            if fault is not None:
                if fault.wait is not None:
                    fault.wait.wait(30)
                if fault.body or not fault.truncate:
                    status, body = fault.status, fault.body
            self.send_response(status)
            for name, value in (fault.headers if fault else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = len(body) // 2 if fault is not None and fault.truncate else len(body)
            with suppress(BrokenPipeError):  # the client did not wait
                self.wfile.write(body[:cut])
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    fake.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        for fault in fake.faults:
            if fault.wait is not None:
                fault.wait.set()
        server.shutdown()
        thread.join()
        server.server_close()


def broker_series(
    cluster_topics: dict[str, list[tuple[int, float]]],
    *,
    instance: str = "127.0.0.1:7071",
    start: int,
    end: int,
    step: int = 15,
) -> list[tuple[Labels, dict[float, float]]]:
    """Series of one broker that leads all partitions; a topic has (partition, bytes per second)."""
    moments = range(start, end + 1, step)
    base = {"instance": instance, "job": "kafka"}
    series: list[tuple[Labels, dict[float, float]]] = [
        ({"__name__": "up", **base}, {float(at): 1.0 for at in moments})
    ]
    meters = "kafka_server_brokertopicmetrics_"
    for topic, partitions in cluster_topics.items():
        total = sum(rate for _, rate in partitions)
        for meter, share in (("bytesin_total", 1.0), ("bytesout_total", 2.0)):
            labels = {"__name__": meters + meter, **base, "topic": topic}
            series.append((labels, {float(at): share * total * (at - start) for at in moments}))
        for partition, rate in partitions:
            of = {**base, "topic": topic, "partition": str(partition)}
            gauges = {
                "kafka_log_log_size": lambda at, rate=rate: rate * (at - start),
                "kafka_log_log_logendoffset": lambda at, rate=rate: rate / 10 * (at - start),
                "kafka_log_log_logstartoffset": lambda at: 0.0,
                "kafka_cluster_partition_replicascount": lambda at: 1.0,
                "kafka_cluster_partition_insyncreplicascount": lambda at: 1.0,
            }
            for name, value in gauges.items():
                series.append(({"__name__": name, **of}, {float(at): value(at) for at in moments}))
    return series
