"""What a hostile client can do to an endpoint. Frames are built first; an attack only sends."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.endpoint_attacks.wire import HOST, connected, exchange, frame_of
from kedge.protocol import FRAME_BYTES_MAX
from kedge.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    CreateTopicsRequest,
    DescribeConfigsRequest,
)

_TOPIC = 2
_CREATE_TIMEOUT_MS = 10_000
_WAIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Target:
    """A running lab: its ports by broker, and which of them is the controller."""

    ports: Mapping[int, int]
    controller: int

    @property
    def port(self) -> int:
        """The controller's port."""
        return self.ports[self.controller]


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of attack, with its frames built."""

    name: str
    run: Callable[[Target], None]


def attacks(*, scale: float = 1.0) -> list[Attack]:
    """All attacks; `scale` is the part of their full size."""

    def sized(count: int) -> int:
        return max(1, int(count * scale))

    same = _describe(["t"] * sized(20_000))
    many = _describe([f"unknown-{number}" for number in range(sized(200_000))])
    elements = _elements(sized(900_000))
    few, lots = _create("few", sized(4_000)), _create("lots", sized(50_000))
    return [
        Attack(f"DescribeConfigs, one topic {sized(20_000)} times", _ask(same)),
        Attack(f"DescribeConfigs of {sized(200_000)} names, then gone", _ask_and_leave(many)),
        Attack(f"an array of {sized(900_000)} elements", _ask(elements)),
        Attack(f"CreateTopics of {sized(4_000)} topics", _ask(few)),
        Attack(f"CreateTopics of {sized(50_000)} topics in 10 s", _ask(lots)),
        Attack("more connections than descriptors", _connect(sized(2_000))),
        Attack("large frames that stall", _stall(sized(12))),
    ]


def create_frame(prefix: str, count: int, *, timeout_ms: int = 600_000) -> bytes:
    """A request for so many topics of one partition."""
    topic = CreateTopicsRequest.CreatableTopic
    topics = [
        topic(
            name=f"{prefix}_{number}.x",
            num_partitions=1,
            replication_factor=1,
            assignments=[],
            configs=[],
        )
        for number in range(count)
    ]
    return frame_of(CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms), 7)


def _create(prefix: str, count: int) -> bytes:
    return create_frame(prefix, count, timeout_ms=_CREATE_TIMEOUT_MS)


def _describe(names: list[str]) -> bytes:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    named = [
        resource(resource_type=_TOPIC, resource_name=name, configuration_keys=None)
        for name in names
    ]
    return frame_of(DescribeConfigsRequest(resources=named, include_synonyms=True), 4)


def _elements(count: int) -> bytes:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = topic.ReassignablePartition(partition_index=0, replicas=[1] * count)
    request = AlterPartitionReassignmentsRequest(
        topics=[topic(name="t", partitions=[partition])], timeout_ms=1000
    )
    return frame_of(request, 0)


def _ask(frame: bytes) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        with connected(target.port, timeout_s=_WAIT_S) as line, contextlib.suppress(OSError):
            exchange(line, frame)

    return run


def _ask_and_leave(frame: bytes) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        with connected(target.port) as line:
            line.sendall(frame)
        time.sleep(3.0)  # what is left of the work must not be felt

    return run


def _connect(count: int) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        with contextlib.ExitStack() as stack:
            for number in range(count):
                port = list(target.ports.values())[number % len(target.ports)]
                with contextlib.suppress(OSError):
                    stack.enter_context(socket.create_connection((HOST, port), timeout=1))
            time.sleep(2.0)

    return run


def _stall(count: int) -> Callable[[Target], None]:
    content = FRAME_BYTES_MAX.to_bytes(4, "big") + bytes(FRAME_BYTES_MAX - 100_000)

    def run(target: Target) -> None:
        with contextlib.ExitStack() as stack:
            for _ in range(count):
                line = stack.enter_context(connected(target.port))
                with contextlib.suppress(OSError):
                    line.sendall(content)
            time.sleep(1.0)

    return run
