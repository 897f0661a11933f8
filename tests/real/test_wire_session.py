"""A controller whose way to ZooKeeper is cut: it resigns, writes nothing, and takes its turn again.

There are brokers by their registrations only; what counts here is what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from jvm.zookeeper import zookeeper
from kedge.brokers.wire_forms import Address
from kedge.controller.events import ShutdownRequested
from kedge.controller.settings import Ibp
from kedge.model import Broker, BrokerId, Endpoint, ReplicaAssignment
from kedge.service import ControllerService, Options
from kedge.store.port import Check, Create, Delete, GetData, Multi, Node, SetData
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    BrokerRegistration,
    ControllerClaim,
    TopicAssignment,
    broker_path,
    encode_broker,
    encode_controller,
    encode_controller_epoch,
    encode_topic,
    topic_path,
)
from kedge.store.zookeeper import ZooKeeperStore
from tests.real.kedge_cluster import until
from tests.real.relay import Relay

pytestmark = pytest.mark.real

BROKERS = (BrokerId(1), BrokerId(2))
SHORT_MS, LONG_MS = 1_000, 30_000
STATE = "/brokers/topics/t/partitions/0/state"


@dataclass
class Scene:
    """A store with two brokers that nobody reaches and a topic that the first one leads."""

    address: str
    store: ZooKeeperStore
    stack: ExitStack

    def controller(self, node: int, address: str, session_ms: int) -> ControllerService:
        options = Options(
            address,
            Address("127.0.0.1", 0),
            id=BrokerId(node),
            protocol=Ibp((3, 9)),
            session_timeout_ms=session_ms,
            prepare_internal_topics=False,
        )
        return self.stack.enter_context(ControllerService(options))

    def node(self, path: str) -> Node | None:
        (answer,) = self.store.batch([GetData(path)])
        return answer if isinstance(answer, Node) else None

    def read(self, path: str) -> Any:
        found = self.node(path)
        return None if found is None else json.loads(found.data or b"null")

    def register(self) -> None:
        nowhere = Endpoint("PLAINTEXT", "127.0.0.1", 1)
        for broker in BROKERS:
            shown = BrokerRegistration(Broker(broker, endpoints=(nowhere,)))
            self.store.batch([Create(broker_path(broker), encode_broker(shown), ephemeral=True)])
        made = TopicAssignment({0: ReplicaAssignment(BROKERS)}, "AAAAAAAAAAAAAAAAAAAABw")
        self.store.batch([Create(topic_path("t"), encode_topic(made))])
        until(lambda: self.node(STATE))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with zookeeper(tmp_path_factory.mktemp("session")) as address:
        yield address


@contextmanager
def scene(server: str, chroot: str) -> Generator[Scene]:
    with ExitStack() as stack:
        address = f"{server}/{chroot}"
        store = stack.enter_context(closing(ZooKeeperStore(address, create_chroot=True)))
        yield Scene(address, store, stack)


def holder(at: Scene) -> Callable[[], int | None]:
    return lambda: (at.read(CONTROLLER) or {}).get("brokerid")


def test_a_controller_that_lost_its_session_stands_by_and_takes_its_turn_again(
    server: str,
) -> None:
    with scene(server, "lost") as at:
        relay = at.stack.enter_context(closing(Relay(server)))
        one = at.controller(1000, f"{relay.address}/lost", SHORT_MS)
        until(lambda: one.active)
        at.register()
        before = at.node(STATE)
        two = at.controller(1001, at.address, LONG_MS)
        relay.flowing.clear()
        # an order whose write is on its way when the session ends
        one.loop.put(ShutdownRequested(BROKERS[0]))
        until(lambda: two.active)
        relay.flowing.set()
        until(lambda: not one.active and one.loop.context.active_controller == 1001)
        assert (holder(at)(), at.read(CONTROLLER_EPOCH)) == (1001, 2)
        assert at.node(STATE) == before  # by its version too
        two.stop()
        until(lambda: one.active)
        assert (holder(at)(), at.read(CONTROLLER_EPOCH)) == (1000, 3)
        one.loop.put(ShutdownRequested(BROKERS[0]))
        until(lambda: at.read(STATE)["leader"] == 2)  # and it can write again
        assert at.read(STATE)["controller_epoch"] == 3


def test_a_controller_that_was_deposed_meanwhile_writes_nothing(server: str) -> None:
    with scene(server, "deposed") as at:
        relay = at.stack.enter_context(closing(Relay(server)))
        one = at.controller(1000, f"{relay.address}/deposed", LONG_MS)
        until(lambda: one.active)
        at.register()
        before, epoch = at.node(STATE), at.node(CONTROLLER_EPOCH)
        relay.flowing.clear()
        one.loop.put(ShutdownRequested(BROKERS[0]))
        claim = encode_controller(ControllerClaim(BROKERS[1], 0))
        assert epoch is not None
        at.store.batch([
            Multi((
                Check(CONTROLLER_EPOCH, epoch.stat.version),
                Delete(CONTROLLER),
                Create(CONTROLLER, claim, ephemeral=True),
                SetData(CONTROLLER_EPOCH, encode_controller_epoch(2)),
            ))
        ])  # fmt: skip
        relay.flowing.set()
        # its session is as good as ever, and still its write is refused
        until(lambda: not one.active)
        assert one.loop.context.active_controller == BROKERS[1]
        assert at.node(STATE) == before
        assert holder(at)() == BROKERS[1]
