"""What nobody should have written: named in one sentence, passed over, and the loop goes on."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.brokers.port import BrokerLink
from kedge.brokers.recording import RecordingBrokers
from kedge.controller import effects as f
from kedge.controller.events import (
    ElectionRequested,
    ElectionType,
    IsrChangeRequested,
    ProducerIdsRequested,
    ReassignmentRequested,
    ReassignmentsListed,
    ShutdownRequested,
    Started,
    TopicsChanged,
)
from kedge.controller.states import PartitionState
from kedge.model import Broker, BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.runtime.loop import Loop, Replied
from kedge.store.memory import MemoryStore
from kedge.store.port import Create, Delete, SetData
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    FEATURE,
    PREFERRED_ELECTION,
    PRODUCER_ID_BLOCK,
    REASSIGN_PARTITIONS,
    state_path,
    topic_path,
)
from tests.runtime.lab import Lab

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR


def complaints(lab: Lab) -> list[str]:
    return [entry.what for entry in lab.log if entry.severity == "warning"]


def write(lab: Lab, path: str, data: bytes | None) -> None:
    lab.admin.batch([Create(path, data), SetData(path, data)])
    lab.settle()


def goes_on(lab: Lab) -> bool:
    """Whether a new topic still gets a leader."""
    lab.create("u", [1, 2])
    lab.settle()
    return lab.stored(U0) is not None


GARBAGE = [b"", b"nonsense", b"[]", b"{}", b'{"version":1}', b'{"version":"x"}', b"\xff\xfe"]


@pytest.mark.parametrize("data", GARBAGE)
@pytest.mark.parametrize(
    "path",
    [
        "/brokers/ids/9",
        topic_path("x"),
        REASSIGN_PARTITIONS,
        PREFERRED_ELECTION,
        "/isr_change_notification/isr_change_0000000007",
        "/log_dir_event_notification/log_dir_event_0000000007",
        "/config/changes/config_change_0000000007",
    ],
)
def test_a_node_that_cannot_be_read_is_named_and_passed_over(path: str, data: bytes) -> None:
    lab = Lab()
    write(lab, path, data)
    is_empty_topic = path == topic_path("x") and data.startswith(b"{")
    assert is_empty_topic or any(path in words for words in complaints(lab))
    assert goes_on(lab)


@pytest.mark.parametrize("data", GARBAGE)
@pytest.mark.parametrize("path", [topic_path("t"), state_path(T0), FEATURE, "/brokers/ids/9"])
def test_a_node_that_cannot_be_read_does_not_stop_a_take_over(path: str, data: bytes) -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    lab.loop.close()
    lab.admin.batch([Create(path, data), SetData(path, data)])
    lab.elect(101)
    assert lab.loop.context.active
    assert goes_on(lab)


def test_a_topic_that_cannot_be_read_is_not_overwritten_and_can_be_repaired() -> None:
    lab = Lab()
    write(lab, topic_path("t"), b"nonsense")
    node = lab.read(topic_path("t"))
    assert node is not None
    assert node.data == b"nonsense"
    write(lab, topic_path("t"), b'{"version":1,"partitions":{"0":[1,2]}}')
    assert lab.loop.context.partition_state(T0) is PartitionState.ONLINE


def test_a_broker_whose_name_is_no_number_is_passed_over() -> None:
    lab = Lab()
    write(lab, "/brokers/ids/nine", b"{}")
    lab.loop.close()
    lab.elect(101)
    assert lab.loop.context.active
    assert any("/brokers/ids" in words for words in complaints(lab))


def test_a_claim_that_cannot_be_read_is_somebody_elses_until_it_goes() -> None:
    lab = Lab()
    lab.admin.batch([SetData(CONTROLLER, b"nonsense")])
    lab.settle()
    assert not lab.loop.context.active
    assert any(CONTROLLER in words for words in complaints(lab))
    lab.admin.batch([Delete(CONTROLLER)])
    lab.settle()
    assert lab.loop.context.active


def test_an_epoch_that_cannot_be_read_makes_nobody_the_controller() -> None:
    lab = Lab()
    lab.loop.close()
    lab.admin.batch([SetData(CONTROLLER_EPOCH, b"many")])
    lab.elect(101)
    assert not lab.loop.context.active
    assert any("/controller_epoch" in entry.what for entry in lab.log)
    lab.admin.batch([SetData(CONTROLLER_EPOCH, b"7")])
    lab.loop.put(Started())
    lab.settle()
    assert lab.loop.context.epoch == 8


def test_producer_ids_that_cannot_be_read_are_an_error_to_who_asks() -> None:
    lab = Lab()
    write(lab, PRODUCER_ID_BLOCK, b"nonsense")
    epoch = lab.loop.context.registered[BrokerId(1)].epoch
    assert lab.ask(ProducerIdsRequested(BrokerId(1), epoch)) is UNKNOWN


@pytest.mark.parametrize(
    "plan",
    [
        '{"topic":"t","partition":7,"replicas":[1]}',
        '{"topic":"none","partition":0,"replicas":[1]}',
        '{"topic":"t","partition":-1,"replicas":[1]}',
        '{"topic":"t","partition":0,"replicas":[]}',
    ],
)
def test_a_stored_move_that_cannot_be_is_taken_out_of_the_plan(plan: str) -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    write(lab, REASSIGN_PARTITIONS, f'{{"version":1,"partitions":[{plan}]}}'.encode())
    assert lab.read(REASSIGN_PARTITIONS) is None
    assert lab.loop.context.replicas(T0) == (1, 2)
    assert any("cannot be started" in entry.what for entry in lab.log)


# ---- scripts that fail ---------------------------------------------------------------------------


class Failing(Loop):
    """A loop in which one kind of order goes wrong in a way that nobody foresaw."""

    fails_at: type[Any] | None = None

    def _execute(self, name: str, effect: f.Effect, reply: Replied) -> Any:
        if self.fails_at is not None and isinstance(effect, self.fails_at):
            raise ZeroDivisionError("once in\na while")
        return super()._execute(name, effect, reply)


def failing(lab: Lab) -> Failing:
    lab.loop.close()
    store = MemoryStore(lab.ensemble)
    loop = Failing(BrokerId(101), store, lab.recorder, now_ms=lambda: 0, log=lab.log.append)
    loop.put(Started())
    loop.run_until_idle()
    lab.loop = loop
    return loop


def test_a_caller_whose_script_fails_is_told_at_once_and_the_failure_is_one_line() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    loop = failing(lab)
    loop.fails_at = f.ReadReassignmentPlan
    asked = ReassignmentRequested({T0: (BrokerId(2), BrokerId(3))})
    assert lab.ask(asked) is UNKNOWN
    (noted,) = [entry for entry in lab.log if entry.severity == "error"]
    assert noted.what == "ZeroDivisionError: once in a while"
    assert noted.event == "ReassignmentRequested"
    assert noted.details == {"event": asked}
    assert loop.metrics.events["ReassignmentRequested"].failures == 1
    loop.fails_at = None
    assert lab.ask(asked) == {T0: ErrorCode.NONE}


def test_an_election_that_fails_is_answered_for_each_partition() -> None:
    lab = Lab()
    lab.create("t", [1])
    lab.settle()
    loop = failing(lab)
    lab.stop(1)
    lab.settle()
    loop.fails_at = f.ReadLeaderships
    assert lab.ask(ElectionRequested(frozenset({T0}), ElectionType.UNCLEAN)) == {T0: UNKNOWN}


def test_a_broker_that_wants_producer_ids_is_told_of_a_failure() -> None:
    lab = Lab()
    loop = failing(lab)
    loop.fails_at = f.AllocateProducerIds
    epoch = loop.context.registered[BrokerId(2)].epoch
    assert lab.ask(ProducerIdsRequested(BrokerId(2), epoch)) is UNKNOWN


def test_a_leader_and_a_broker_that_leaves_are_told_of_a_failure() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    loop = failing(lab)
    loop.fails_at = f.WriteLeaderships
    assert lab.alter_isr(T0, [1]).error is UNKNOWN
    epoch = loop.context.registered[BrokerId(1)].epoch
    assert lab.ask(ShutdownRequested(BrokerId(1), epoch)).error is UNKNOWN


def test_a_take_over_that_fails_gives_the_role_up() -> None:
    lab = Lab()
    lab.loop.close()
    store = MemoryStore(lab.ensemble)
    loop = Failing(BrokerId(101), store, lab.recorder, now_ms=lambda: 0, log=lab.log.append)
    loop.fails_at = f.OpenLinks
    loop.put(Started())
    loop.step()
    assert not loop.context.active
    assert lab.read(CONTROLLER) is None
    loop.fails_at = None
    loop.run_until_idle()
    assert loop.context.active


class Unwilling(RecordingBrokers):
    """Brokers that no link can be opened to, for a reason that nobody foresaw."""

    def open(self, broker: Broker, *, epoch: int) -> BrokerLink:
        if broker.id == 9:
            raise OSError("too many open files")
        return super().open(broker, epoch=epoch)


def test_a_port_that_fails_fails_the_event_and_not_the_loop() -> None:
    lab = Lab()
    lab.loop.close()
    lab.recorder = Unwilling()
    lab.elect(101)
    lab.start(9)
    lab.settle()
    assert any("too many open files" in entry.what for entry in lab.log)
    assert goes_on(lab)


def test_a_caller_that_chokes_on_its_answer_does_not_end_the_loop() -> None:
    lab = Lab()

    def choke(_answer: object) -> None:
        raise ValueError("not what I wanted")

    lab.loop.put(ReassignmentsListed(), choke)
    lab.loop.put(IsrChangeRequested(BrokerId(1), 0, {}), choke)
    lab.loop.put(TopicsChanged())
    lab.settle()
    lab.loop.put(ReassignmentsListed(), choke)
    lab.store.expire()
    lab.settle()
    assert lab.loop.context.active
    assert sum("not what I wanted" in entry.what for entry in lab.log) == 3
