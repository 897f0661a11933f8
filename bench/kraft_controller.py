"""Kedge's KRaft controllers beside Kafka 4.1's own: a quorum of three, with simulated brokers.

The brokers of this section only register and send heartbeats, so that controllers alone are
measured: their decisions, their log with its syncs, and the majority that must have it. Both sides
have the same timeouts and the same linger, in turns on one machine.

    python -m bench kraft_controller
"""

from __future__ import annotations

import asyncio
import random
import struct
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.controller.measuring import timing
from bench.report import BenchRow, BenchSection
from jvm import memory_directory
from jvm.clusters import CLUSTER_ID
from jvm.kraft import Quorum, quorum
from kedge.metadata.decision import SUPPORTED_FEATURES
from kedge.model.error_codes import ErrorCode
from kedge.protocol import Reader, broker_messages, decode
from kedge.protocol import controller_messages as c
from kedge.protocol.broker_apis import BrokerApi
from kedge.protocol.kraft_apis import (
    ALLOCATE_PRODUCER_IDS,
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
)
from kedge.protocol.messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kedge.topics import encode_id

NODES = (3001, 3002, 3003)
BROKERS, STORM = (1, 2, 3), 100
ROUNDS, FAILOVERS = 5, 3
CREATE = "create 2,000 × 3 partitions, until the client is answered"
FENCE = "fence a broker with 10,000 partitions, until it is answered"
REGISTER = "100 brokers register at once, until the last is answered"
FAILOVER = "10,000 partitions: elected, until the first write is answered"
PEER = "Kafka 4.1.0's controllers"


