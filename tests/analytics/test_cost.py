"""Sums of money that add up, and rates and owners that are refused."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.analytics.cost import (
    GB,
    MONTH_S,
    RESOURCES,
    Rates,
    Usage,
    by_day,
    by_owner,
    by_topic,
    charges,
    everything,
    parse_rates,
    priced,
)
from kedge.analytics.owners import Owners, parse_owners
from kedge.errors import MalformedInput
from kedge.report.cost import Bill, cost_lines, cost_row, money

NAMES = st.sampled_from(["a", "a.b", "ab", "b", "c-dlq"])
AMOUNTS = st.fixed_dictionaries({name: st.integers(0, 10**18) for name in RESOURCES})
USAGES = st.lists(
    st.builds(Usage, st.sampled_from(["x", "y"]), NAMES, st.sampled_from(["d1", "d2"]), AMOUNTS),
    max_size=20,
)
PRICES = st.decimals(0, 1000, places=7)
RATES = st.builds(Rates, st.just("EUR"), st.fixed_dictionaries({n: PRICES for n in RESOURCES}))
OWNERS = Owners({"a": "one"}, {"a.": "two"}, {"*-dlq": "one"})


@given(USAGES, RATES)
def test_every_way_of_adding_gives_the_same_sums(usages: list[Usage], rates: Rates) -> None:
    cells = priced(usages, rates, OWNERS)
    whole = {name: sum(cell.micros[name] for cell in cells) for name in RESOURCES}
    for key in (by_owner, by_topic, by_day, everything):
        found = charges(cells, key)
        for name in RESOURCES:
            assert sum(one.micros[name] for one in found) == whole[name]
            used = sum(usage.amounts[name] for usage in usages)
            assert sum(one.amounts[name] for one in found) == used
        assert sum(one.total for one in found) == sum(whole.values())


@given(USAGES, RATES)
def test_printed_numbers_add_up_too(usages: list[Usage], rates: Rates) -> None:
    row = cost_row(Bill(priced(usages, rates, OWNERS), rates, {}))
    total = Decimal(row["total"]["cost"]["total"])
    for part in ("owners", "topics", "days", "cells"):
        assert sum((Decimal(one["cost"]["total"]) for one in row[part]), Decimal(0)) == total
        for one in row[part]:
            parts = [Decimal(one["cost"][name]) for name in RESOURCES]
            assert sum(parts) == Decimal(one["cost"]["total"])
    assert cost_lines(Bill(priced(usages, rates, OWNERS), rates, {}), limit=2)


@given(st.sampled_from(RESOURCES), st.integers(0, 10**24), PRICES)
def test_a_price_is_rounded_once_half_to_even(name: str, amount: int, price: Decimal) -> None:
    rates = Rates("EUR", dict.fromkeys(RESOURCES, price))
    unit = GB * MONTH_S if name == "stored" else GB
    exact = Fraction(amount) * Fraction(price) * 10**6 / unit
    assert rates.micros(name, amount) == round(exact)


def test_money_has_six_digits() -> None:
    assert [money(each) for each in (0, 1, 1_234_567, -5)] == [
        *("0.000000", "0.000001", "1.234567", "-0.000005"),
    ]


def test_the_most_specific_rule_decides_who_owns_a_topic() -> None:
    owners = parse_owners(
        tomllib.loads(
            """
            [exact]
            topics = ["shop.orders"]
            [short]
            prefixes = ["shop"]
            [long]
            prefixes = ["shop.or"]
            [glob]
            globs = ["*.orders", "?ogs-[ab]", "shop.orders*"]
            """
        )
    )
    asked = ("shop.orders", "shop.orders.v2", "shop.x", "my.orders", "logs-a", "logs-c", "Shop")
    assert [owners.owner_of(topic) for topic in asked] == [
        *("exact", "long", "short", "glob", "glob", None, None),
    ]
    assert owners.names == ["exact", "glob", "long", "short"]


def decimals(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parse_rates, "", "per_gb: no rates"),
        (parse_rates, "per_gb = 3", "per_gb: no rates"),
        (parse_rates, "[per_gb]\nin = -0.1", "per_gb.in: a price of -0.1"),
        (parse_rates, "[per_gb]\nin = nan", "per_gb.in: a price of NaN"),
        (parse_rates, "[per_gb]\nin = inf", "per_gb.in: a price of Infinity"),
        (parse_rates, "[per_gb]\nin = 1e99999", "per_gb.in: a price of 1E"),
        (parse_rates, "[per_gb]\nin = 1e-99999", "more than 30 digits"),
        (parse_rates, "[per_gb]\nin = 'much'", "per_gb.in: 'much' is not a number"),
        (parse_rates, "[per_gb]\nin = true", "per_gb.in: True is not a number"),
        (parse_rates, "[per_gb]\nstored = 1", "per_gb.stored: unknown key"),
        (parse_rates, "colour = 1\n[per_gb]\nin = 1", "colour: unknown key"),
        (parse_rates, "currency = 4\n[per_gb]\nin = 1", "currency: not a short name"),
        (parse_owners, "a = 1", "a: not a table"),
        (parse_owners, "[a]\ntopic = ['x']", "a.topic: unknown key"),
        (parse_owners, "[a]\ntopics = 'x'", "a.topics: not a list"),
        (parse_owners, "[a]\ntopics = [1]", "a.topics: 1 is not a name"),
        (parse_owners, "[a]\nprefixes = ['']", "a.prefixes: '' is not a name"),
        (parse_owners, "[a]\nglobs = ['x']\n[b]\nglobs = ['x']", "'x' belongs to a already"),
    ],
)
def test_a_faulty_file_is_refused_in_one_sentence(
    parse: Callable[[dict[str, Any]], object], text: str, sentence: str
) -> None:
    with pytest.raises(MalformedInput) as refused:
        parse(decimals(text))
    assert sentence in str(refused.value)
