"""The main way through the pages, on real brokers."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from jvm import KAFKA_4_1
from tests.real import clusters
from tests.real.operator import Operator
from tests.web.browser import launched, visiting
from tests.web.served import serving, settings_for
from tests.web.walk import (
    apply_the_plan,
    create_and_expand_a_topic,
    look_at_the_cluster,
    make_a_plan,
    roll_the_run_back,
    steer_and_cancel_the_run,
    verify_and_predict,
)

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(600)]

TOPIC, CREATED = "walked", "walked-invoices"
PARTITIONS, BYTES = 6, 40_000_000
SLOWEST, FASTEST = 0, 100  # places of the throttle's slider: 1 MB/s, 2 GB/s


@pytest.fixture
def operator(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Operator]:
    operator = Operator(clusters.four(request.config, KAFKA_4_1), tmp_path)
    yield operator
    operator.close()


def test_from_a_new_topic_to_a_run_that_is_rolled_back(operator: Operator, tmp_path: Path) -> None:
    operator.create(TOPIC, {number: (1, 2) for number in range(PARTITIONS)})
    try:
        operator.fill(TOPIC, range(PARTITIONS), BYTES)
        settings = settings_for(operator.cluster.bootstrap, tmp_path)
        with (
            serving(settings) as site,
            launched() as browser,
            visiting(browser, "desktop") as visitor,
        ):
            visitor.open(site.url, site.token)
            look_at_the_cluster(visitor, 4, "kafka")
            create_and_expand_a_topic(visitor, CREATED, "kafka")
            make_a_plan(visitor)
            verify_and_predict(visitor, SLOWEST, "kafka")
            apply_the_plan(visitor)
            steer_and_cancel_the_run(visitor, 10, "kafka")
            make_a_plan(visitor)
            apply_the_plan(visitor, FASTEST)
            roll_the_run_back(visitor)
            assert visitor.complaints == []
        operator.assert_no_throttles()
    finally:
        operator.delete(CREATED)
        operator.delete(TOPIC)
