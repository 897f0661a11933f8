"""Runs on real brokers while something goes wrong; `python -m tests.real.run_faults` is the same
as a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from jvm import KAFKA_3_9, KAFKA_4_1
from tests.real import clusters
from tests.real.faults import (
    disk_full,
    right_to_move_lost,
    topic_deleted,
)
from tests.real.run_faults import FAULTS, Fault, play

pytestmark = pytest.mark.real

QUICK = (topic_deleted, right_to_move_lost)


def name_of(fault: Fault) -> str:
    return fault.__name__


@pytest.mark.parametrize("fault", QUICK, ids=name_of)
def test_what_goes_wrong_is_set_aside_and_the_rest_goes_on(
    pytestconfig: pytest.Config, tmp_path: Path, fault: Fault
) -> None:
    four = clusters.four(pytestconfig, KAFKA_4_1)
    security = clusters.security_of_four(pytestconfig)
    play(four, tmp_path / "trial", fault, security)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
@pytest.mark.parametrize("release", [KAFKA_4_1, KAFKA_3_9])
def test_with_every_broker_in_a_process_of_its_own(
    pytestconfig: pytest.Config, tmp_path: Path, release: str, fault: Fault
) -> None:
    apart = clusters.apart(pytestconfig, release)
    if fault is disk_full and apart.small_disk is None:
        pytest.skip("nothing can be mounted here")
    play(apart, tmp_path / "trial", fault, apart.security)
