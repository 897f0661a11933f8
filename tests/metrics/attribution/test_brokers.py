"""Traffic of whole brokers, and the model of their cpu."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kedge.metrics.attribution.brokers import BROKER_COLUMNS, broker_traffic
from kedge.metrics.attribution.cpu import fit_cpu, non_negative_least_squares
from kedge.metrics.measurement import Series
from tests.metrics.attribution.tables import MINUTE, line, series, table, up


def test_replication_is_kept_apart_from_clients() -> None:
    rows = [*up([1] * 9), *up([1] * 9, broker=2)]
    for name, slope in (
        (Series.BYTES_IN, 100),
        (Series.REPLICATION_IN, 70),
        (Series.REASSIGNMENT_IN, 7),
        (Series.CPU_SECONDS, 1.5),
    ):
        rows += series(name, line(5, slope, 9), topic="")
    rows += series(Series.REPLICATION_IN, line(0, 30, 9), topic="", broker=2)
    rows += series(Series.BYTES_IN, line(0, 1, 9))  # of a topic
    found = broker_traffic(table(rows)).to_pylist()
    assert [row["broker"] for row in found] == [1, 1, 2, 2]
    assert found[0]["bytes_in"] == pytest.approx(400)
    assert [row["replication_in"] for row in found] == pytest.approx([280, 280, 120, 120])
    assert found[0]["reassignment_in"] == pytest.approx(28)
    assert found[0]["cpu_seconds"] == pytest.approx(6)
    assert found[2]["bytes_in"] is None
    assert found[0]["replication_out"] is None


def test_the_first_rate_tells_of_the_interval_before_it() -> None:
    """It is not counted together with the interval after it."""
    rows = series(Series.BYTES_IN_RATE, [100.0] * 9, topic="", step=MINUTE)
    found = broker_traffic(table(rows)).to_pylist()
    rates = [1000 * row["bytes_in"] / row["covered_ms"] for row in found]
    assert rates == pytest.approx([100.0] * len(found), rel=1e-6)


def test_no_measurements_of_brokers() -> None:
    assert broker_traffic(table(series(Series.BYTES_IN, [1, 2]))).num_rows == 0


def traffic(columns: dict[str, np.ndarray]) -> pa.Table:
    count = len(next(iter(columns.values())))
    every = {name: [None] * count for name in BROKER_COLUMNS.names}
    whole = {
        "broker": [1] * count,
        "start_ms": [at * MINUTE for at in range(count)],
        "end_ms": [(at + 1) * MINUTE for at in range(count)],
        "covered_ms": [float(MINUTE)] * count,
    }
    return pa.table({**every, **whole, **columns}, schema=BROKER_COLUMNS)


def test_costs_are_found_again() -> None:
    draw = np.random.default_rng(7)
    bytes_in, bytes_out, replicated = draw.uniform(0, 1e9, (3, 200))
    cpu = 0.05 + (4e-9 * bytes_in + 1e-9 * bytes_out + 2e-9 * replicated) / 60
    found = fit_cpu(
        traffic(
            {"bytes_in": bytes_in, "bytes_out": bytes_out, "replication_in": replicated, "cpu": cpu}
        )
    )
    assert found is not None
    assert found.constant == pytest.approx(0.05, rel=1e-3)
    assert found.per_byte_in == pytest.approx(4e-9, rel=1e-3)
    assert found.per_byte_out == pytest.approx(1e-9, rel=1e-3)
    assert found.per_byte_replication_in == pytest.approx(2e-9, rel=1e-3)
    assert found.per_byte_replication_out == 0
    assert found.r_squared == pytest.approx(1)
    assert found.good
    assert found.predict(1e6, 0, 0, 0) == pytest.approx(0.05 + 4e-3, rel=1e-3)


def test_noise_is_no_good_fit() -> None:
    draw = np.random.default_rng(7)
    found = fit_cpu(
        traffic({"bytes_in": draw.uniform(0, 1e9, 200), "cpu": draw.uniform(0, 1, 200)})
    )
    assert found is not None
    assert not found.good


def test_too_few_intervals_give_no_model() -> None:
    assert fit_cpu(traffic({"bytes_in": np.ones(5), "cpu": np.ones(5)})) is None
    assert fit_cpu(traffic({"bytes_in": np.arange(50.0)})) is None


@given(
    arrays(np.float64, (12, 3), elements=st.floats(0, 100, width=16)),
    arrays(np.float64, 12, elements=st.floats(-100, 100, width=16)),
)
def test_no_step_in_any_direction_fits_better(features: np.ndarray, target: np.ndarray) -> None:
    found = non_negative_least_squares(features, target)
    assert (found >= 0).all()

    def error(at: np.ndarray) -> float:
        return float(((target - features @ at) ** 2).sum())

    least = error(found)
    for direction in np.vstack([np.eye(3), -np.eye(3)]):
        other = np.maximum(found + 1e-3 * direction, 0)
        assert least <= error(other) + 1e-6 * (1 + least)
