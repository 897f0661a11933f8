"""Two rounds of kills with a fixed seed; `python -m tests.real.apply_kills` plays many."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.apply_kills import play, workload
from tests.real.four_brokers import FourBrokers

pytestmark = pytest.mark.real

SEED = "17"


def test_killed_runs_end_exactly_with_no_throttle_left_and_no_record_lost(
    four: FourBrokers, tmp_path: Path
) -> None:
    with workload(four, tmp_path, SEED) as load:
        for number in (1, 2):
            play(four, tmp_path, SEED, number)
        written = load.finish()
    assert written.is_clean, written
