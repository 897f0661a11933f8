"""Take-overs of two controllers at the same time: the loser tries again at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kedge.brokers.recording import RecordingBrokers
from kedge.controller.events import Started
from kedge.controller.settings import Settings
from kedge.model import Broker, BrokerId, Endpoint
from kedge.runtime import Loop, create_persistent_nodes
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Answer, Create, Delete, GetData, Multi, Node, Request, SetData
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    BrokerRegistration,
    ControllerClaim,
    broker_path,
    decode_controller,
    encode_broker,
    encode_controller,
    encode_controller_epoch,
)

ME, BROKERS = BrokerId(1000), (BrokerId(1), BrokerId(2), BrokerId(3))


class OvertakenStore(MemoryStore):
    """A store in which others are faster: each of them acts just before a claim of ours."""

    def __init__(self, ensemble: MemoryEnsemble, others: list[Callable[[], None]]) -> None:
        super().__init__(ensemble)
        self._others = others

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        claims = any(
            isinstance(r, Multi) and any(isinstance(w, Create) for w in r.writes) for r in requests
        )
        if claims and self._others:
            self._others.pop(0)()
        return super().batch(requests)


def test_a_take_over_that_loses_a_race_is_tried_again_at_once() -> None:
    ensemble = MemoryEnsemble()
    admin = MemoryStore(ensemble)
    create_persistent_nodes(admin)
    for broker in BROKERS:
        at = (Endpoint("PLAINTEXT", "127.0.0.1", 9092),)
        shown = encode_broker(BrokerRegistration(Broker(broker, endpoints=at)))
        admin.batch([Create(broker_path(broker), shown, ephemeral=True)])
    admin.batch([Create(CONTROLLER_EPOCH, encode_controller_epoch(7))])

    def claim(broker: BrokerId, epoch: int) -> None:
        made = encode_controller(ControllerClaim(broker, 1))
        admin.batch([Delete(CONTROLLER)])
        admin.batch([Create(CONTROLLER, made, ephemeral=True)])
        admin.batch([SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch))])

    # the role is vacant, then one broker has it, then another one: each time we come too late
    others = [lambda n=n, b=b: claim(b, 8 + n) for n, b in enumerate(BROKERS)]
    store = OvertakenStore(ensemble, others)
    settings = Settings(take_over=True, auto_rebalance=False)
    # a clock that stands still: nothing that waits would ever happen
    loop = Loop(ME, store, RecordingBrokers(), now_ms=lambda: 0, settings=settings)
    loop.put(Started())
    loop.run_until_idle()
    assert not others
    assert loop.context.active
    (node,) = admin.batch([GetData(CONTROLLER)])
    assert isinstance(node, Node)
    assert decode_controller(node.data).broker == ME
    assert loop.context.epoch == 11
