"""Controllers as services on real ports and files, all on one event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

from jvm import free_port
from kedge.kraft_rpc.raft_calls import Call
from kedge.model.error_codes import ErrorCode
from kedge.protocol.controller_messages import ENVELOPE_REQUEST
from kedge.protocol.kraft_apis import ADD_VOTER, ENVELOPE, REMOVE_VOTER
from kedge.protocol.quorum_messages import (
    ADD_VOTER_REQUEST,
    NAMED_ENDPOINT,
    REMOVE_VOTER_REQUEST,
)
from kedge.service.kraft import KraftService, ServerProperties
from kedge.service.kraft.channels import Channel
from kedge.service.kraft.storage import format_controller

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
PATIENCE_S = 60.0


class Node:
    """One controller: its configuration, and its service while it runs."""

    def __init__(self, directory: Path, node: int, port: int, membership: Mapping[str, str]):
        self.id, self.port = node, port
        self.properties = ServerProperties.of(
            {
                "process.roles": "controller",
                "node.id": str(node),
                "listeners": f"CONTROLLER://127.0.0.1:{port}",
                "controller.listener.names": "CONTROLLER",
                "log.dirs": str(directory / str(node)),
                **membership,
            }
        )
        self._task: asyncio.Task[None] | None = None

    def format(self, *, standalone: bool = False) -> None:
        format_controller(
            self.properties,
            CLUSTER,
            release="4.1-IV1",
            features={},
            standalone=standalone,
            ignore_formatted=False,
        )

    def start(self) -> None:
        self.service = KraftService(self.properties, note=lambda what, **fields: None)
        self._task = asyncio.create_task(self.service.run())

    async def stop(self) -> None:
        if self._task is not None:
            self.service.request_stop()
            task, self._task = self._task, None
            await task
            assert self.service.fault is None

    @property
    def is_active(self) -> bool:
        return self.has_started and self.service.is_active

    @property
    def has_started(self) -> bool:
        return self._task is not None and hasattr(self.service, "controller")

    @property
    def voters(self) -> tuple[int, ...]:
        return self.service.node.voters.ids

    @property
    def committed(self) -> int:
        return self.service.applied.offset

    async def call(self, api: Any, body: Any) -> Any:
        """A request from outside."""
        channel = Channel("127.0.0.1", self.port, timeout_ms=20_000)
        try:
            return (await channel.call(Call(api, body)))[1]
        finally:
            channel.close()


@contextlib.asynccontextmanager
async def running(*nodes: Node) -> AsyncGenerator[None]:
    for node in nodes:
        node.start()
    try:
        yield
    finally:
        for node in nodes:
            await node.stop()


async def until(done: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not done():
            await asyncio.sleep(0.02)


def test_a_quorum_goes_on_when_its_leader_stops_and_returns(tmp_path: Path) -> None:
    ports = {node: free_port() for node in (1, 2, 3)}
    voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in ports.items())
    nodes = [Node(tmp_path, n, p, {"controller.quorum.voters": voters}) for n, p in ports.items()]

    async def story() -> None:
        async with running(*nodes):
            await until(lambda: any(node.is_active for node in nodes))
            (old,) = [node for node in nodes if node.is_active]
            await old.stop()
            await until(lambda: any(node.is_active for node in nodes))
            (new,) = [node for node in nodes if node.is_active]
            assert new is not old
            old.start()
            before = new.committed
            await until(lambda: old.has_started and old.committed > before)

    for node in nodes:
        node.format()
    asyncio.run(story())


def test_a_voter_is_added_and_removed(tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    servers = ",".join(f"127.0.0.1:{port}" for port in ports)
    membership = {"controller.quorum.bootstrap.servers": servers}
    first, second = (Node(tmp_path, n, p, membership) for n, p in enumerate(ports, 1))

    async def story() -> None:
        async with running(first, second):
            await until(lambda: first.is_active)
            await until(lambda: second.has_started and second.committed > 5)
            await until(lambda: second.voters == (1,))
            key = second.service.meta.directory_id
            at = NAMED_ENDPOINT(name="CONTROLLER", host="127.0.0.1", port=second.port)
            body = ADD_VOTER_REQUEST(
                cluster_id=CLUSTER, timeout_ms=20_000, voter_id=2, voter_directory=key,
                listeners=(at,),
            )  # fmt: skip
            assert (await first.call(ADD_VOTER, body)).error == ErrorCode.NONE
            await until(lambda: first.voters == second.voters == (1, 2))
            gone = REMOVE_VOTER_REQUEST(cluster_id=CLUSTER, voter_id=2, voter_directory=key)
            payload = REMOVE_VOTER.encode_request(0, gone, correlation=7, client="admin")[4:]
            envelope = ENVELOPE_REQUEST(
                request=payload, principal=b"", client_address=b"\x7f\0\0\1"
            )
            outer = await first.call(ENVELOPE, envelope)
            _, answer = REMOVE_VOTER.decode_response(0, outer.response)
            assert (outer.error, answer.error) == (0, ErrorCode.NONE)
            await until(lambda: first.voters == second.voters == (1,))

    first.format(standalone=True)
    second.format()
    asyncio.run(story())
