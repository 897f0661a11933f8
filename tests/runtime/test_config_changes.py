"""Configs changed in the store, and what the running controller makes of it."""

from __future__ import annotations

import pytest

from kedge.controller.settings import Settings
from kedge.model import BrokerId, TopicPartition
from kedge.store.port import Create, SetData
from kedge.store.znodes import (
    CONFIG_CHANGES,
    NEW_CONFIG_CHANGE,
    config_path,
    encode_config,
    encode_config_change,
)
from tests.runtime.lab import Lab

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
UNCLEAN = "unclean.leader.election.enable"
DEFAULT = "brokers/<default>"


def configure(lab: Lab, entity: str, data: bytes, note: bytes | None = None) -> None:
    """Store a config and tell of it, as brokers do."""
    path, note = config_path(entity), note or encode_config_change(entity)
    lab.admin.batch([Create(path, data), SetData(path, data)])
    lab.admin.batch([Create(NEW_CONFIG_CHANGE, note, sequential=True)])
    lab.settle()


def allow(lab: Lab, entity: str, text: str = "true") -> None:
    configure(lab, entity, encode_config({UNCLEAN: text}))


def leader(lab: Lab, tp: TopicPartition = T0) -> int:
    stored = lab.stored(tp)
    assert stored is not None
    return stored.leader


def without_isr(settings: Settings | None = None) -> Lab:
    """t-0 and u-0 are on 1 and 2; only 1 is in sync, and it is gone."""
    lab = Lab(settings=settings)
    lab.create("t", [1, 2])
    lab.create("u", [1, 2])
    lab.settle()
    lab.alter_isr(T0, [1])
    lab.alter_isr(U0, [1])
    lab.stop(1)
    lab.settle()
    assert (leader(lab), leader(lab, U0)) == (-1, -1)
    return lab


def said(lab: Lab) -> str:
    return "\n".join(entry.what for entry in lab.log if entry.severity != "info")


def test_a_topic_that_comes_to_allow_it_is_led_by_who_is_alive_and_no_other_topic_is() -> None:
    lab = without_isr()
    allow(lab, "topics/t")
    assert (leader(lab), leader(lab, U0)) == (2, -1)


def test_a_topic_is_heard_of_in_the_older_form_too() -> None:
    lab = without_isr()
    note = b'{"version":1,"entity_type":"topics","entity_name":"t"}'
    configure(lab, "topics/t", encode_config({UNCLEAN: "TRUE"}), note)
    assert leader(lab) == 2


@pytest.mark.parametrize("entity", [DEFAULT, "brokers/100"])
def test_the_default_can_be_changed_while_the_controller_runs(entity: str) -> None:
    lab = without_isr()
    allow(lab, entity)
    assert (leader(lab), leader(lab, U0)) == (2, 2)


def test_the_controllers_own_config_is_stronger_than_that_of_all() -> None:
    lab = without_isr()
    allow(lab, "brokers/100", "false")
    allow(lab, DEFAULT)
    assert leader(lab) == -1


def test_another_brokers_config_means_nothing() -> None:
    lab = without_isr()
    allow(lab, "brokers/2")
    assert leader(lab) == -1


def test_a_topic_that_refuses_is_stronger_than_the_default() -> None:
    lab = without_isr()
    allow(lab, "topics/u", "false")
    allow(lab, DEFAULT)
    assert (leader(lab), leader(lab, U0)) == (2, -1)


def test_a_default_switched_off_while_it_runs_is_off() -> None:
    lab = Lab(settings=Settings(unclean_elections=True))
    lab.create("t", [1, 2])
    lab.settle()
    allow(lab, DEFAULT, "false")
    lab.alter_isr(T0, [1])
    lab.stop(1)
    lab.settle()
    assert leader(lab) == -1


def test_the_next_controller_knows_what_was_set() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    allow(lab, DEFAULT)
    lab.alter_isr(T0, [1])
    lab.loop.close()
    lab.stop(1)
    lab.elect(101)
    assert leader(lab) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"not json",
        b'{"version":9,"config":{}}',
        encode_config({UNCLEAN: "perhaps"}),
        b'{"version":1,"config":[1]}',
    ],
)
def test_a_default_that_cannot_be_read_changes_nothing(data: bytes) -> None:
    lab = without_isr()
    allow(lab, DEFAULT)
    assert lab.loop.context.unclean_elections
    configure(lab, DEFAULT, data)
    assert lab.loop.context.unclean_elections
    assert "/config/brokers/<default>" in said(lab)


def test_what_takes_a_restart_is_named_and_ignored() -> None:
    lab = Lab()
    configure(lab, DEFAULT, encode_config({"auto.leader.rebalance.enable": "false"}))
    assert "auto.leader.rebalance.enable is ignored" in said(lab)


@pytest.mark.parametrize(
    "note",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"version":3,"entity_path":"topics/t"}',
        b'{"version":2}',
        b'{"version":2,"entity_path":7}',
        b'{"version":2,"entity_path":"moons/t"}',
        b'{"version":2,"entity_path":"t"}',
        b'{"version":1,"entity_type":"brokers","entity_name":"1"}',
    ],
)
def test_a_note_that_cannot_be_read_is_named_once_and_passed_over(note: bytes) -> None:
    lab = without_isr()
    configure(lab, "topics/t", encode_config({UNCLEAN: "true"}), note)
    assert leader(lab) == -1
    assert said(lab).count("config_change_0000000000") == 1
    allow(lab, "topics/u")
    assert leader(lab, U0) == 2


def test_a_node_among_the_notes_that_is_none_stops_nobody() -> None:
    lab = without_isr()
    lab.admin.batch([Create(f"{CONFIG_CHANGES}/notes")])
    allow(lab, "topics/t")
    assert leader(lab) == 2
    assert "its name has no number" in said(lab)


def test_notes_are_removed_after_a_quarter_of_an_hour() -> None:
    lab = Lab(settings=Settings(auto_rebalance=False))
    allow(lab, "topics/t")
    lab.now_ms = 16 * 60 * 1000
    allow(lab, "topics/u")
    assert lab.read(f"{CONFIG_CHANGES}/config_change_0000000000") is None
    assert lab.read(f"{CONFIG_CHANGES}/config_change_0000000001") is not None


def test_a_controller_that_lost_the_role_hears_nothing() -> None:
    lab = without_isr()
    first, session = lab.loop, lab.store
    session.expire()
    lab.elect(101)
    first.run_until_idle()
    assert not first.context.active
    allow(lab, "topics/t")
    assert first.run_until_idle() == 0
    assert leader(lab) == 2
    assert lab.loop.context.me == BrokerId(101)
