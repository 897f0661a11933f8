"""The dullest possible fair sharing: everybody grows together until something is full."""

from __future__ import annotations

from fractions import Fraction


def naive_fair_rates(capacity: list[int], uses: list[list[int]]) -> list[Fraction]:
    """Exact max-min rates; every transfer uses at least one resource."""
    rates = [Fraction(0)] * len(uses)
    growing = set(range(len(uses)))
    while growing:
        step = min(_room(capacity, uses, rates, growing, r) for r in _used(uses, growing))
        for transfer in growing:
            rates[transfer] += step
        full = {r for r in _used(uses, growing) if _load(uses, rates, r) == capacity[r]}
        growing = {t for t in growing if not full & set(uses[t])}
    return rates


def _used(uses: list[list[int]], growing: set[int]) -> set[int]:
    return {resource for transfer in growing for resource in uses[transfer]}


def _load(uses: list[list[int]], rates: list[Fraction], resource: int) -> Fraction:
    return sum(
        (rate * used.count(resource) for rate, used in zip(rates, uses, strict=True)), Fraction(0)
    )


def _room(
    capacity: list[int],
    uses: list[list[int]],
    rates: list[Fraction],
    growing: set[int],
    resource: int,
) -> Fraction:
    mentions = sum(uses[transfer].count(resource) for transfer in growing)
    return (capacity[resource] - _load(uses, rates, resource)) / mentions
