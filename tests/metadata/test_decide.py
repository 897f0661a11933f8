"""Decisions that the known answers of Kafka do not show well: limits, sessions, tasks."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import Any

import pytest

from kedge.metadata.acls import Operation
from kedge.metadata.activation import Activate, WriteNoOp
from kedge.metadata.brokers import RegisterBroker, RegisterController, UnregisterBroker
from kedge.metadata.configs import AlterConfigs
from kedge.metadata.decide import HANDLERS, decide
from kedge.metadata.decision import ELR_FEATURE, Settings, Situation
from kedge.metadata.elections import ElectPreferred
from kedge.metadata.features import FeatureUpdate, UpdateFeatures
from kedge.metadata.heartbeats import FenceStaleBroker, Heartbeat
from kedge.metadata.ids import LOST, in_id_order, reserved
from kedge.metadata.isr_changes import AlterPartition, WantedIsr
from kedge.metadata.metadata_version import level_of
from kedge.metadata.more_partitions import CreatePartitions, MorePartitions
from kedge.metadata.reassignments import AlterReassignments, ReassignmentOrder
from kedge.metadata.records import ConfigRecord, FeatureRange, NoOpRecord, RegisterBrokerRecord
from kedge.metadata.refusal import ApiError
from kedge.metadata.replay import replay_all
from kedge.metadata.scram import keys_of
from kedge.metadata.tasks import AGAIN_AFTER_MS, Periods, Schedule
from kedge.metadata.topic_settings import ALL_BROKERS, ResourceKind
from kedge.metadata.topics import CreateTopics, NewTopicRequest
from kedge.model.error_codes import ErrorCode
from kedge.topics import Alteration, FrozenConfigs, Limits, Op, encode_id

SETTINGS = Settings(node_id=1, cluster_id="cluster", voters=(1,))


def uid(number: int) -> str:
    return encode_id(number.to_bytes(16, "big"))


class Controller:
    """A controller whose records are committed at once."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self._ids = iter(range(10_000, 10**9))
        self.at = Situation(settings, next_offset=1, new_id=lambda: uid(next(self._ids)))
        self.ask(Activate())

    def ask(self, request: Any) -> Any:
        made = decide(self.at, request)
        assert made.soft is not None
        records = [versioned.record for versioned in made.records]
        image = replay_all(self.at.image, records, self.at.next_offset)
        end = self.at.next_offset + len(records)
        self.at = replace(self.at, image=image, soft=made.soft, next_offset=end)
        self.records = records
        return made.answer

    def pass_time(self, ms: int) -> None:
        self.at = replace(self.at, now_ms=self.at.now_ms + ms)

    def add_broker(self, broker: int, **changes: Any) -> None:
        levels = (FeatureRange("metadata.version", 7, 27), FeatureRange(ELR_FEATURE, 0, 1))
        request = RegisterBroker(
            broker, "cluster", uid(broker * 1000), features=levels, directories=(uid(200 + broker),)
        )
        epoch = self.ask(replace(request, **changes))
        self.ask(Heartbeat(broker, epoch, self.at.next_offset))


def brokers(count: int, settings: Settings = SETTINGS) -> Controller:
    controller = Controller(settings)
    for broker in range(1, count + 1):
        controller.add_broker(broker)
    return controller


def test_a_broker_is_fenced_when_its_session_ends_and_not_before() -> None:
    controller = brokers(1)
    controller.pass_time(9_000)
    assert controller.ask(FenceStaleBroker()) is False
    controller.pass_time(1)
    assert controller.ask(FenceStaleBroker()) is True
    assert controller.at.image.brokers[1].fenced
    assert controller.ask(FenceStaleBroker()) is False


def test_a_heartbeat_of_a_wrong_epoch_counts_as_contact_of_that_epoch_only() -> None:
    controller = brokers(1)
    controller.pass_time(9_001)
    refused = controller.ask(Heartbeat(1, 99, 0))
    assert refused.code is ErrorCode.STALE_BROKER_EPOCH
    assert (1, 99) in controller.at.soft.contacts
    assert controller.ask(FenceStaleBroker()) is True
    assert controller.at.image.brokers[1].fenced


def test_a_new_controller_gives_unfenced_brokers_a_session_of_grace() -> None:
    controller = brokers(2)
    controller.ask(Heartbeat(2, controller.at.image.brokers[2].epoch, 0, want_fence=True))
    controller.pass_time(60_000)
    controller.ask(Activate())
    assert list(controller.at.soft.contacts) == [(1, controller.at.image.brokers[1].epoch)]
    assert controller.ask(FenceStaleBroker()) is False


def test_a_controlled_shutdown_waits_for_the_other_brokers() -> None:
    controller = brokers(2)
    topic = NewTopicRequest("t", assignments=((0, (1, 2)),))
    controller.ask(CreateTopics((topic,)))
    epoch = controller.at.image.brokers[1].epoch
    stop = Heartbeat(1, epoch, controller.at.next_offset, want_shutdown=True)
    assert controller.ask(stop).should_shut_down is False
    assert controller.at.image.topics[controller.at.image.topic_ids["t"]].partitions[0].leader == 2
    end = controller.at.soft.brokers[1].shutdown_offset
    other = Heartbeat(2, controller.at.image.brokers[2].epoch, end - 1)
    controller.ask(other)
    assert controller.ask(stop).should_shut_down is False
    controller.ask(replace(other, metadata_offset=end))
    assert controller.ask(stop).should_shut_down is True


