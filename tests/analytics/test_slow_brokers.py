"""Brokers that stand out, and those that do not."""

from __future__ import annotations

import numpy as np
import pytest

from kedge.analytics.slow_brokers import (
    MEASUREMENTS,
    BrokerHealth,
    Verdict,
    robust_z,
    slow_brokers,
)

COUNT, RECENT = 120, 30
TIMES = np.asarray(60.0 * np.arange(1, COUNT + 1), np.float64)


def broker(number: int, before: float, now: float, name: str = MEASUREMENTS[0]) -> BrokerHealth:
    noise = np.random.default_rng(number).normal(1, 0.03, COUNT)
    level = np.where(np.arange(COUNT) < COUNT - RECENT, before, now)
    values = {each: np.full(COUNT, np.nan) for each in MEASUREMENTS}
    return BrokerHealth(number, TIMES, {**values, name: level * noise})


def found(*brokers: BrokerHealth) -> list[tuple[int, Verdict]]:
    return [(one.broker, one.verdict) for one in slow_brokers(brokers, recent_s=60.0 * RECENT)]


def test_a_broker_that_got_slower_than_itself_and_its_peers_is_slow() -> None:
    peers = [broker(number, 5, 5) for number in range(4)]
    assert found(*peers, broker(9, 5, 20)) == [(9, Verdict.SLOW)]
    assert found(*peers, broker(9, 5, 5.3)) == []


def test_a_broker_that_was_always_slow_stands_out_of_its_peers_alone() -> None:
    assert found(*(broker(number, 5, 5) for number in range(4)), broker(9, 20, 20)) == [
        (9, Verdict.THAN_PEERS)
    ]


def test_brokers_that_all_got_slower_stand_out_of_their_history_alone() -> None:
    assert {verdict for _, verdict in found(*(broker(number, 5, 20) for number in range(4)))} == {
        Verdict.THAN_BEFORE
    }


def test_without_peers_the_history_decides_and_without_history_the_peers() -> None:
    assert found(broker(1, 5, 20)) == [(1, Verdict.SLOW)]
    short = BrokerHealth(
        9,
        TIMES[-5:],
        {name: np.full(5, 40.0) for name in MEASUREMENTS[:1]}
        | {name: np.full(5, np.nan) for name in MEASUREMENTS[1:]},
    )
    assert found(*(broker(number, 5, 5) for number in range(4)), short) == [(9, Verdict.SLOW)]


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_measurement_counts_and_the_sentence_has_its_figures(name: str) -> None:
    brokers = [*(broker(number, 5, 5, name) for number in range(4)), broker(9, 5, 20, name)]
    (one,) = slow_brokers(brokers, recent_s=60.0 * RECENT)
    assert one.measurement == name
    assert name.removesuffix("_ms").replace("_", " ") in one.why
    assert "ms before" in one.why
    assert "ms on its peers" in one.why


def test_a_very_even_reference_does_not_make_noise_stand_out() -> None:
    assert robust_z(5.4, np.full(20, 5.0)) < 1
    assert robust_z(50.0, np.full(20, 5.0)) > 50


def test_nothing_stands_out_of_nothing() -> None:
    assert slow_brokers([], recent_s=60.0) == []
    empty = np.zeros(0)
    nothing = BrokerHealth(1, empty, dict.fromkeys(MEASUREMENTS, empty))
    assert slow_brokers([nothing], recent_s=60.0) == []
