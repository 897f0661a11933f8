"""Series to forecast: generated ones by the hour, and the recorded traffic of real brokers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kedge.pipeline.generator.sizes import Size
from kedge.pipeline.generator.synthetic_clusters import make_clusters, sample

Floats = NDArray[np.float64]
Series = list[tuple[Floats, Floats]]
HOUR_S = 3600.0
START = 1_767_571_200.0  # a Monday
WEEKS, COUNT = 10, 10
HOURS = np.arange(WEEKS * 168)
TIMES = np.asarray(START + HOUR_S * HOURS, np.float64)
RECORDED = Path(__file__).with_name("recorded_bytes.json")
MINUTES_PER_HOUR = 60


def drawn(shape: Callable[[np.random.Generator], Floats], seed: int = 1) -> Series:
    """Several series of one shape, each from its own seed."""
    seeds = np.random.SeedSequence(seed).spawn(COUNT)
    values = (shape(np.random.default_rng(each)) for each in seeds)
    return [(TIMES, np.asarray(np.maximum(each, 0.0), np.float64)) for each in values]


def weekly(rng: np.random.Generator) -> Floats:
    """Days and nights, quieter weekends, and noise that lasts some hours."""
    night = 1 + 0.4 * np.sin(2 * np.pi * (HOURS / 24 + rng.random()))
    weekend = np.where((HOURS // 24) % 7 >= 5, rng.uniform(0.4, 0.8), 1.0)
    return 1e6 * night * weekend * (1 + 0.08 * lasting(rng))


def weekly_and_growing(rng: np.random.Generator) -> Floats:
    """The same, growing by 1 % of the start a day."""
    return weekly(rng) * (1 + 0.01 * HOURS / 24)


def weekly_with_faults(rng: np.random.Generator) -> Floats:
    """The same with outages, bursts, and a step in the middle."""
    values = weekly(rng)
    values[rng.choice(len(HOURS), len(HOURS) // 50, replace=False)] *= 0
    values[rng.choice(len(HOURS), len(HOURS) // 50, replace=False)] *= 6
    return values * np.where(len(HOURS) // 2 > HOURS, 1.0, 1.3)


def log_size(rng: np.random.Generator) -> Floats:
    """Bytes on disk: what was taken in, less a segment that is deleted every other day."""
    taken = np.cumsum(weekly(rng)) * 3600
    return 1e11 + 0.3 * taken - (HOURS % 48) / 48 * 1e10


def random_walk(rng: np.random.Generator) -> Floats:
    """Nothing to forecast: the last value is the best."""
    return 1e6 * np.exp(np.cumsum(rng.normal(0, 0.02, len(HOURS))))


def lasting(rng: np.random.Generator) -> Floats:
    """Noise of deviation 1 that is alike for some hours."""
    noise = np.zeros(len(HOURS))
    steps = rng.normal(0, np.sqrt(1 - 0.8**2), len(HOURS))
    for place in range(1, len(HOURS)):
        noise[place] = 0.8 * noise[place - 1] + steps[place]
    return noise


def generator_topics() -> Series:
    """Bytes in of topics as the pipeline's generator draws them, one sample an hour."""
    size = Size(1, 6, COUNT, 40, 3, len(HOURS) * MINUTES_PER_HOUR, 1)
    rng = np.random.default_rng(7)
    clusters = make_clusters(rng, size)
    rows = np.zeros((len(HOURS), COUNT))
    for place in range(len(HOURS)):
        taken = sample(clusters, rng, place * MINUTES_PER_HOUR)
        led = taken.is_leader
        np.add.at(rows[place], taken.topic[led], taken.bytes_in[led])
    return [(TIMES, rows[:, topic]) for topic in range(COUNT)]


def recorded_topics() -> Series:
    """Bytes in and out of topics on three real brokers, every 15 s for 15 minutes."""
    found = json.loads(RECORDED.read_text())
    times = found["t0"] + found["step_s"] * np.arange(1, 61, dtype=np.float64)
    return [
        (times, np.array(values, np.float64))
        for kinds in found["topics"].values()
        for values in kinds.values()
    ]