def test_an_unregistered_broker_leaves_no_state() -> None:
    controller = brokers(2)
    controller.ask(UnregisterBroker(1))
    assert 1 not in controller.at.image.brokers
    assert 1 not in controller.at.soft.brokers


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"incarnation": uid(77)}, ErrorCode.DUPLICATE_BROKER_REGISTRATION),
        ({"is_migrating": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({"directories": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"directories": (LOST,)}, ErrorCode.INVALID_REGISTRATION),
        ({"directories": (uid(300), uid(300))}, ErrorCode.INVALID_REGISTRATION),
        ({"directories": (uid(202),)}, ErrorCode.INVALID_REGISTRATION),
        ({"features": ()}, ErrorCode.INVALID_REGISTRATION),
        ({"features": (FeatureRange("metadata.version", 1, 6),)}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_a_registration_is_refused(changes: dict[str, Any], code: ErrorCode) -> None:
    controller = brokers(2)
    levels = (FeatureRange("metadata.version", 7, 27),)
    request = RegisterBroker(1, "cluster", uid(1000), features=levels, directories=(uid(201),))
    assert isinstance(controller.ask(request), int)
    refused = controller.ask(replace(request, **changes))
    assert isinstance(refused, ApiError)
    assert refused.code is code
    assert controller.records == []


def test_an_epoch_is_the_offset_of_the_first_record_of_a_registration() -> None:
    controller = brokers(2)
    controller.ask(CreateTopics((NewTopicRequest("t", assignments=((0, (1, 2)),)),)))
    controller.pass_time(9_001)
    before = controller.at.next_offset
    controller.add_broker(1, incarnation=uid(5555))
    assert controller.at.image.brokers[1].epoch == before
    assert controller.at.image.brokers[1].offset == before + 1


# ---- features ------------------------------------------------------------------------------------


def update(controller: Controller, feature: str, level: int) -> ApiError:
    return controller.ask(UpdateFeatures((FeatureUpdate(feature, level),)))


def test_a_controller_that_has_not_registered_blocks_features() -> None:
    controller = Controller(replace(SETTINGS, voters=(1, 2)))
    refused = update(controller, "group.version", 1)
    assert "controller 2 has not registered" in (refused.message or "")
    controller.ask(RegisterController(2, uid(500), features=()))
    refused = update(controller, "group.version", 1)
    assert "Controller 2 does not support this feature." in (refused.message or "")
    ranges = (FeatureRange("group.version", 0, 1),)
    controller.ask(RegisterController(2, uid(500), features=ranges))
    assert update(controller, "group.version", 1) == ApiError()


def test_eligible_leader_replicas_need_their_level_and_one_min_isr() -> None:
    controller = Controller(replace(SETTINGS, bootstrap={"metadata.version": 22}))
    refused = update(controller, ELR_FEATURE, 1)
    assert "depends on metadata.version level 23" in (refused.message or "")
    assert update(controller, "metadata.version", 23) == ApiError()
    assert update(controller, ELR_FEATURE, 1) == ApiError()
    assert controller.records[0] == ConfigRecord(4, "", "min.insync.replicas", "1")


def test_the_quorum_is_asked_before_its_own_version_is_raised() -> None:
    controller = Controller()
    assert update(controller, "kraft.version", 1).code is ErrorCode.INVALID_UPDATE_VERSION
    controller.at = replace(controller.at, refuses_kraft_version=lambda level: None)
    assert update(controller, "kraft.version", 1) == ApiError()
    assert controller.records == [NoOpRecord()]
    assert "kraft.version" not in controller.at.image.features


# ---- limits --------------------------------------------------------------------------------------


def test_a_request_of_too_many_partitions_is_refused_as_a_whole() -> None:
    controller = brokers(1)
    wanted = tuple(NewTopicRequest(f"t{n}", 5_001, 1) for n in range(2))
    refused = controller.ask(CreateTopics(wanted))
    assert refused == ApiError(
        ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
    )


def test_a_request_of_too_many_records_is_refused_as_a_whole() -> None:
    controller = brokers(1)
    controller.ask(CreateTopics((NewTopicRequest("t", 1, 1),)))
    refused = controller.ask(CreatePartitions((MorePartitions("t", 10_002),)))
    assert refused.code is ErrorCode.POLICY_VIOLATION
    assert controller.ask(CreatePartitions((MorePartitions("t", 10_001),))) == (("t", ApiError()),)


def test_a_partition_is_ordered_once_per_request() -> None:
    controller = brokers(3)
    controller.ask(CreateTopics((NewTopicRequest("t", assignments=((0, (1, 2)),)),)))
    orders = tuple(ReassignmentOrder("t", 0, replicas) for replicas in ((3,), (2, 3)))
    first, second = controller.ask(AlterReassignments(orders))
    assert first[2] == ApiError()
    assert second[2].code is ErrorCode.INVALID_REQUEST
    assert len(controller.records) == 1


def test_periodic_elections_stop_at_their_limit_and_say_so() -> None:
    controller = brokers(2, replace(SETTINGS, elections_max=2))
    lists = tuple((number, (1, 2)) for number in range(3))
    controller.ask(CreateTopics((NewTopicRequest("t", assignments=lists),)))
    topic_id = controller.at.image.topic_ids["t"]
    epoch = controller.at.image.brokers[1].epoch
    controller.ask(Heartbeat(1, epoch, controller.at.next_offset, want_fence=True))
    controller.ask(Heartbeat(1, epoch, controller.at.next_offset))
    for number in range(3):  # the new leader reports that the first replica is in sync again
        state = controller.at.image.topics[topic_id].partitions[number]
        isr = ((2, -1), (1, -1))
        wanted = WantedIsr(topic_id, number, state.leader_epoch, state.epoch, isr)
        controller.ask(AlterPartition(2, controller.at.image.brokers[2].epoch, (wanted,)))
    assert controller.ask(ElectPreferred()) is True
    assert len(controller.records) == 2
    assert controller.ask(ElectPreferred()) is False
    assert len(controller.records) == 1


def test_the_operators_policies_are_asked_last() -> None:
    controller = brokers(1)
    small = Limits(partitions_max=2)
    frozen = FrozenConfigs(frozenset({"retention.ms"}))
    controller.at = replace(controller.at, create_policy=small, alter_policy=frozen)
    wanted = (NewTopicRequest("big", 3, 1), NewTopicRequest("small", 2, 1))
    big, little = controller.ask(CreateTopics(wanted))
    assert big.error.code is ErrorCode.POLICY_VIOLATION
    assert little.error == ApiError()
    resource = (ResourceKind.TOPIC, "small")
    for name, code in (
        ("retention.ms", ErrorCode.POLICY_VIOLATION),
        ("segment.ms", ErrorCode.NONE),
    ):
        steps = (Alteration(name, Op.SET, "1000"),)
        found = controller.ask(AlterConfigs(((resource, steps),)))
        assert found[resource].code is code


# ---- tasks ---------------------------------------------------------------------------------------


def test_a_task_with_more_to_do_comes_back_soon() -> None:
    schedule = Schedule.begun(Periods(no_op_ms=500, session_ms=8_000), 0)
    assert schedule.next_due(499) is None
    assert schedule.next_due(500) == WriteNoOp()
    schedule = schedule.ran(WriteNoOp(), 500, more=False)
    assert schedule.next_due(999) is None
    schedule = schedule.ran(FenceStaleBroker(), 700, more=True)
    assert schedule.next_due(700 + AGAIN_AFTER_MS) == FenceStaleBroker()


def test_every_request_has_a_handler_that_says_what_it_does() -> None:
    for request, handler in HANDLERS.items():
        assert request.__doc__
        assert handler.__doc__


def test_ids_are_sorted_as_two_signed_numbers() -> None:
    high = encode_id(b"\xff" * 16)
    assert in_id_order([uid(5), high, uid(3)]) == (high, uid(3), uid(5))
    assert reserved(uid(99))
    assert not reserved(uid(100))


@pytest.mark.parametrize(
    ("name", "level"), [("3.9-IV0", 21), ("4.0-IV3", 25), ("4.1", 27), ("3.7", 19), ("9.9", None)]
)
def test_levels_of_metadata_version_have_names(name: str, level: int | None) -> None:
    assert level_of(name) == level


def test_numbers_of_a_newer_release_are_unknown() -> None:
    assert Operation(99) is Operation.UNKNOWN
    assert ResourceKind(64) is ResourceKind.UNKNOWN


def test_a_broker_config_that_is_no_number_stops_nothing() -> None:
    controller = brokers(2, replace(SETTINGS, bootstrap={"metadata.version": 27, ELR_FEATURE: 1}))
    odd = ((ALL_BROKERS, (Alteration("min.insync.replicas", Op.SET, "x"),)),)
    controller.ask(AlterConfigs(odd))
    controller.ask(CreateTopics((NewTopicRequest("t", assignments=((0, (1, 2)),)),)))
    epoch = controller.at.image.brokers[1].epoch
    answer = controller.ask(Heartbeat(1, epoch, controller.at.next_offset, want_fence=True))
    assert answer.is_fenced


def test_scram_keys_are_those_of_the_standard() -> None:
    """The example of RFC 7677: user "user", password "pencil"."""
    salted = hashlib.pbkdf2_hmac(
        "sha256", b"pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096
    )
    stored, server = keys_of(salted, "sha256")
    assert base64.b64encode(stored) == b"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
    assert base64.b64encode(server) == b"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="


def test_a_registration_without_directories_is_written_before_they_exist() -> None:
    controller = Controller(replace(SETTINGS, bootstrap={"metadata.version": 16}))
    controller.add_broker(1, directories=())
    assert controller.at.image.brokers[1].directories == ()
    assert not any(isinstance(record, RegisterBrokerRecord) for record in controller.records)
