"""Random messages between controllers and brokers, for the fields that each version has."""

from __future__ import annotations

import sys
from base64 import urlsafe_b64encode
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kedge.protocol import broker_messages as m
from kedge.protocol.broker_apis import SENT_BY_BROKERS, SENT_BY_CONTROLLERS
from kedge.protocol.reader import Reader
from kedge.protocol.schema import Struct

ALL = {**SENT_BY_CONTROLLERS, **SENT_BY_BROKERS}
VERSIONS = [(api, v) for api in ALL.values() for v in range(api.oldest, api.newest + 1)]

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
IDS = st.lists(INT32, max_size=5).map(tuple)
TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
TOPIC_ID = st.none() | st.binary(min_size=16, max_size=16).filter(any).map(
    lambda raw: urlsafe_b64encode(raw).decode().rstrip("=")
)


def encode_body(message: Struct, version: int, value: Any, *, flexible: bool) -> bytes:
    """A message without its header."""
    out = bytearray()
    message.writer(version, flexible=flexible)(out, value)
    return bytes(out)


def decode_body(message: Struct, version: int, payload: bytes, *, flexible: bool) -> Any:
    """A message without its header."""
    return message.reader(version, flexible=flexible)(Reader(payload))


def several(each: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(each, max_size=3).map(tuple)


def since(version: int, first: int, each: st.SearchStrategy[Any], default: Any) -> Any:
    """A field that versions from `first` on have."""
    return each if version >= first else st.just(default)


def until(version: int, last: int, each: st.SearchStrategy[Any], default: Any) -> Any:
    return each if version <= last else st.just(default)


def leader_and_isr_request(v: int) -> st.SearchStrategy[Any]:
    partition = st.builds(
        m.LeaderAndIsrPartition, INT32, INT32, INT32, INT32, IDS, INT32, IDS, IDS, IDS,
        st.booleans(), since(v, 6, st.integers(-128, 127), 0),
    )  # fmt: skip
    topic = st.builds(m.LeaderAndIsrTopic, TEXT, several(partition), since(v, 5, TOPIC_ID, None))
    leader = st.builds(m.LiveLeader, INT32, TEXT, INT32)
    return st.builds(
        m.LeaderAndIsrRequest, INT32, INT32, INT64, several(topic), several(leader),
        since(v, 7, st.booleans(), False), since(v, 5, st.integers(-128, 127), 0),
    )  # fmt: skip


def leader_and_isr_response(v: int) -> st.SearchStrategy[Any]:
    error = st.builds(m.PartitionError, INT32, INT16, until(v, 4, TEXT, ""))
    # Kafka keeps the topics of an answer by their ids
    topics = st.lists(
        st.builds(m.TopicErrors, TOPIC_ID, several(error)), max_size=3, unique_by=lambda t: t[0]
    ).map(tuple)
    return st.builds(
        m.LeaderAndIsrResponse, INT16, until(v, 4, several(error), ()), since(v, 5, topics, ())
    )


def update_metadata_request(v: int) -> st.SearchStrategy[Any]:
    partition = st.builds(m.MetadataPartition, INT32, INT32, INT32, INT32, IDS, INT32, IDS, IDS)
    topic = st.builds(m.MetadataTopic, TEXT, several(partition), since(v, 7, TOPIC_ID, None))
    endpoint = st.builds(m.BrokerEndpoint, INT32, TEXT, TEXT, INT16)
    broker = st.builds(m.LiveBroker, INT32, several(endpoint), st.none() | TEXT)
    content = st.builds(m.MetadataContent, several(topic), several(broker))
    kraft = since(v, 8, st.booleans(), False)
    return st.builds(m.UpdateMetadataRequest, INT32, INT32, INT64, content, kraft)


def update_metadata_response(v: int) -> st.SearchStrategy[Any]:
    return st.builds(m.UpdateMetadataResponse, INT16)


def stop_replica_request(v: int) -> st.SearchStrategy[Any]:
    partition = st.builds(m.StopReplicaPartition, INT32, INT32, st.booleans())
    topic = st.builds(m.StopReplicaTopic, TEXT, several(partition))
    kraft = since(v, 4, st.booleans(), False)
    return st.builds(m.StopReplicaRequest, INT32, INT32, INT64, several(topic), kraft)


def stop_replica_response(v: int) -> st.SearchStrategy[Any]:
    error = st.builds(m.PartitionError, INT32, INT16, TEXT)
    return st.builds(m.StopReplicaResponse, INT16, several(error))


def alter_partition_request(v: int) -> st.SearchStrategy[Any]:
    member = st.builds(m.IsrMember, INT32, INT64)
    partition = st.builds(
        m.RequestedPartition, INT32, INT32, INT32, until(v, 2, IDS, ()),
        since(v, 3, several(member), ()), since(v, 1, st.integers(-128, 127), 0),
    )  # fmt: skip
    topic = st.builds(
        m.RequestedTopic, several(partition), until(v, 1, TEXT, ""), since(v, 2, TOPIC_ID, None)
    )
    return st.builds(m.AlterPartitionRequest, INT32, INT64, several(topic))


def alter_partition_response(v: int) -> st.SearchStrategy[Any]:
    partition = st.builds(
        m.AlteredPartition, INT32, INT16, INT32, INT32, IDS,
        since(v, 1, st.integers(-128, 127), 0), INT32,
    )  # fmt: skip
    topic = st.builds(
        m.AlteredTopic, several(partition), until(v, 1, TEXT, ""), since(v, 2, TOPIC_ID, None)
    )
    return st.builds(m.AlterPartitionResponse, INT16, several(topic), INT32)


def controlled_shutdown_request(v: int) -> st.SearchStrategy[Any]:
    return st.builds(m.ControlledShutdownRequest, INT32, since(v, 2, INT64, -1))


def controlled_shutdown_response(v: int) -> st.SearchStrategy[Any]:
    remaining = st.lists(
        st.builds(m.RemainingPartition, TEXT, INT32), max_size=3, unique=True
    ).map(tuple)  # fmt: skip
    return st.builds(m.ControlledShutdownResponse, INT16, remaining)


def allocate_producer_ids_request(v: int) -> st.SearchStrategy[Any]:
    return st.builds(m.AllocateProducerIdsRequest, INT32, INT64)


def allocate_producer_ids_response(v: int) -> st.SearchStrategy[Any]:
    return st.builds(m.AllocateProducerIdsResponse, INT16, INT64, INT32, INT32)


MESSAGES = {
    4: (leader_and_isr_request, leader_and_isr_response),
    5: (stop_replica_request, stop_replica_response),
    6: (update_metadata_request, update_metadata_response),
    7: (controlled_shutdown_request, controlled_shutdown_response),
    56: (alter_partition_request, alter_partition_response),
    67: (allocate_producer_ids_request, allocate_producer_ids_response),
}


def print_examples(count: int) -> None:
    """Lines of kind, key, version and body. In a process of its own: Hypothesis fails if
    other threads draw random numbers, as those of a ZooKeeper client do."""
    for key, api in ALL.items():
        for version in range(api.oldest, api.newest + 1):
            for number, kind in enumerate(("request", "response")):
                form = (api.request, api.response)[number]
                _print_some(f"{kind} {key} {version}", form, MESSAGES[key][number](version), count)


def _print_some(what: str, form: Any, strategy: st.SearchStrategy[Any], count: int) -> None:
    _, key, version = what.split()
    flexible = int(version) >= ALL[int(key)].flexible

    @settings(max_examples=count, phases=[Phase.generate], database=None, deadline=None)
    @given(strategy)
    def show(value: Any) -> None:
        print(what, encode_body(form, int(version), value, flexible=flexible).hex())

    show()


if __name__ == "__main__":
    print_examples(int(sys.argv[1]))
