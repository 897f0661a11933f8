"""What a controller says of its quorum, asked directly at its port."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Any

from kedge.protocol import Reader, decode
from kedge.protocol.messages import DescribeQuorumRequest, DescribeQuorumResponse

_VERSION = 2
_NAME = b"test"


@dataclass(frozen=True)
class QuorumView:
    """The leader's view."""

    leader: int
    epoch: int
    high_watermark: int
    ends: dict[int, int]  # log ends of voters
    observers: dict[int, int]


def describe(port: int, *, timeout_s: float = 3.0) -> QuorumView | None:
    """The quorum as the controller at this port sees it; None if it does not lead or is away."""
    topic = DescribeQuorumRequest.TopicData
    asked: Any = DescribeQuorumRequest(
        topics=[
            topic(
                topic_name="__cluster_metadata",
                partitions=[topic.PartitionData(partition_index=0)],
            )
        ]
    )
    body: bytes = asked.encode(version=_VERSION)
    head = struct.pack(">hhih", 55, _VERSION, 1, len(_NAME)) + _NAME + b"\0"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
            connection.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
            (size,) = struct.unpack(">i", _exactly(connection, 4))
            reader = Reader(_exactly(connection, size))
    except OSError:
        return None
    reader.int32()
    reader.skip_tagged_fields()
    found: Any = decode(DescribeQuorumResponse, _VERSION, reader)
    if not found.topics or found.topics[0].partitions[0].error_code:
        return None
    partition = found.topics[0].partitions[0]
    return QuorumView(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        {r.replica_id: r.log_end_offset for r in partition.current_voters},
        {r.replica_id: r.log_end_offset for r in partition.observers},
    )


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return data
