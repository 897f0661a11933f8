"""One channel to a peer: a later call takes it from an earlier one."""

from __future__ import annotations

import asyncio

from kedge.service.kraft.channels import CALL_FAILED, Channel, Versions
from kedge.service.kraft.listener import Listener
from kedge.service.kraft.security import PLAINTEXT
from tests.kraft.nodes import Quorum
from tests.kraft_rpc.served import Served


def test_a_call_that_waits_for_its_connection_is_replaced_by_a_later_one() -> None:
    served = Served(Quorum(1))

    async def respond(payload: bytes) -> bytes:
        return served.answer(payload)

    async def both() -> list[Versions | BaseException]:
        listener = Listener(respond, lambda what, why: None, PLAINTEXT)
        await listener.open("127.0.0.1", 0)
        channel = Channel("127.0.0.1", listener.port, timeout_ms=10_000)
        found = await asyncio.gather(channel.versions(), channel.versions(), return_exceptions=True)
        again = await channel.versions()  # on the connection of the second
        channel.close()
        await listener.close()
        return [*found, again]

    replaced, answered, again = asyncio.run(both())
    assert isinstance(replaced, CALL_FAILED)
    assert isinstance(answered, Versions)
    assert answered is again
