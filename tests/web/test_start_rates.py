"""The rate that a run of the server begins with, where its throttle adapts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from kedge.apply import Runs, preview
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment
from kedge.web.jobs.run_options import at_start_rate, options_of

B1, B2, B3 = map(BrokerId, (1, 2, 3))
MOVED = [TopicPartition("t", number) for number in range(12)]


@pytest.mark.parametrize(("throttle", "least"), [("auto:5MB-1GB", 10e6), ("auto:5MB-6MB", 5e6)])
def test_a_run_begins_with_a_rate_at_which_its_moves_end_if_its_range_has_one(
    tmp_path: Path, throttle: str, least: float
) -> None:
    cluster = MemoryCluster(3)
    cluster.create_topics([TopicCreation("t", assignment=dict.fromkeys(range(12), (B1, B2)))])
    now = take_snapshot(cluster, taken_at=datetime(2026, 11, 18, tzinfo=UTC))
    loaded = replace(now, bytes_in=np.full(12, 1e6), bytes_out=np.zeros(12))
    loaded = replace(loaded, size=np.full(12, 10**9))
    plan = Plan(
        tuple(Reassignment.anywhere(tp, (B3, B2)) for tp in MOVED),
        dict.fromkeys(MOVED, (B1, B2)),
        cluster_id="memory",
    )
    runs = Runs(tmp_path, "memory")
    judged = preview(cluster, plan, options_of({"throttle": throttle}, {}))
    rate = at_start_rate(judged, loaded, runs, str(tmp_path)).options.limits.rate
    assert rate is not None
    assert least <= rate < 2 * least