class Line:
    """One connection to a controller; one request at a time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, api: BrokerApi, version: int, body: Any) -> Any:
        frame = api.encode_request(version, body, correlation=1, client="bench")
        return api.decode_response(version, await self._exchange(frame))[1]

    async def ask_client(self, request: Any, expect: Any, version: int) -> Any:
        """A request of a flexible version that kafka-python describes."""
        head = struct.pack(">hhih", type(request).API_KEY, version, 1, 5) + b"bench\0"
        payload = head + request.encode(version=version)
        reader = Reader(await self._exchange(struct.pack(">i", len(payload)) + payload))
        reader.int32()
        reader.skip_tagged_fields()
        return decode(expect, version, reader)

    async def _exchange(self, frame: bytes) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        incoming, outgoing = self._streams
        outgoing.write(frame)
        (size,) = struct.unpack(">i", await incoming.readexactly(4))
        return await incoming.readexactly(size)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class Side:
    """The measurements of one side."""

    def __init__(self, made: Quorum) -> None:
        self._quorum = made
        self._epochs: dict[int, int] = {}
        self.times: dict[str, list[float]] = defaultdict(list)

    async def run(self) -> None:
        for node in self._quorum.nodes.values():
            node.start()
        leader = await self._leader()
        line = Line(self._quorum.ports[leader])
        for broker in BROKERS:
            await self._register(line, broker)
            await self._beat(line, broker)
        beating = asyncio.create_task(self._keep_beating())
        try:
            await self._creations(line)
            await self._storms(leader)
            for at in range(5):
                assert (await self._create(line, f"wide-{at}", 2_000)) == ErrorCode.NONE
            await self._fences(line)
            line.close()
            for _ in range(FAILOVERS):
                leader = await self._failover(leader)
        finally:
            beating.cancel()

    async def _timed(self, what: str, work: Awaitable[Any]) -> Any:
        began = time.perf_counter()
        found = await work
        self.times[what].append(time.perf_counter() - began)
        return found

    # ---- brokers that are not real -----------------------------------------------------------

    async def _register(self, line: Line, broker: int) -> None:
        features = tuple(
            c.FEATURE(name=name, lowest=low, highest=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        )
        body = c.BROKER_REGISTRATION_REQUEST(
            broker_id=broker,
            cluster_id=CLUSTER_ID,
            incarnation=encode_id(random.randbytes(16)),
            listeners=(c.LISTENER(name="PLAINTEXT", host="127.0.0.1", port=broker),),
            features=features,
            directories=(encode_id(b"d" + broker.to_bytes(15, "big")),),
        )
        answer = await line.ask(BROKER_REGISTRATION, 4, body)
        assert answer.error == 0, answer
        self._epochs[broker] = answer.broker_epoch

    async def _beat(self, line: Line, broker: int, *, fence: bool = False) -> None:
        body = c.BROKER_HEARTBEAT_REQUEST(
            broker_id=broker,
            broker_epoch=self._epochs[broker],
            metadata_offset=2**50,
            want_fence=fence,
        )
        answer = await line.ask(BROKER_HEARTBEAT, 1, body)
        assert answer.error == 0, answer

    async def _keep_beating(self) -> None:
        while True:
            for port in self._quorum.ports.values():
                line = Line(port)
                try:
                    async with asyncio.timeout(2):
                        for broker in BROKERS:
                            await self._beat(line, broker)
                except (OSError, EOFError, AssertionError, TimeoutError):
                    pass
                finally:
                    line.close()
            await asyncio.sleep(2)

    # ---- what is measured --------------------------------------------------------------------

    async def _creations(self, line: Line) -> None:
        await self._create(line, "warm-up", 300)
        await self._delete(line, "warm-up")
        for _ in range(ROUNDS):
            assert await self._timed(CREATE, self._create(line, "new", 2_000)) == ErrorCode.NONE
            await self._delete(line, "new")

    async def _create(self, line: Line, name: str, partitions: int) -> int:
        topic = CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=3, assignments=[], configs=[]
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=60_000, validate_only=False)
        answer = await line.ask_client(request, CreateTopicsResponse, 7)
        return answer.topics[0].error_code

    async def _delete(self, line: Line, name: str) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=60_000)
        answer = await line.ask_client(request, DeleteTopicsResponse, 5)
        assert answer.responses[0].error_code == 0, answer

    async def _storms(self, leader: int) -> None:
        for _ in range(ROUNDS):
            lines = [Line(self._quorum.ports[leader]) for _ in range(STORM)]
            storm = [self._register(line, 1_000 + at) for at, line in enumerate(lines)]
            await self._timed(REGISTER, asyncio.gather(*storm))
            for line in lines:
                line.close()

    async def _fences(self, line: Line) -> None:
        """Each broker once: one that was fenced is in no ISR any more."""
        for broker in BROKERS[1:]:
            await self._timed(FENCE, self._beat(line, broker, fence=True))

    async def _failover(self, old: int) -> int:
        node = self._quorum.nodes[old]
        node.kill()
        others = [n for n in NODES if n != old]
        watching = [asyncio.create_task(self._first_write(n)) for n in others]
        done, pending = await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        leader, took = next(iter(done)).result()
        self.times[FAILOVER].append(took)
        node.stop()
        node.start()
        await self._caught_up(leader, old)
        return leader

    async def _first_write(self, node: int) -> tuple[int, float]:
        """From the moment that a node says that it leads to the answer to its first write."""
        elected = None
        line = Line(self._quorum.ports[node])
        while True:
            if elected is None and await self._leads(node):
                elected = time.perf_counter()
            if elected is not None:
                body = broker_messages.AllocateProducerIdsRequest(1, self._epochs[1])
                answer = await line.ask(ALLOCATE_PRODUCER_IDS, 0, body)
                if answer.error == ErrorCode.NONE:
                    return node, time.perf_counter() - elected
            await asyncio.sleep(0.002)

    # ---- the quorum --------------------------------------------------------------------------

    async def _view(self, node: int) -> Any:
        line = Line(self._quorum.ports[node])
        topic = DescribeQuorumRequest.TopicData
        asked = topic(
            topic_name="__cluster_metadata", partitions=[topic.PartitionData(partition_index=0)]
        )
        try:
            async with asyncio.timeout(2):
                request = DescribeQuorumRequest(topics=[asked])
                found = await line.ask_client(request, DescribeQuorumResponse, 1)
        except (OSError, EOFError, TimeoutError):
            return None
        finally:
            line.close()
        partition = found.topics[0].partitions[0]
        return None if partition.error_code else partition

    async def _leads(self, node: int) -> bool:
        found = await self._view(node)
        return found is not None and found.leader_id == node

    async def _until(self, done: Callable[[], Awaitable[Any]]) -> Any:
        for _ in range(1_200):
            if (found := await done()) is not None:
                return found
            await asyncio.sleep(0.1)
        raise TimeoutError("the quorum")

    async def _leader(self) -> int:
        async def look() -> int | None:
            for node in NODES:
                found = await self._view(node)
                if found is not None and found.high_watermark > 10:
                    return node
            return None

        return await self._until(look)

    async def _caught_up(self, leader: int, node: int) -> None:
        async def look() -> bool | None:
            found = await self._view(leader)
            ends = {r.replica_id: r.log_end_offset for r in found.current_voters} if found else {}
            behind = ends and ends[node] >= found.high_watermark - 4
            return True if behind else None

        await self._until(look)


def _measured(kind: str) -> dict[str, list[float]]:
    print(f"  {kind} …", file=sys.stderr, flush=True)
    ours, theirs = (NODES, ()) if kind == "kedge" else ((), NODES)
    with (
        tempfile.TemporaryDirectory(prefix="kedge-bench-", dir=memory_directory()) as name,
        quorum(Path(name), kedge=ours, kafka=theirs) as made,
    ):
        side = Side(made)
        asyncio.run(side.run())
        return side.times


def run() -> BenchSection:
    """Measure both sides, one after the other."""
    ours, theirs = _measured("kedge"), _measured("kafka")
    rows = tuple(
        BenchRow(what, timing(ours[what]), PEER, timing(theirs[what]))
        for what in (CREATE, FENCE, REGISTER, FAILOVER)
    )
    return BenchSection(
        "kraft_controller",
        "KRaft controllers, beside Kafka's own",
        "A quorum of three controllers, each a process, with brokers that only register and send "
        "heartbeats; the same timeouts and linger (25 ms) on both sides.",
        rows,
    )
