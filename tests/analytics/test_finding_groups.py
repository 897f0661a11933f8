"""Groups of findings: what is one line, in which order, and what changed since the last run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.analytics.finding_groups import Change, Severity, grouped, shared_broker
from kedge.analytics.findings import KINDS, ClusterFacts, Finding, remembered

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def finding(kind: str, value: float = 1.0, **subject: Any) -> Finding:
    named: dict[str, Any] = {"broker": None, "topic": None, "partition": None, **subject}
    return Finding(kind, "c", value=value, threshold=1.0, why=f"why {value:g}", **named)


def growing(topic: str, count: int, value: float = 0.5) -> list[Finding]:
    return [finding("growing", value, topic=topic, partition=each) for each in range(count)]


def facts(growth: float = 1e9, partitions: int = 24, **more: Any) -> ClusterFacts:
    keys = [("clicks", each) for each in range(partitions)]
    known: dict[str, Any] = {
        "brokers": 9,
        "disk_capacity": 9e12,
        "stored": 1e12,
        "partitions": {"clicks": partitions},
        "bytes_in": {"clicks": 99.0, "rare": 0.5},
        "growth_per_day": dict.fromkeys(keys, growth),
        "replicas": {key: (key[1] % 9, (key[1] + 1) % 9, (key[1] + 2) % 9) for key in keys},
        **more,
    }
    return ClusterFacts(**known)


def test_partitions_that_grow_alike_are_one_line() -> None:
    (group,) = grouped(growing("clicks", 24), {"c": facts(68e9 / 24)})
    assert group.why == (
        "all 24 partitions of clicks grow alike, 68 GB a day (204 GB with all replicas)"
    )
    assert (len(group.findings), group.of, group.below_floor) == (24, 24, False)


def test_partitions_that_grow_unlike_name_the_one_that_grows_most() -> None:
    rates = {("clicks", 0): 1e9, ("clicks", 1): 9e9}
    (group,) = grouped(growing("clicks", 2), {"c": facts(growth_per_day=rates, replicas={})})
    assert group.why == "2 of 24 partitions of clicks grow, 10 GB a day; clicks-1 most, 9 GB a day"


def test_a_single_finding_keeps_its_sentence() -> None:
    (group,) = grouped([finding("hot_broker", 4.0, broker=3)], {"c": facts()})
    assert (group.why, group.broker, group.severity) == ("why 4", 3, Severity.WARNING)


def test_what_is_too_small_to_matter_is_below_the_floor() -> None:
    found = [
        *growing("clicks", 24),  # a month of 24 kB a day on 9 TB
        finding("skewed_topic", 9.0, topic="rare", partition=0),
        finding("led_elsewhere", 1.0, broker=1),
    ]
    many = facts(1e3, partitions=240)
    assert [group.below_floor for group in grouped(found, {"c": many})] == [True] * 3
    assert not any(group.below_floor for group in grouped(found, {"c": facts(1e9)})[:1])


def test_groups_are_ranked_by_severity_then_kind_then_impact() -> None:
    found = [
        finding("led_elsewhere", 5.0, broker=1),
        *growing("clicks", 2),
        finding("isr_flapping", 5.0, topic="clicks", partition=0),
        finding("hot_broker", 2.0, broker=4),
        finding("disk_full_soon", 9.0, broker=1),
        finding("disk_full_soon", 2.0, broker=2),
    ]
    ranked = [(group.severity, group.kind) for group in grouped(found, {"c": facts()})]
    assert ranked == [
        (Severity.URGENT, "disk_full_soon"),
        (Severity.WARNING, "isr_flapping"),
        (Severity.NOTICE, "hot_broker"),
        (Severity.NOTICE, "growing"),
        (Severity.NOTICE, "led_elsewhere"),
    ]
    disks = grouped(found, {"c": facts()})[0]
    assert (disks.value, disks.why) == (2.0, "2 of 9 disks fill up; why 2")


def test_growth_that_fills_the_cluster_within_a_month_is_a_warning() -> None:
    (group,) = grouped(growing("clicks", 24), {"c": facts(8e12 / 30 / 24 / 3)})
    assert group.severity is Severity.WARNING


def test_flapping_partitions_that_share_a_broker_name_it() -> None:
    found = [finding("isr_flapping", 5.0, topic=f"t{each}", partition=0) for each in range(6)]
    lists = {(f"t{each}", 0): (4, each % 3, 5 + each % 3) for each in range(6)}
    (group,) = grouped(found, {"c": facts(replicas=lists)})
    assert group.broker == 4
    assert "have a replica on broker 4, the likely cause" in group.why
    apart = {**lists, ("t0", 0): (1, 2, 3)}
    assert len(grouped(found, {"c": facts(replicas=apart)})) == 6


def test_few_partitions_share_a_broker_by_chance() -> None:
    found = [finding("isr_flapping", 5.0, topic="t", partition=each) for each in range(2)]
    same = {("t", each): (4, 5, 6) for each in range(2)}
    assert shared_broker(found, facts(replicas=same)) is None


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(5.0, 5.1, "same"), (5.0, 6.0, "larger"), (5.0, 4.0, "smaller"), (None, 5.0, "new")],
)
def test_a_group_says_what_became_of_it(before: float | None, after: float, change: str) -> None:
    earlier = [] if before is None else [finding("hot_broker", before, broker=1)]
    known = remembered([], earlier, MONDAY)
    found = [finding("hot_broker", after, broker=1)]
    later = remembered(known, found, MONDAY + timedelta(days=1))
    (group,) = grouped(found, {"c": facts()}, later)
    assert (str(group.change), group.previous) == (change, before)
    first = MONDAY if before is not None else MONDAY + timedelta(days=1)
    assert group.first_seen == first


def test_fewer_days_until_a_disk_is_full_are_a_larger_finding() -> None:
    known = remembered([], [finding("disk_full_soon", 9.0, broker=1)], MONDAY)
    found = [finding("disk_full_soon", 5.0, broker=1)]
    (group,) = grouped(found, {"c": facts()}, remembered(known, found, MONDAY))
    assert group.change is Change.LARGER


def test_more_partitions_make_a_group_larger_and_fewer_smaller() -> None:
    for before, after, change in ((3, 5, Change.LARGER), (5, 3, Change.SMALLER)):
        known = remembered([], growing("clicks", before), MONDAY)
        found = growing("clicks", after)
        (group,) = grouped(found, {"c": facts()}, remembered(known, found, MONDAY))
        assert group.change is change


def test_a_finding_that_went_away_is_gone_for_one_run_and_new_when_it_returns() -> None:
    found = growing("clicks", 3)
    first = remembered([], found, MONDAY)
    second = remembered(first, [], MONDAY + timedelta(days=1))
    (group,) = grouped([], {"c": facts()}, second)
    assert (group.change, len(group.findings), group.first_seen) == (Change.GONE, 3, MONDAY)
    assert remembered(second, [], MONDAY + timedelta(days=2)) == []
    third = remembered(second, found, MONDAY + timedelta(days=2))
    (again,) = grouped(found, {"c": facts()}, third)
    assert (again.change, again.first_seen) == (Change.NEW, MONDAY + timedelta(days=2))


def test_without_history_changes_are_unknown() -> None:
    assert {group.change for group in grouped(growing("clicks", 2), {})} == {Change.UNKNOWN}


def subjects(kind: str) -> st.SearchStrategy[Finding]:
    values = st.floats(0.1, 100)
    if kind in ("isr_flapping", "growing", "skewed_topic"):
        names, numbers = st.sampled_from(["clicks", "rare", "odd"]), st.integers(0, 9)
        return st.builds(
            lambda v, t, p: finding(kind, v, topic=t, partition=p), values, names, numbers
        )
    return st.builds(lambda v, b: finding(kind, v, broker=b), values, st.integers(0, 9))


FOUND = st.lists(st.sampled_from(KINDS).flatmap(subjects), unique_by=lambda one: one.key)


@given(FOUND, FOUND)
def test_every_finding_is_in_one_group_and_every_one_that_is_gone_too(
    before: list[Finding], found: list[Finding]
) -> None:
    history = remembered(remembered([], before, MONDAY), found, MONDAY)
    groups = grouped(found, {"c": facts()}, history)
    present = [one for group in groups if group.change is not Change.GONE for one in group.findings]
    assert sorted(map(str, present)) == sorted(map(str, found))
    assert len({one.key for group in groups for one in group.findings}) == sum(
        len(group.findings) for group in groups
    )
    assert [group for group in groups if group.change is Change.GONE] == groups[
        len([group for group in groups if group.change is not Change.GONE]) :
    ]
