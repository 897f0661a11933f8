"""The parts of a controller process that have metrics, and requests to its server of metrics."""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass, field

from kedge.brokers.wire import WireBrokers
from kedge.brokers.wire_forms import Address
from kedge.endpoint.server import Traffic
from kedge.runtime import Loop
from kedge.service.metrics import MetricsServer

ANYWHERE = Address("127.0.0.1", 0)


@dataclass
class Service:
    """The parts of a controller process that are measured."""

    loop: Loop
    wire: WireBrokers
    traffic: Traffic = field(default_factory=Traffic)


def fetched(server: MetricsServer, path: str) -> tuple[int, str]:
    address = f"http://127.0.0.1:{server.port}{path}"
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
