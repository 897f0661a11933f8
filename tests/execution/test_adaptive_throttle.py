"""The rate of a throttle that adapts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.execution import RateRange
from kedge.execution.adaptive_throttle import (
    CUT_INTERVAL_S,
    RISE_INTERVAL_S,
    Decision,
    Signals,
    next_rate,
)
from kedge.model import BrokerId, TopicPartition

RANGE = RateRange(10, 100)
B3 = BrokerId(3)
TP = TopicPartition("t", 0)
GOOD = Signals(at=100.0, used=100.0)


def decided(rate: int, signals: Signals = GOOD, *, since: float = RISE_INTERVAL_S) -> Decision:
    """With the rate set at 50, and signals of 100 unless they are others."""
    return next_rate(RANGE, rate, 50.0, signals, 50.0 + since)


def test_it_rises_by_half_while_the_cluster_copes() -> None:
    assert [decided(rate).rate for rate in (10, 15, 22, 90, 100)] == [15, 22, 33, 100, 100]
    assert decided(100).why == ""


@pytest.mark.parametrize(
    ("signals", "why"),
    [
        (replace(GOOD, under_min_isr=(TP,)), "1 partition below min.insync.replicas (t-0)"),
        (replace(GOOD, under_replicated=(TP,)), "1 under-replicated partition (t-0)"),
        (replace(GOOD, brokers_down=(B3,)), "broker 3 down"),
        (replace(GOOD, latencies={B3: 2.0, BrokerId(1): 0.1}), "broker 3 responds in 2.0 s"),
        (replace(GOOD, late_read_s=1.5), "reading the cluster took 1.5 s longer than before"),
    ],
)
def test_trouble_halves_it(signals: Signals, why: str) -> None:
    assert decided(80, signals) == Decision(40, why)
    assert decided(15, signals) == Decision(10, why)
    assert decided(10, signals) == Decision(10)
    assert decided(80, signals, since=0.0) == Decision(40, why)  # a rise was too much
    for since, rate in ((CUT_INTERVAL_S - 1, 80), (CUT_INTERVAL_S, 40)):
        again = next_rate(RANGE, 80, 50.0, signals, 50.0 + since, halved_at=50.0)
        assert again.rate == rate
    assert decided(80, replace(signals, at=None)) == Decision(40, why)  # half known is bad enough


@pytest.mark.parametrize(
    "signals",
    [
        replace(GOOD, at=None),
        replace(GOOD, at=50.0),
        replace(GOOD, at=20.0),
        replace(GOOD, used=4.0),
    ],
    ids=["a signal is missing", "as old as the change", "older", "the throttle limits nothing"],
)
def test_without_fresh_evidence_it_stays(signals: Signals) -> None:
    assert decided(10, signals) == Decision(10)


def test_it_rises_no_sooner_than_the_minimum_time_allows() -> None:
    assert decided(10, since=RISE_INTERVAL_S - 1) == Decision(10)


def test_a_rate_that_no_move_ends_at_is_raised_at_once() -> None:
    assert decided(10, replace(GOOD, needed=44), since=1.0).rate == 44
    assert decided(10, replace(GOOD, needed=400), since=1.0).rate == 100
    assert decided(100, replace(GOOD, needed=400)) == Decision(100)
    troubled = replace(GOOD, needed=44, brokers_down=(B3,))
    assert decided(20, troubled).rate == 10


def test_a_rate_outside_of_the_range_is_brought_into_it() -> None:
    assert (decided(5).rate, decided(500).rate) == (10, 100)


signals = st.builds(
    Signals,
    at=st.none() | st.floats(0, 1000),
    under_min_isr=st.sampled_from([(), (TP,)]),
    under_replicated=st.sampled_from([(), (TP,)]),
    brokers_down=st.sampled_from([(), (B3,)]),
    latencies=st.dictionaries(st.just(B3), st.floats(0, 5)),
    late_read_s=st.floats(0, 5),
    used=st.floats(0, 1e6),
    needed=st.integers(0, 2000),
)


@given(
    st.integers(1, 500),
    st.integers(1, 500),
    st.lists(st.tuples(signals, st.floats(0.1, 100)), max_size=30),
)
def test_whatever_is_seen_the_rate_keeps_its_rules(
    low: int, more: int, polls: list[tuple[Signals, float]]
) -> None:
    within = RateRange(low, low + more)
    rate, changed_at, halved_at, now = low, 0.0, 0.0, 0.0
    for seen, elapsed in polls:
        now += elapsed
        after = next_rate(within, rate, changed_at, seen, now, halved_at=halved_at)
        assert low <= after.rate <= within.high
        assert (after.rate != rate) == bool(after.why)
        if seen.trouble:
            assert after.rate <= rate
            assert after.rate in (rate, max(low, rate // 2))
            if now - halved_at >= CUT_INTERVAL_S:
                assert after.rate == max(low, rate // 2)
        if after.rate > rate:
            assert seen.at is not None
            assert seen.at > changed_at
            assert not seen.trouble
        if after.rate < rate:
            halved_at = now
        if after.rate != rate:
            rate, changed_at = after.rate, now
