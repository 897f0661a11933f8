"""Requests to a controller in memory: from bytes to bytes, directly and in envelopes."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kedge.errors import MalformedMessage
from kedge.kraft_rpc import Dispatched, Finished, dispatch
from kedge.kraft_rpc.scripts import wire_id
from kedge.model.error_codes import ErrorCode
from kedge.protocol import Reader, decode
from kedge.protocol.broker_apis import BrokerApi
from kedge.protocol.controller_messages import (
    BROKER_HEARTBEAT_REQUEST,
    BROKER_REGISTRATION_REQUEST,
    ENVELOPE_REQUEST,
    FEATURE,
    LISTENER,
)
from kedge.protocol.kraft_apis import (
    ADD_VOTER,
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
    ENVELOPE,
    REMOVE_VOTER,
)
from kedge.protocol.messages import (
    ApiVersionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kedge.protocol.quorum_messages import ADD_VOTER_REQUEST, REMOVE_VOTER_REQUEST
from kedge.quorum.messages import (
    AddVoterRequest,
    AddVoterResponse,
    RemoveVoterRequest,
    RemoveVoterResponse,
)
from kedge.quorum.values import ReplicaKey
from tests.kraft.nodes import CLUSTER, Quorum
from tests.kraft_rpc.served import Served


def client_payload(request: Any, version: int, *, flexible: bool) -> bytes:
    head = struct.pack(">hhih", type(request).API_KEY, version, 5, 4) + b"test"
    return head + (b"\0" if flexible else b"") + request.encode(version=version)


def client_answer(frame: bytes, expect: Any, version: int) -> Any:
    reader = Reader(frame[4:])
    assert reader.int32() == 5
    reader.skip_tagged_fields()
    return decode(expect, version, reader)


def create(*names: str) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        topics=[
            topic(name=n, num_partitions=2, replication_factor=1, assignments=[], configs=[])
            for n in names
        ],
        timeout_ms=1000,
        validate_only=False,
    )


@pytest.fixture
def served() -> Served:
    quorum = Quorum(1)
    quorum.add_broker(1)
    return Served(quorum)


def test_topics_are_created_and_repeated_names_are_refused(served: Served) -> None:
    payload = client_payload(create("a", "b", "b"), 7, flexible=True)
    answer = client_answer(served.answer(payload), CreateTopicsResponse, 7)
    found = {topic.name: (topic.error_code, topic.num_partitions) for topic in answer.topics}
    assert found == {"a": (0, 2), "b": (ErrorCode.INVALID_REQUEST, -1)}
    assert served.stable.topic_named("a") is not None


def test_topics_are_deleted_by_name_and_by_id(served: Served) -> None:
    served.answer(client_payload(create("a", "b"), 7, flexible=True))
    state = DeleteTopicsRequest.DeleteTopicState
    topic = served.stable.topic_named("b")
    assert topic is not None
    request = DeleteTopicsRequest(
        topics=[
            state(name="a", topic_id=wire_id(None)),
            state(name=None, topic_id=wire_id(topic.id)),
            state(name="gone", topic_id=wire_id(None)),
        ],
        timeout_ms=1000,
    )
    frame = served.answer(client_payload(request, 6, flexible=True))
    rows = client_answer(frame, DeleteTopicsResponse, 6).responses
    assert {(row.name, row.error_code) for row in rows} == {("a", 0), ("b", 0), ("gone", 3)}
    assert len(served.stable.topics) == 0


def enveloped(payload: bytes) -> bytes:
    body = ENVELOPE_REQUEST(request=payload, principal=b"", client_address=b"\x7f\0\0\1")
    return ENVELOPE.encode_request(0, body, correlation=9, client="broker")[4:]


def test_an_enveloped_request_is_answered_in_an_envelope(served: Served) -> None:
    payload = client_payload(create("inside"), 7, flexible=True)
    correlation, outer = ENVELOPE.decode_response(0, served.answer(enveloped(payload))[4:])
    assert (correlation, outer.error) == (9, 0)
    answer = client_answer(b"\0\0\0\0" + outer.response, CreateTopicsResponse, 7)
    assert [topic.error_code for topic in answer.topics] == [0]


DIRECTORY = "zzzzzzzzzzzzzzzzzzzzzQ"


@pytest.mark.parametrize(
    ("api", "body", "expect"),
    [
        (
            ADD_VOTER,
            ADD_VOTER_REQUEST(voter_id=4, voter_directory=DIRECTORY, listeners=()),
            AddVoterRequest,
        ),
        (
            REMOVE_VOTER,
            REMOVE_VOTER_REQUEST(voter_id=4, voter_directory=DIRECTORY),
            RemoveVoterRequest,
        ),
    ],
)
def test_a_broker_forwards_a_change_of_the_voters(
    served: Served, api: BrokerApi, body: Any, expect: Any
) -> None:
    payload = api.encode_request(0, body, correlation=5, client="admin")[4:]
    found = dispatch(served, enveloped(payload))
    assert isinstance(found, Dispatched)
    assert isinstance(found.asks, expect)
    assert found.asks.voter == ReplicaKey(4, DIRECTORY)
    refused = found.resume(AddVoterResponse(ErrorCode.DUPLICATE_VOTER, "known"))
    assert isinstance(refused, Finished)
    _, outer = ENVELOPE.decode_response(0, refused.frame[4:])
    _, answer = api.decode_response(0, outer.response)
    assert (outer.error, answer.error, answer.message) == (0, ErrorCode.DUPLICATE_VOTER, "known")


def test_a_change_of_the_voters_at_a_standby_is_refused_on_the_envelope(served: Served) -> None:
    body = REMOVE_VOTER_REQUEST(voter_id=4, voter_directory=DIRECTORY)
    payload = REMOVE_VOTER.encode_request(0, body, correlation=5, client="admin")[4:]
    found = dispatch(served, enveloped(payload))
    assert isinstance(found, Dispatched)
    ended = found.resume(RemoveVoterResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert isinstance(ended, Finished)
    _, outer = ENVELOPE.decode_response(0, ended.frame[4:])
    assert (outer.error, outer.response) == (ErrorCode.NOT_CONTROLLER, None)


def test_a_standby_says_so_on_the_envelope() -> None:
    quorum = Quorum(3)
    active = quorum.active().config.quorum.node_id
    standby = Served(quorum, next(node for node in quorum.ids if node != active))
    payload = client_payload(create("nowhere"), 7, flexible=True)
    _, outer = ENVELOPE.decode_response(0, standby.answer(enveloped(payload))[4:])
    assert (outer.error, outer.response) == (ErrorCode.NOT_CONTROLLER, None)
    direct = client_answer(standby.answer(payload), CreateTopicsResponse, 7)
    assert [topic.error_code for topic in direct.topics] == [ErrorCode.NOT_CONTROLLER]


def test_a_broker_registers_and_is_unfenced(served: Served) -> None:
    features = tuple(
        FEATURE(name=name, lowest=low, highest=high)
        for name, (low, high) in served.settings.features.items()
    )
    body = BROKER_REGISTRATION_REQUEST(
        broker_id=2,
        cluster_id=CLUSTER,
        incarnation="zzzzzzzzzzzzzzzzzzzzzQ",
        listeners=(LISTENER(name="PLAINTEXT", host="h", port=9),),
        features=features,
        directories=("zzzzzzzzzzzzzzzzzzzzzA",),
    )
    payload = BROKER_REGISTRATION.encode_request(4, body, correlation=1, client="b")[4:]
    _, registered = BROKER_REGISTRATION.decode_response(4, served.answer(payload)[4:])
    assert registered.error == 0
    beat = BROKER_HEARTBEAT_REQUEST(
        broker_id=2, broker_epoch=registered.broker_epoch, metadata_offset=10**9
    )
    payload = BROKER_HEARTBEAT.encode_request(1, beat, correlation=2, client="b")[4:]
    _, alive = BROKER_HEARTBEAT.decode_response(1, served.answer(payload)[4:])
    assert (alive.error, alive.is_fenced, alive.is_caught_up) == (0, False, True)


def test_api_versions_hides_features_from_zero_for_older_clients(served: Served) -> None:
    for version, has_group in ((3, False), (4, True)):
        head = struct.pack(">hhih", 18, version, 5, 4) + b"test\0" + b"\x02a\x02b\0"
        reader = Reader(served.answer(head)[4:])
        reader.int32()
        found: Any = decode(ApiVersionsResponse, version, reader)
        supported = {feature.name for feature in found.supported_features}
        assert ("group.version" in supported) is has_group
        finalized = {f.name: f.max_version_level for f in found.finalized_features}
        assert finalized["metadata.version"] == 27
        keys = {key.api_key: (key.min_version, key.max_version) for key in found.api_keys}
        assert keys[1] == (12, 18)
        assert keys[58] == (0, 0)


@pytest.mark.parametrize("payload", [b"", b"\0\x3f\0\x63\0\0\0\0\xff\xff", b"\x7f\0\0\0\0\0\0\0\0"])
def test_what_is_not_served_is_refused(served: Served, payload: bytes) -> None:
    with pytest.raises(MalformedMessage):
        dispatch(served, payload)
