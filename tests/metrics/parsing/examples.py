"""Valid metadata, answers, records and snapshots, for tests of parsers and for fuzzers."""

from __future__ import annotations

import json
import struct

METADATA = {
    "cluster": "c",
    "brokers": [
        {"id": 1, "rack": "a", "listener": "b1.example:9092"},
        {"id": 2, "rack": "b", "listener": "kafka-2.kafka.svc:9092"},
        {"id": 3, "listener": "shared:9093"},
        {"id": 4, "listener": "shared:9094"},
    ],
    "instance_to_broker": {"10.0.0.9:7071": 4},
}

SNAPSHOT = {
    "ts": 60.25,
    "log_dirs": [
        {
            "broker": 1,
            "log_dirs": [
                {
                    "log_dir": "/d",
                    "topics": [
                        {
                            "name": "t",
                            "partitions": [
                                {"partition_index": 0, "partition_size": 9, "is_future_key": False},
                                {"partition_index": 1, "partition_size": 5, "is_future_key": True},
                            ],
                        }
                    ],
                }
            ],
        }
    ],
    "end_offsets": {"t": {"0": 4, "1": None}},
    "start_offsets": {"t": {"0": 1}},
    "groups": {"g": {"t": {"0": 3}}, "bad": {"error": "not authorised"}},
    "groups_ts": 60.5,
}


def answer(*series: tuple[dict[str, str], list[tuple[float, str]]]) -> bytes:
    result = [{"metric": labels, "values": values} for labels, values in series]
    data = {"resultType": "matrix", "result": result}
    return json.dumps({"status": "success", "data": data}).encode()


def record(kind: int, metric: int, value: float, topic: str = "", partition: int = 0) -> bytes:
    made = struct.pack(">BBBqi", kind, 0, metric, 61_000, 2)
    if kind:
        made += struct.pack(">i", len(topic)) + topic.encode()
    if kind == 2:
        made += struct.pack(">i", partition)
    return made + struct.pack(">d", value)
