"""The quota on changes of topics: a bucket per client, refusals for those who understand them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.endpoint import QuotaSettings
from kedge.endpoint.limits import CLIENTS_MAX, MutationQuota
from kedge.errors import QuotaExceeded
from kedge.model.error_codes import ErrorCode
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import endpoint_cluster
from tests.endpoint.requests import counted, create_all, delete, expand


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def quota_of(rate: float | None, clock: Clock) -> MutationQuota:
    return MutationQuota(QuotaSettings(rate), clock)


def test_the_worked_example() -> None:
    clock = Clock()
    quota = quota_of(5, clock)
    quota.charge_for("me", strict=True)(60)
    refused = quota.charge_for("me", strict=True)
    with pytest.raises(QuotaExceeded, match="1000 ms"):
        refused(1)
    assert refused.throttle_ms == 1000
    clock.now_s = 1.0
    quota.charge_for("me", strict=True)(1)
    with pytest.raises(QuotaExceeded, match="200 ms"):
        quota.charge_for("me", strict=True)(1)


def test_an_older_client_is_served_and_slowed_down() -> None:
    quota = quota_of(5, Clock())
    charge = quota.charge_for("me", strict=False)
    charge(60)
    charge(5)
    assert charge.throttle_ms == 2000


def test_every_client_has_a_bucket_of_its_own() -> None:
    quota = quota_of(1, Clock())
    quota.charge_for("one", strict=True)(100)
    quota.charge_for("two", strict=True)(1)
    with pytest.raises(QuotaExceeded):
        quota.charge_for("one", strict=True)(1)


def test_without_a_rate_no_client_waits() -> None:
    charge = quota_of(None, Clock()).charge_for(None, strict=True)
    for _ in range(10):
        charge(10_000)
    assert charge.throttle_ms == 0


def test_only_so_many_clients_are_remembered() -> None:
    quota = quota_of(1, Clock())
    for number in range(CLIENTS_MAX + 50):
        quota.charge_for(f"client-{number}", strict=True)(1)
    assert len(quota._buckets) == CLIENTS_MAX


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(0, 40)), max_size=40))
def test_no_client_gets_more_than_the_rate_and_one_bucket_and_one_request(
    steps: list[tuple[float, int]],
) -> None:
    clock = Clock()
    quota = quota_of(3, clock)
    taken = 0
    for pause_s, permits in steps:
        clock.now_s += pause_s
        try:
            quota.charge_for("me", strict=True)(permits)
        except QuotaExceeded:
            continue
        taken += permits
    assert taken <= 3 * clock.now_s + 33 + 40 + 1e-6


# ---- on the wire ---------------------------------------------------------------------------------


def test_a_newer_client_is_refused_with_the_time_to_wait() -> None:
    with (
        endpoint_cluster(quota=QuotaSettings(1.0, samples=2)) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert [t.error_code for t in create_all(client, counted("t", 5, 1)).topics] == [0]
        answer = create_all(client, counted("u", 1, 1), counted("n o", 1, 1))
        exceeded = ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert [t.error_code for t in answer.topics] == [exceeded, 17]
        assert 2000 <= answer.throttle_time_ms <= 3000
        assert cluster.children("/brokers/topics") == ("t",)
    with (
        endpoint_cluster(quota=QuotaSettings(1.0, samples=2)) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
        Client(cluster.ports[cluster.controller]) as second,
        Client(cluster.ports[cluster.controller], name="other") as third,
    ):
        assert create_all(client, counted("t", 5, 1)).topics[0].error_code == 0
        assert expand(client, ("t", 6, None)) == {"t": exceeded}
        assert delete(second, "t") == [exceeded]
        assert create_all(third, counted("v", 1, 1)).topics[0].error_code == 0


def test_validating_costs_nothing() -> None:
    with (
        endpoint_cluster(quota=QuotaSettings(1.0, samples=1)) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        for _ in range(5):
            answer = create_all(client, counted("t", 100, 1), validate_only=True)
            assert (answer.topics[0].error_code, answer.throttle_time_ms) == (0, 0)


def test_an_older_client_is_not_read_from_until_it_has_waited() -> None:
    with (
        endpoint_cluster(quota=QuotaSettings(20.0, samples=1)) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        answer = create_all(client, counted("t", 24, 1), version=5)
        assert answer.topics[0].error_code == 0
        assert 100 < answer.throttle_time_ms <= 200
        began = time.monotonic()
        create_all(client, counted("u", 1, 1), validate_only=True, version=5)
        assert time.monotonic() - began > 0.09
