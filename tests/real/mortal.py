"""A controller that kills itself at a chosen point of a move, as `kill -9` would.

    python -m tests.real.mortal --zookeeper HOST:PORT --topic T --after 3

What a move of topic T does to the world is counted from the write that begins it: writes to the
store, and requests to brokers. After the chosen one the process is gone. Requests to brokers
count as done when they are answered, so that dying after a write means that nobody was told, and
dying after requests that everybody was.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from typing import Any

from kedge.brokers.wire import WireBrokers
from kedge.controller import effects as f
from kedge.model import BrokerId
from kedge.runtime import EffectExecutor, Loop
from kedge.service import ControllerService, JsonLines, Options, parse_address, parse_protocol
from kedge.service.broker_settings import BrokerSettings

NEVER = 1 << 30
_TOLD_S = 2.0


def steps_of(effect: f.Effect, topic: str) -> list[str]:
    """The effect's name if it changes something outside for this topic."""
    match effect:
        case f.StoreAssignment():
            mine = effect.topic == topic
        case f.WriteLeaderships(wanted):
            mine = any(tp.topic == topic for tp in wanted)
        case f.Send(requests):
            mine = any(tp.topic == topic for request in requests for tp in request.partitions)
        case _:
            mine = False
    return [type(effect).__name__] if mine else []


class MortalExecutor:
    """Executes effects until the chosen step, then kills its process."""

    def __init__(self, executor: EffectExecutor, wire: WireBrokers, topic: str, after: int) -> None:
        self._executor = executor
        self._wire = wire
        self._topic = topic
        self._after = after
        self._done: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def execute(self, effect: f.Effect) -> Any:
        answer = self._executor.execute(effect)
        steps = steps_of(effect, self._topic)
        if steps and (self._done or isinstance(effect, f.StoreAssignment)):
            self._done += steps
            print(f"STEP {len(self._done)} {steps[0]}", file=sys.stderr, flush=True)
            if len(self._done) >= self._after:
                self._die(effect)
        return answer

    def _die(self, effect: f.Effect) -> None:
        deadline = time.monotonic() + _TOLD_S
        while isinstance(effect, f.Send) and any(self._wire.outstanding().values()):
            if time.monotonic() > deadline:
                break
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGKILL)


class MortalService(ControllerService):
    """The controller's process with an executor that ends it at the chosen step."""

    def __init__(self, options: Options, lines: JsonLines, topic: str, after: int) -> None:
        super().__init__(options, log=lines.sink)
        self._topic = topic
        self._after = after

    def _make_loop(self, known: BrokerSettings | None) -> Loop:
        loop = super()._make_loop(known)
        executor: Any = MortalExecutor(loop.executor, self.wire, self._topic, self._after)
        loop.executor = executor
        return loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zookeeper", required=True)
    parser.add_argument("--id", type=int, default=1000)
    parser.add_argument("--session-timeout-ms", type=int, default=1000)
    parser.add_argument("--inter-broker-protocol", default=None)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--after", type=int, default=NEVER)
    chosen = parser.parse_args()
    spoken: str | None = chosen.inter_broker_protocol
    options = Options(
        zookeeper=chosen.zookeeper,
        listen=parse_address("127.0.0.1:0"),
        id=BrokerId(chosen.id),
        take_over=True,
        protocol=None if spoken is None else parse_protocol(spoken),
        session_timeout_ms=chosen.session_timeout_ms,
    )
    service = MortalService(options, JsonLines(), chosen.topic, chosen.after)

    def stop(_number: int, _frame: object) -> None:
        service.request_stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with service:
        print(f"LISTENING {service.at.host}:{service.at.port}", flush=True)
        service.wait()


if __name__ == "__main__":
    main()
