"""Frames that are damaged, endless or mean, sent to an endpoint: `python -m tests.fuzz.frames`.

A fault is a traceback in the server's log, a request that outlives its connection by more than
five seconds, another client that is not answered within five, or memory that grows from seed to
seed.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import socket
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kedge.endpoint import Limits
from kedge.protocol.messages import DescribeClusterRequest, DescribeClusterResponse
from tests.endpoint.client import HOST, Client
from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster
from tests.fuzz.random_messages import random_frame

FRAMES = 20  # of a seed
HANG_S = 5.0
GROWTH_BYTES_MAX = 128 << 20
_ANSWER_S = 0.05

Damage = Callable[[random.Random, bytes], bytes]


class Fault(AssertionError):
    """What a seed has found."""


class _Tracebacks(logging.Handler):
    """Keeps what the server logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        why = "" if record.exc_info is None else repr(record.exc_info[1])
        self.found.append(f"{record.getMessage()}: {why}")


class FrameFuzzer:
    """One server for all seeds, a client that must always be answered, and the server's log."""

    def __init__(self, cluster: EndpointCluster, tracebacks: _Tracebacks) -> None:
        self._cluster = cluster
        self._tracebacks = tracebacks
        self._witness = Client(cluster.ports[cluster.controller], timeout_s=HANG_S)
        self._first_bytes = 0

    def close(self) -> None:
        self._witness.socket.close()

    def fuzz(self, seed: int) -> None:
        """Send a seed's frames; raises Fault."""
        rng = random.Random(seed)
        ports = list(self._cluster.ports.values())
        for _ in range(FRAMES):
            self._send(rng, rng.choice(ports), damaged(rng, random_frame(rng)))
        self._check(seed)

    def _send(self, rng: random.Random, port: int, data: bytes) -> None:
        with socket.create_connection((HOST, port), timeout=HANG_S) as line:
            try:
                line.sendall(data)
                if rng.random() < 0.8:
                    line.settimeout(_ANSWER_S)
                    while line.recv(1 << 16):
                        line.settimeout(0.001)
            except OSError:
                pass  # the server may end the connection at any time, and so do we

    def _check(self, seed: int) -> None:
        try:
            answer = self._witness.ask(DescribeClusterRequest(), DescribeClusterResponse)
        except OSError as error:
            raise Fault(f"seed {seed}: another client was not answered: {error!r}") from error
        if len(answer.brokers) != len(self._cluster.ports):
            raise Fault(f"seed {seed}: {len(answer.brokers)} brokers are left")
        deadline = time.monotonic() + HANG_S
        while self._cluster.endpoint.endpoint.traffic.connections_open > 1:
            if time.monotonic() > deadline:
                raise Fault(f"seed {seed}: a request goes on though its client has gone")
            time.sleep(0.001)
        if self._tracebacks.found:
            found, self._tracebacks.found = self._tracebacks.found, []
            raise Fault(f"seed {seed}: {found[0]}")
        self._check_memory(seed)

    def _check_memory(self, seed: int) -> None:
        self._cluster.recorder.sent.clear()
        now = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        self._first_bytes = self._first_bytes or now
        if now - self._first_bytes > GROWTH_BYTES_MAX:
            raise Fault(f"seed {seed}: {now - self._first_bytes} bytes more than at first")


@contextmanager
def frame_fuzzer() -> Generator[FrameFuzzer]:
    """A fuzzer with its server."""
    tracebacks = _Tracebacks()
    loggers = [logging.getLogger(name) for name in ("kedge", "asyncio")]
    for logger in loggers:
        logger.addHandler(tracebacks)
    try:
        with endpoint_cluster(limits=Limits(frame_s=1.0, disconnect_check_s=0.01)) as cluster:
            made = FrameFuzzer(cluster, tracebacks)
            try:
                yield made
            finally:
                made.close()
    finally:
        for logger in loggers:
            logger.removeHandler(tracebacks)


# ---- damage -------------------------------------------------------------------------------------


def damaged(rng: random.Random, frame: bytes) -> bytes:
    """The frame as it is, or with one to three kinds of damage."""
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        frame = rng.choice(_DAMAGES)(rng, frame)
    return frame


def _flip(rng: random.Random, frame: bytes) -> bytes:
    data = bytearray(frame)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def _cut(rng: random.Random, frame: bytes) -> bytes:
    return frame[: rng.randrange(len(frame) + 1)]


def _cut_and_fit(rng: random.Random, frame: bytes) -> bytes:
    return _fitted(frame[4 : 4 + rng.randrange(max(1, len(frame)))])


def _extreme(rng: random.Random, frame: bytes) -> bytes:
    """A number of the body becomes one that lengths are afraid of."""
    body = bytearray(frame[4:])
    size = rng.choice((1, 2, 4, 8))
    if len(body) > size:
        at = rng.randrange(len(body) - size)
        value = rng.choice((0, -1, -2, 1 << (8 * size - 1) - 1, 2 ** (8 * size - 1) - 1))
        half = 1 << (8 * size - 1)
        body[at : at + size] = max(-half, min(half - 1, value)).to_bytes(size, "big", signed=True)
    return _fitted(bytes(body))


def _insert(rng: random.Random, frame: bytes) -> bytes:
    at = rng.randrange(4, max(5, len(frame)))
    return _fitted(frame[4:at] + rng.randbytes(rng.choice((1, 4, 64, 3000))) + frame[at:])


def _repeat(rng: random.Random, frame: bytes) -> bytes:
    """Several requests in a row, the last one half."""
    return frame * rng.choice((2, 5)) + frame[: len(frame) // 2]


def _wrong_length(rng: random.Random, frame: bytes) -> bytes:
    return rng.choice((0, 1, 2**24, 2**24 + 1, 2**31 - 1)).to_bytes(4, "big") + frame[4:]


def _noise(rng: random.Random, frame: bytes) -> bytes:
    return rng.randbytes(len(frame))


_DAMAGES: tuple[Damage, ...] = (
    *(_flip, _flip, _cut, _cut_and_fit, _extreme, _extreme),
    *(_insert, _repeat, _wrong_length, _noise),
)


def _fitted(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


# ---- the command --------------------------------------------------------------------------------


def main(argv: Sequence[str]) -> int:
    """Try seeds, print what each has found, and sum up."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz.frames", description=__doc__)
    options.add_argument("--seeds", type=int, default=1000)
    options.add_argument("--first-seed", type=int, default=0)
    chosen = options.parse_args(argv)
    faults = 0
    with frame_fuzzer() as fuzzer:
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            try:
                fuzzer.fuzz(seed)
            except Fault as fault:
                faults += 1
                print(fault, flush=True)
    print(f"{chosen.seeds} seeds, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
