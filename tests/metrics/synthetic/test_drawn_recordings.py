"""Attribution on drawn recordings stays within the limits that hold on real ones.

`python -m tests.metrics.synthetic.judged --seeds 50` judges freshly drawn ones.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.metrics.synthetic.judged import judge, write_recording


@pytest.mark.parametrize("seed", [810780, 810782, 810789])
def test_errors_are_within_the_limits(seed: int, tmp_path: Path) -> None:
    """Seeds of brokers that are sampled far apart, and of logs that are deleted all the time."""
    found = list(judge(write_recording(seed, tmp_path / "recording")))
    assert {one.source for one in found} == {"prometheus", "scrape", "cruise-control", "admin"}
    over = [(one.source, one.way, one.window, str(one.errors)) for one in found if not one.fine]
    assert not over
