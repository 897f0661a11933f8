"""Capacity and cost of generated metrics, against answers computed from the raw arrays by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from kedge.cli.app import run
from kedge.pipeline.generator.faults import FaultyTransport
from kedge.pipeline.generator.sample_arrays import SampleArrays
from kedge.pipeline.generator.sizes import INTERVAL_S, START_S, WINDOW_S, size_of
from kedge.pipeline.generator.synthetic_clusters import SyntheticClusters, make_clusters, sample

pytestmark = pytest.mark.real  # the tables are written by Spark

SIZE, SEED = "XS", 7  # those of the fixture `tables`
BY = datetime(2026, 1, 12, tzinfo=UTC)
HEADROOM, NETWORK = 0.3, 10_000_000
RATES = {"in": "0.013", "out": "0.021", "replication": "0.0051", "stored": "0.083"}
Series = list[tuple[float, float]]
Captured = pytest.CaptureFixture[str]


def kept_rows() -> tuple[SyntheticClusters, Iterator[tuple[int, SampleArrays]]]:
    """The rows that the tables must have, drawn as the generator draws them."""
    for_clusters, for_rows, _ = np.random.SeedSequence(SEED).spawn(3)
    clusters = make_clusters(np.random.default_rng(for_clusters), size_of(SIZE))
    transport = FaultyTransport(np.random.default_rng(for_rows))
    return clusters, (
        (index, transport.deliver(index, sample(clusters, transport.rng, index))[1])
        for index in range(clusters.size.samples)
    )


class Truth:
    """Sums of the raw rows, as plain integers in dictionaries."""

    def __init__(self) -> None:
        clusters, batches = kept_rows()
        self.clusters = clusters
        self.size: dict[Any, int] = {}  # of (cluster, broker, topic, partition, window), the last
        self.bytes: defaultdict[Any, int] = defaultdict(int)
        self.rows: defaultdict[Any, int] = defaultdict(int)
        for index, rows in batches:
            window = index * INTERVAL_S // WINDOW_S
            columns = (rows.cluster, rows.broker, rows.topic, rows.partition, rows.is_leader)
            figures = (rows.size_bytes, rows.bytes_in, rows.bytes_out)
            for c, b, t, p, leads, size, inside, out in zip(
                *(column.tolist() for column in (*columns, *figures)), strict=True
            ):
                self.size[c, b, t, p, window] = size
                self.rows[c, b, t, p, window] += 1
                kind = "in" if leads else "replication"
                for key in ((c, "t", t), (c, "b", b, window)):
                    self.bytes[*key, kind] += inside
                    self.bytes[*key, "out"] += out

    def disk(self, cluster: int, broker: int | None = None) -> Series:
        """Bytes on a broker, or on all of a cluster, at the end of each window."""
        totals: defaultdict[int, int] = defaultdict(int)
        for (c, b, _, _, window), size in self.size.items():
            if c == cluster and broker in (None, b):
                totals[window] += size
        return [(START_S + (w + 1) * WINDOW_S, float(totals[w])) for w in sorted(totals)]

    def traffic(self, cluster: int, *, outwards: bool) -> Series:
        """Bytes per second of all brokers in each window."""
        series: Series = []
        for window in range(self.clusters.size.windows):
            total = 0.0
            copies = sum(self.bytes[cluster, "b", b, window, "replication"] for b in range(6))
            led = sum(self.bytes[cluster, "b", b, window, "in"] for b in range(6))
            for broker in range(6):
                own = {
                    kind: self.bytes[cluster, "b", broker, window, kind]
                    for kind in ("in", "out", "replication")
                }
                samples = max(
                    (
                        n
                        for (c, b, _, _, w), n in self.rows.items()
                        if (c, b, w) == (cluster, broker, window)
                    ),
                    default=1,
                )
                sent = own["out"] + own["in"] * copies / led
                moved = sent if outwards else own["in"] + own["replication"]
                total += moved / (samples * INTERVAL_S)
            series.append((START_S + (window + 1) * WINDOW_S, total))
        return series


def spread(values: list[float]) -> float:
    middle = median(values)
    return 1.4826 * median(abs(value - middle) for value in values)


def line(series: Series) -> tuple[float, float]:
    """Level at the last point and slope a day: each point with the one half the series later."""
    half, end = len(series) // 2, series[-1][0]
    rises = [
        (b - a) / (u - t) * 86_400
        for (t, a), (u, b) in zip(series[: len(series) - half], series[half:], strict=True)
    ]
    slope = median(rises)
    rest = [value - slope * (t - end) / 86_400 for t, value in series]
    rest = [value - median(rest) for value in rest]
    middle = [value - median(rest) for value in rest]
    power = sum(value * value for value in middle)
    follows = sum(a * b for a, b in zip(middle[1:], middle[:-1], strict=True)) / power
    follows = min(max(follows, 0.0), 0.99)
    count = max(len(rest) * (1 - follows) / (1 + follows), 1.0)
    if abs(slope) <= 2 * 1.2533 * spread(rises) / sqrt(count):
        slope = 0.0
    return median(value - slope * (t - end) / 86_400 for t, value in series), slope


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth()


def test_capacity_equals_what_the_raw_samples_give_by_hand(
    tables: Path, truth: Truth, capsys: Captured
) -> None:
    words = ["capacity", "--tables", str(tables), "--by", str(BY.date()), "--output", "json"]
    assert run([*words, "--headroom", str(HEADROOM), "--network", str(NETWORK)]) == 0
    found = json.loads(capsys.readouterr().out)
    capacity = truth.clusters.disk_capacity
    growing = 0
    for cluster, answer in enumerate(found):
        assert answer["cluster"] == truth.clusters.cluster_names[cluster]
        for broker, one in enumerate(answer["brokers"]):
            level, slope = line(truth.disk(cluster, broker))
            assert one["used"] == pytest.approx(level, rel=1e-9)
            assert one["growth_per_day"] == pytest.approx(slope, rel=1e-9)
            if slope > 0:
                growing += 1
                wanted = (capacity - level) / slope
                assert one["full"]["expected"] == pytest.approx(wanted, rel=1e-6)
            else:
                assert one["full"]["expected"] is None
        series = [truth.disk(cluster), *(truth.traffic(cluster, outwards=o) for o in (False, True))]
        days = (BY.timestamp() - series[0][-1][0]) / 86_400
        for resource, points, each in zip(
            answer["resources"], series, (capacity, NETWORK, NETWORK), strict=True
        ):
            # 40 minutes of a rate have a level and no trend, which would be the time of day
            rates = (median(value for _, value in points), 0.0)
            level, slope = line(points) if resource["resource"] == "disk" else rates
            assert resource["now"] == pytest.approx(level, rel=1e-9)
            week_before = max(days - 7 + 1 / 24, 0)  # hours of the last week, and of the future
            peak = max(level + slope * days, level + slope * week_before, 0.0)
            assert resource["peak"]["expected"] == pytest.approx(peak, rel=1e-6)
            needed = max(ceil(peak / (each * (1 - HEADROOM))), 3)
            assert resource["brokers_needed"]["expected"] == needed
            assert resource["brokers_spare"] == 6 - needed
    assert growing >= 4


def test_the_growth_that_was_planted_is_found(tables: Path, truth: Truth, capsys: Captured) -> None:
    assert run(["capacity", "--tables", str(tables), "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    clusters = truth.clusters
    for cluster, answer in enumerate(found):
        own = clusters.growing[clusters.cluster[clusters.growing] == cluster]
        planted = 3 * int(clusters.growth[own].sum()) * 86_400 // INTERVAL_S
        disk = answer["resources"][0]["growth_per_day"]
        assert disk == pytest.approx(planted, rel=0.15)


def test_cost_equals_what_the_raw_samples_give_by_hand(
    tables: Path, truth: Truth, tmp_path: Path, capsys: Captured
) -> None:
    keys = {"stored": "stored_month"}
    rates = "\n".join(f"{keys.get(name, name)} = {price}" for name, price in RATES.items())
    (tmp_path / "rates.toml").write_text(f"[per_gb]\n{rates}\n")
    (tmp_path / "owners.toml").write_text(
        '[even]\nglobs = ["t000[024]"]\n[one]\ntopics = ["t0001"]'
    )
    files = ["--rates", str(tmp_path / "rates.toml"), "--owners", str(tmp_path / "owners.toml")]
    assert run(["cost", "--tables", str(tables), *files, "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    by_owner: defaultdict[str | None, int] = defaultdict(int)
    names = truth.clusters.cluster_names
    wanted: dict[tuple[str, str], dict[str, int]] = {}
    for cluster, name in enumerate(names):
        for topic in range(5):
            used = {kind: truth.bytes[cluster, "t", topic, kind] for kind in ("in", "out")}
            used["replication"] = truth.bytes[cluster, "t", topic, "replication"]
            used["stored"] = WINDOW_S * sum(
                size for (c, _, t, _, _), size in truth.size.items() if (c, t) == (cluster, topic)
            )
            wanted[name, f"t{topic:04d}"] = used
    for one in found["topics"]:
        used = wanted.pop((one["cluster"], one["topic"]))
        assert one["byte_seconds_stored"] == used["stored"]
        total = 0
        for kind, amount in used.items():
            unit = 10**9 * (30 * 86_400 if kind == "stored" else 1)
            micros = round(Fraction(amount) * Fraction(RATES[kind]) * 10**6 / unit)
            assert Fraction(one["cost"][kind]) == Fraction(micros, 10**6)
            total += micros
            if kind != "stored":
                assert one[f"bytes_{kind}"] == amount
        owner = {"t0001": "one", "t0003": None}.get(one["topic"], "even")
        assert one["owner"] == owner
        by_owner[owner] += total
    assert not wanted
    assert {one["owner"]: Fraction(one["cost"]["total"]) for one in found["owners"]} == {
        owner: Fraction(micros, 10**6) for owner, micros in by_owner.items()
    }
    assert [one["topic"] for one in found["unowned"]] == ["t0003", "t0003"]
