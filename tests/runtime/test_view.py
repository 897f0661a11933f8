"""The view of the controller that other threads read."""

from __future__ import annotations

import dataclasses

import pytest

from kedge.controller.events import ReassignmentRequested, SettingsChanged
from kedge.controller.settings import Settings
from kedge.model import BrokerId, TopicPartition
from kedge.store.port import Create
from kedge.store.znodes import REASSIGN_PARTITIONS, encode_reassignments
from tests.runtime.lab import Lab

T0 = TopicPartition("t", 0)


def test_the_view_follows_the_context_after_each_event() -> None:
    lab = Lab(3)
    lab.create("t", [1, 2], [2, 3], [3])
    lab.settle()
    view = lab.loop.view
    assert (view.active, view.active_controller, view.epoch) == (True, 100, 1)
    assert view.registered == lab.loop.context.registered
    assert (view.live, view.topics, view.partition_count) == ({1, 2, 3}, {"t"}, 3)
    assert (view.offline_partition_count, view.under_replicated_count) == (0, 0)
    lab.stop(3)
    lab.settle()
    view = lab.loop.view
    assert (view.live, view.offline_partition_count, view.under_replicated_count) == ({1, 2}, 1, 1)


def test_a_view_that_was_taken_does_not_change() -> None:
    lab = Lab(3)
    lab.create("t", [1, 2])
    lab.settle()
    before = lab.loop.view
    lab.stop(3)
    lab.create("u", [1, 2])
    lab.settle()
    assert (set(before.registered), before.live, before.topics) == ({1, 2, 3}, {1, 2, 3}, {"t"})
    assert lab.loop.view.topics == {"t", "u"}
    with pytest.raises(TypeError):
        before.registered[BrokerId(9)] = before.registered[BrokerId(1)]  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.settings = Settings()  # type: ignore[misc]


def test_tables_that_have_not_changed_are_shared_by_views() -> None:
    lab = Lab(3)
    lab.create("t", [1, 2])
    lab.settle()
    before = lab.loop.view
    lab.admin.batch([Create(REASSIGN_PARTITIONS, encode_reassignments({T0: (BrokerId(3),)}))])
    lab.settle()
    after = lab.loop.view
    assert after is not before
    assert after.reassigning_count == 1
    assert after.registered is before.registered
    assert after.topics is before.topics


def test_a_topic_that_was_deleted_leaves_the_view() -> None:
    lab = Lab(3)
    lab.create("t", [1, 2])
    lab.create("u", [1, 2])
    lab.settle()
    lab.delete("t")
    lab.settle()
    assert lab.loop.view.topics == lab.loop.context.topics
    assert "t" not in lab.loop.view.topics


def test_settings_change_in_the_loop_and_not_when_they_are_put() -> None:
    lab = Lab(1)
    wanted = dataclasses.replace(lab.settings, delete_topics=False)
    lab.loop.put(SettingsChanged(wanted))
    assert lab.loop.view.settings == lab.loop.context.settings == lab.settings
    lab.settle()
    assert lab.loop.view.settings is lab.loop.context.settings is wanted


def test_a_standby_takes_new_settings_too() -> None:
    lab = Lab(1)
    standby = lab.elect(101)
    wanted = dataclasses.replace(lab.settings, delete_topics=False)
    standby.put(SettingsChanged(wanted))
    standby.run_until_idle()
    assert not standby.view.active
    assert standby.view.settings is wanted


def test_a_caller_that_has_its_answer_finds_a_view_that_is_as_new() -> None:
    lab = Lab(3)
    lab.create("t", [1, 2])
    lab.settle()
    seen: list[int] = []
    targets = {T0: (BrokerId(1), BrokerId(3))}
    lab.loop.put(
        ReassignmentRequested(targets), lambda _: seen.append(lab.loop.view.reassigning_count)
    )
    lab.loop.run_until_idle()
    assert seen == [1]
