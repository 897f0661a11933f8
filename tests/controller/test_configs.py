"""Configs changed while the cluster runs: which notes lead to which elections."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller import effects as f
from kedge.controller.configs import (
    NOTIFICATION_EXPIRATION_MS,
    load_configs,
    on_config_changes_notified,
)
from kedge.controller.events import UncleanElectionEnabled
from tests.controller.stage import Stage


class Configured(Stage):
    """A stage with notes of changes and a default for all brokers."""

    def __init__(self, *entities: str, default: bool | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.entities = entities
        self.default = default
        self.now_ms = 0

    def answer(self, effect: f.Effect) -> Any:
        match effect:
            case f.ReadConfigChanges(after):
                names = tuple(f"config_change_{n:010}" for n in range(len(self.entities)))
                opened = () if after is None else self.entities[after + 1 :]
                return f.ConfigChanges(names, len(names) - 1, opened, self.now_ms)
            case f.ReadUncleanDefault():
                return self.default
            case _:
                return super().answer(effect)

    def look(self) -> list[f.Effect]:
        self.effects.clear()
        self.run(on_config_changes_notified(self.context))
        return self.effects

    def ordered(self) -> list[UncleanElectionEnabled]:
        found = [effect.event for effect in self.look() if isinstance(effect, f.Enqueue)]
        assert all(isinstance(event, UncleanElectionEnabled) for event in found)
        return [event for event in found if isinstance(event, UncleanElectionEnabled)]


def test_a_topic_that_allows_unclean_elections_gets_another_chance() -> None:
    stage = Configured("topics/t", "topics/u")
    stage.add("t-0", [1, 2])
    stage.add("u-0", [1, 2])
    stage.unclean = {"t": True}
    assert stage.ordered() == [UncleanElectionEnabled("t")]


def test_a_topic_whose_config_makes_no_sense_gets_none() -> None:
    stage = Configured("topics/t")
    stage.add("t-0", [1, 2])
    stage.unclean = {"t": None}
    assert stage.ordered() == []


def test_a_topic_does_not_inherit_the_default_here() -> None:
    stage = Configured("topics/t", unclean_elections=True)
    stage.add("t-0", [1, 2])
    assert stage.ordered() == []


def test_a_note_is_heeded_once() -> None:
    stage = Configured("topics/t")
    stage.add("t-0", [1, 2])
    stage.unclean = {"t": True}
    assert len(stage.ordered()) == 1
    assert stage.ordered() == []
    stage.entities += ("topics/t",)
    assert len(stage.ordered()) == 1


@pytest.mark.parametrize("entity", ["brokers/<default>", "brokers/100"])
def test_a_default_that_turns_to_yes_is_an_order_to_elect(entity: str) -> None:
    stage = Configured(entity, default=True)
    assert stage.ordered() == [UncleanElectionEnabled()]
    assert stage.context.unclean_elections


def test_a_default_that_was_yes_before_is_no_order() -> None:
    stage = Configured("brokers/<default>", default=True, unclean_elections=True)
    assert stage.ordered() == []


def test_a_default_that_is_removed_falls_back_to_the_settings() -> None:
    stage = Configured("brokers/<default>", default=True)
    stage.ordered()
    stage.entities += ("brokers/<default>",)
    stage.default = None
    assert stage.ordered() == []
    assert not stage.context.unclean_elections


@pytest.mark.parametrize(
    "entity", ["brokers/1", "users/u", "users/u/clients/c", "ips/1", "topics/x"]
)
def test_what_is_nothing_to_the_controller_is_not_read(entity: str) -> None:
    stage = Configured(entity, default=True)
    assert [type(effect) for effect in stage.look()] == [f.ReadConfigChanges]


def test_a_take_over_reads_what_is_set_and_opens_no_note() -> None:
    stage = Configured("brokers/<default>", "topics/t", default=True)
    stage.run(load_configs(stage.context))
    assert stage.effects == [f.ReadConfigChanges(after=None), f.ReadUncleanDefault(before=None)]
    assert stage.context.unclean_elections
    assert stage.context.last_config_change == 1
    assert stage.ordered() == []


def test_who_resigns_forgets_what_was_set() -> None:
    stage = Configured("brokers/<default>", default=True)
    stage.ordered()
    stage.context.reset()
    assert not stage.context.unclean_elections
    assert stage.context.last_config_change == -1


def test_notes_go_a_quarter_of_an_hour_after_they_were_seen() -> None:
    stage = Configured("users/a")
    stage.look()
    stage.now_ms = NOTIFICATION_EXPIRATION_MS
    stage.entities += ("users/b",)
    assert not any(isinstance(effect, f.DeleteNotifications) for effect in stage.look())
    stage.now_ms += 1
    first = ("config_change_0000000000",)
    assert stage.look()[-1] == f.DeleteNotifications(f.NotificationKind.CONFIG_CHANGES, first)
