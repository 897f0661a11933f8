"""A broker for tests of the controller process: obeys the controller and describes its settings."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

from kedge.errors import KedgeError
from kedge.protocol import framed
from kedge.protocol.broker_apis import SENT_BY_CONTROLLERS
from kedge.protocol.messages import ApiVersionsResponse, DescribeConfigsResponse
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Create
from kedge.store.znodes import BrokerRegistration, broker_path, encode_broker
from tests.brokers.fake_broker import FakeBroker, fine

DESCRIBE_CONFIGS, API_VERSIONS = 32, 18

SMALL = {
    "inter.broker.protocol.version": "3.9",
    "num.partitions": "7",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


def until(done: Callable[[], object], timeout_s: float = 20.0) -> None:
    """Wait for what other threads do."""
    deadline = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


class DescribedBroker(FakeBroker):
    """A broker that answers the controller, DescribeConfigs, and other requests with a text."""

    def __init__(
        self, settings: Mapping[str, str], *, broker: int = 1, error: int = 0, closes: bool = False
    ) -> None:
        super().__init__(fine, broker=broker)
        self.settings = settings
        self.passed_on: list[int] = []  # keys of the requests that the controller passed on
        self._error = error
        self._closes = closes

    def register(self, ensemble: MemoryEnsemble) -> MemoryStore:
        """Listen and register, as a broker does; the session that holds the registration."""
        self.listen()
        session = MemoryStore(ensemble)
        data = encode_broker(BrokerRegistration(self.broker))
        (answer,) = session.batch([Create(broker_path(self.broker.id), data, ephemeral=True)])
        assert not isinstance(answer, KedgeError), answer
        return session

    def _serve(self, line: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                size = struct.unpack(">i", _receive(line, 4))[0]
                line.sendall(self._answer(_receive(line, size)))

    def _answer(self, payload: bytes) -> bytes:
        key, version, correlation = struct.unpack_from(">hhi", payload)
        if key in SENT_BY_CONTROLLERS:
            api = SENT_BY_CONTROLLERS[key]
            header, request = api.decode_request(payload)
            self.heard.append((key, version, request))
            return api.encode_response(header, fine(key, request))
        if self._closes:
            raise ConnectionResetError("the broker closes the connection")
        top = struct.pack(">i", correlation)
        if key == DESCRIBE_CONFIGS:
            return framed(top + self._described().encode(version=version))
        self.passed_on.append(key)
        if key == API_VERSIONS:
            answer: Any = ApiVersionsResponse(error_code=0, api_keys=[], throttle_time_ms=0)
            return framed(top + answer.encode(version=version))
        return framed(top + b"from the broker")

    def _described(self) -> Any:
        result = DescribeConfigsResponse.DescribeConfigsResult
        entry = result.DescribeConfigsResourceResult
        configs = [
            entry(name=name, value=value, read_only=True, config_source=5, is_sensitive=False)
            for name, value in self.settings.items()
        ]
        described = result(
            error_code=self._error,
            error_message="refused" if self._error else None,
            resource_type=4,
            resource_name=str(self.broker.id),
            configs=configs,
        )
        return DescribeConfigsResponse(results=[described])


def _receive(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        some = line.recv(size - len(found))
        if not some:
            raise EOFError
        found += some
    return found
