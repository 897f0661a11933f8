"""Whatever figure of a plan is tampered with, the checker names it."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kedge.balance import Goals, check_plan, plan_of
from kedge.model import Broker, Capacity, Snapshot
from kedge.plan import Plan
from tests.balance.snapshots import broker, lopsided

FIGURES = ("replicas_moved", "leaders_moved", "bytes_moved", "bytes_moved_lower_bound")
SECONDS = ("eta_seconds", "eta_lower_bound_seconds")
MAPS = ("imbalance_before", "imbalance_after", "imbalance_lower_bound", "peak_disk")

untimed = settings(deadline=None, max_examples=40)


@cache
def mixed() -> Snapshot:
    """Two kinds of brokers, so that resources conflict and prices are needed."""
    kinds = [Capacity(1e12, 1e7, 1e7, 10.0), Capacity(1e12, 1e7, 1e7, 40.0)]
    brokers: list[Broker] = [broker(b, "abc"[b % 3], capacity=kinds[b // 3]) for b in range(6)]
    return lopsided(brokers=brokers)


@cache
def plan() -> Plan:
    return plan_of(mixed(), Goals(tolerance=0.1))


def places(found: Plan) -> list[str]:
    return [finding.place for finding in check_plan(found, mixed()) if finding.fatal]


def with_summary(**changes: Any) -> Plan:
    summary = plan().summary
    assert summary is not None
    return replace(plan(), summary=replace(summary, **changes))


def with_certificate(change: Any) -> Plan:
    document: Any = copy.deepcopy(plan().certificate)
    change(document)
    return replace(plan(), certificate=document)


def test_an_honest_plan_passes() -> None:
    assert places(plan()) == []
    assert plan().certificate is not None


@pytest.mark.parametrize("figure", FIGURES)
@given(change=st.integers(-50, 10**12))
@untimed
def test_a_count_that_is_not_so_is_refused(figure: str, change: int) -> None:
    said = getattr(plan().summary, figure)
    assume(abs(change) > 1 and said + change >= 0)
    assert f"summary.{figure}" in places(with_summary(**{figure: said + change}))


@pytest.mark.parametrize("figure", SECONDS)
@given(factor=st.floats(0.1, 10))
@untimed
def test_a_time_that_is_not_so_is_refused(figure: str, factor: float) -> None:
    assume(abs(factor - 1) > 1e-4)
    said = getattr(plan().summary, figure)
    assert f"summary.{figure}" in places(with_summary(**{figure: said * factor}))


@pytest.mark.parametrize("figure", MAPS)
@given(factor=st.floats(0.1, 10), data=st.data())
@untimed
def test_an_imbalance_or_peak_that_is_not_so_is_refused(
    figure: str, factor: float, data: st.DataObject
) -> None:
    assume(abs(factor - 1) > 1e-4)
    said = dict(getattr(plan().summary, figure))
    key = data.draw(st.sampled_from(sorted(said)))
    said[key] *= factor
    assert f"summary.{figure}.{key}" in places(with_summary(**{figure: said}))


@given(factor=st.floats(0.1, 10), column=st.integers(0, 3))
@untimed
def test_a_best_level_that_is_not_so_is_refused(factor: float, column: int) -> None:
    assume(abs(factor - 1) > 1e-4)

    def change(document: Any) -> None:
        document["best"][column] *= factor

    assert any(
        p.startswith(f"certificate.best[{column}]") for p in places(with_certificate(change))
    )


@pytest.mark.parametrize("figure", ["bytes", "forced"])
@given(change=st.floats(1e6, 1e13))
@untimed
def test_bytes_that_the_multipliers_do_not_prove_are_refused(figure: str, change: float) -> None:
    def more(document: Any) -> None:
        document[figure] += change

    assert f"certificate.{figure}" in places(with_certificate(more))


@given(factor=st.floats(0.1, 10), data=st.data())
@untimed
def test_other_multipliers_prove_other_bytes(factor: float, data: st.DataObject) -> None:
    assume(abs(factor - 1) > 1e-2)
    multipliers: Any = (plan().certificate or {})["multipliers"]
    key = data.draw(st.sampled_from(sorted(multipliers)))

    def scale(document: Any) -> None:
        document["multipliers"][key] = [value * factor for value in multipliers[key]]

    assert "certificate.bytes" in places(with_certificate(scale))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["multipliers"].update({"1": [-1.0, 0, 0, 0]}), "certificate.multipliers"),
        (lambda d: d["multipliers"].update({"99": [1.0, 0, 0, 0]}), "certificate.multipliers"),
        (lambda d: d.update(columns=["disk", "in", "out", ""]), "certificate.columns"),
        (lambda d: d["proof"].__setitem__(0, "pigeonhole"), "certificate.proof[0]"),
        (lambda d: d["target"].__setitem__(0, 0.01), "certificate.target[0] (disk)"),
        (lambda d: d["joint"].update(level=2.0), "certificate.joint"),
        (lambda d: d["joint"].update(level=0.9, prices=[]), "certificate.joint.level"),
        (lambda d: d.update(bytes_by="word of honour"), "certificate.bytes_by"),
        (lambda d: d.pop("best"), "certificate"),
        (lambda d: d.update(best="x"), "certificate"),
    ],
)
def test_a_certificate_that_is_bent_is_refused(change: Any, place: str) -> None:
    assert any(found.startswith(place) for found in places(with_certificate(change)))


def test_prices_are_held_to_their_sum_and_to_what_they_prove() -> None:
    joint: Any = (plan().certificate or {})["joint"]
    assert joint["level"] > 1, "this cluster was made to need prices"

    def scale(document: Any) -> None:
        prices = document["joint"]["prices"]
        document["joint"]["prices"] = [[2 * price for price in row] for row in prices]

    found = places(with_certificate(scale))
    assert {"certificate.joint.prices", "certificate.joint.level"} <= set(found)

    def higher(document: Any) -> None:
        document["joint"]["level"] *= 1.01

    assert places(with_certificate(higher)) == ["certificate.joint.level"]


def test_the_other_proof_of_bytes_needs_its_own_multipliers() -> None:
    by = (plan().certificate or {})["bytes_by"]

    def swap(document: Any) -> None:
        document["bytes_by"] = "brokers" if by == "placements" else "placements"
        document["multipliers"] = {k: [1.0] * 4 for k in document["multipliers"]}

    assert "certificate.bytes" in places(with_certificate(swap))


def test_a_plan_that_breaks_a_hard_goal_is_refused() -> None:
    goals = {"exclude_topics": "large"}
    found = check_plan(replace(plan(), goals=goals, certificate=None, summary=None), mixed())
    assert any("is excluded and must not change" in str(finding) for finding in found)
    budget = replace(plan(), goals={"max_moves": 1}, certificate=None, summary=None)
    assert [f.place for f in check_plan(budget, mixed())] == ["goals.max_moves"]
    emptied = replace(plan(), goals={"remove_brokers": [0]}, certificate=None, summary=None)
    said = [str(finding) for finding in check_plan(emptied, mixed())]
    assert any("broker 0 is to be emptied and keeps" in text for text in said)


def test_goals_that_nobody_can_meet_are_refused() -> None:
    greedy = replace(plan(), goals={"replication_factor": {"large": 9}})
    assert [finding.place for finding in check_plan(greedy, mixed())] == ["goals"]
