"""Small problems: made by hypothesis, and one maker with defaults for everything."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from kedge.balance.goals.problem import Problem


def problem_of(initial: Any, **given: Any) -> Problem:
    """A problem with plain defaults: brokers alike, each a rack of its own, nothing excluded."""
    rows = np.array(initial, np.int32)
    brokers = int(given.pop("brokers", rows.max() + 1))
    count = len(rows)
    wanted = np.array(given.pop("wanted", (rows >= 0).sum(axis=1)), np.int32)
    size = np.array(given.pop("size", np.ones(count)), np.float64)
    rate = np.array(given.pop("rate", size), np.float64)
    out = rate * wanted
    zero = np.zeros(count)
    values: dict[str, Any] = {
        "rack": np.arange(brokers),
        "capacity": np.ones((brokers, 4)),
        "must_empty": np.zeros(brokers, bool),
        "may_receive": np.ones(brokers, bool),
        "may_give": np.ones(brokers, bool),
        "max_replicas": np.full(brokers, 1000),
        "topic": np.zeros(count),
        "initial": rows,
        "wanted": wanted,
        "movable": np.ones(count, bool),
        "leader_movable": np.ones(count, bool),
        "leader_load": np.stack([size, rate, out, rate + out], axis=1),
        "follower_load": np.stack([size, rate, zero, rate * 0.5], axis=1),
        "rack_limit": np.ones(count),
        "weight": np.ones(4),
        "tolerance": np.full(4, 0.05),
        "hard_limit": np.full((brokers, 4), np.inf),
    }
    values.update(given)
    whole = ("rack", "max_replicas", "topic", "initial", "wanted", "rack_limit")
    kinds = {name: np.int32 for name in whole}
    arrays = {name: np.array(value, kinds.get(name)) for name, value in values.items()}
    return Problem(**arrays)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """A cluster of three to seven brokers with some of everything that may be asked for."""
    luck = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    racks = draw(st.integers(2, 4))
    brokers = draw(st.integers(racks + 1, 7))
    rack = np.r_[np.arange(racks), luck.integers(0, racks, brokers - racks)]
    count = draw(st.integers(1, 30))
    factor = luck.integers(1, racks + 1, count)
    home = np.full((count, racks), -1)
    for row, n in enumerate(factor):
        home[row, :n] = luck.permutation(brokers)[:n]
    empty = np.zeros(brokers, bool)
    if draw(st.booleans()) and brokers > racks + 1:
        empty[-1] = True
    some = draw(st.sampled_from([0.0, 0.2]))
    more = draw(st.booleans())
    wanted = np.clip(factor + luck.integers(-1, 2, count) * more, 1, racks)
    receives = (luck.random(brokers) >= some) & ~empty
    return problem_of(
        home,
        brokers=brokers,
        rack=rack,
        capacity=luck.choice([1.0, 1.5, 2.0], (brokers, 1)) * luck.choice([1.0, 1.2], (brokers, 4)),
        must_empty=empty,
        may_receive=receives,
        may_give=luck.random(brokers) >= some,
        wanted=wanted,
        size=luck.lognormal(0, 1.5, count),
        rate=luck.lognormal(0, 1.5, count),
        movable=luck.random(count) >= some,
        leader_movable=luck.random(count) >= some,
        max_replicas=np.full(brokers, draw(st.sampled_from([1000, count]))),
        tolerance=np.full(4, draw(st.sampled_from([0.0, 0.02, 0.1, 0.5]))),
        weight=np.array(draw(st.sampled_from([(1, 1, 1, 1), (1, 0, 0, 0), (0, 1, 1, 0)])), float),
    )
