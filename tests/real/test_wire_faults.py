"""Brokers that die without a word, under a producer that wants every record kept.

Each broker is a JVM of its own here, so that it can be killed as a machine is.
`python -m tests.real.kill_rounds` kills brokers in twenty rounds, and takes the time. How moves
survive controllers that die is in `test_wire_phases`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.kedge_cluster import kedge_cluster
from tests.real.kill_rounds import kill_rounds

pytestmark = pytest.mark.real


def test_no_acknowledged_record_is_lost_or_doubled_when_a_broker_is_killed(tmp_path: Path) -> None:
    with kedge_cluster(tmp_path, apart=True, with_tools=False) as cluster:
        outcome = kill_rounds(cluster, 1)
    assert outcome.is_clean, outcome
    assert outcome.acked > 500
    assert max(outcome.elected_ms) < 5_000  # measured by the command, not beside other tests
