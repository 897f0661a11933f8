"""A client that does nothing wrong, and how long it waits for its answers."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from bench.endpoint_attacks.attacks import Attack, Target
from bench.endpoint_attacks.wire import connected, exchange, frame_of
from kedge.protocol.messages import DescribeClusterRequest, MetadataRequest

_PAUSE_S = 0.01


@dataclass
class Waits:
    """Seconds that each answer took, and what went wrong."""

    seconds: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])

    def quantile(self, part: float) -> float:
        """So many of the answers took no longer than this."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


class WellBehaved:
    """Asks every node in turn for its metadata, on connections that it keeps."""

    def __init__(self, target: Target) -> None:
        self.waits = Waits()
        self._lines = [connected(port) for port in target.ports.values()]
        self._frames = (
            frame_of(DescribeClusterRequest(), 1),
            frame_of(MetadataRequest(topics=[], allow_auto_topic_creation=False), 12),
        )
        for line in self._lines:
            exchange(line, self._frames[0])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Waits:
        self._thread.start()
        return self.waits

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        for line in self._lines:
            line.close()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(_PAUSE_S):
            number += 1
            line = self._lines[number % len(self._lines)]
            began = time.perf_counter()
            try:
                exchange(line, self._frames[number % len(self._frames)])
            except OSError as error:
                self.waits.errors.append(repr(error))
                return
            self.waits.seconds.append(time.perf_counter() - began)


def waits_during(target: Target, attack: Attack) -> Waits:
    """What a well-behaved client sees while an attack goes on."""
    with WellBehaved(target) as waits:
        attack.run(target)
        time.sleep(0.2)
    return waits


def waits_at_rest(target: Target, seconds: float) -> Waits:
    """What it sees when it is alone."""
    with WellBehaved(target) as waits:
        time.sleep(seconds)
    return waits
