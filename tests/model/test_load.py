from __future__ import annotations

import numpy as np
import orjson
from hypothesis import given

from kedge.model import CpuModel, Snapshot, broker_loads, parse_snapshot, replica_loads
from tests.model.examples import example
from tests.model.strategies import snapshots, untimed

Load = tuple[float, float, float, float]


def load_of_replica(snapshot: Snapshot, row: int, broker: int) -> Load:
    """One replica's load, as the table in the module says it."""
    replicas = snapshot.assignment.replicas_of(row)
    cpu = snapshot.cpu_model or CpuModel(0, 0, 0)
    size = max(float(snapshot.size[row]), 0.0)
    taken = 0.0 if np.isnan(snapshot.bytes_in[row]) else float(snapshot.bytes_in[row])
    consumed = 0.0 if np.isnan(snapshot.bytes_out[row]) else float(snapshot.bytes_out[row])
    told = int(snapshot.leader[row])
    if broker != (told if told >= 0 else replicas[0]):
        return size, taken, 0.0, cpu.follower_in * taken
    sent = consumed + (len(replicas) - 1) * taken
    return size, taken, sent, cpu.leader_in * taken + cpu.leader_out * sent


@untimed
@given(snapshots())
def test_loads_are_those_of_the_plain_rule(snapshot: Snapshot) -> None:
    loads = replica_loads(snapshot)
    sums = {broker.id: np.zeros(4) for broker in snapshot.brokers}
    for row in range(len(snapshot)):
        replicas = snapshot.assignment.replicas_of(row)
        for column, broker in enumerate(replicas):
            expected = load_of_replica(snapshot, row, broker)
            np.testing.assert_allclose(loads[row, column], expected)
            sums[broker] += expected
        assert not loads[row, len(replicas) :].any()
    expected_sums = [sums[broker.id] for broker in snapshot.brokers]
    np.testing.assert_allclose(broker_loads(snapshot), np.array(expected_sums).reshape(-1, 4))


def test_a_leader_feeds_its_followers() -> None:
    snapshot = parse_snapshot(orjson.dumps(example()))
    row = 1  # orders-0 on [1, 2, 3], led by 1: in 1000, out 2500
    leader, follower = replica_loads(snapshot)[row][:2]
    np.testing.assert_allclose(leader, [1234567, 1000, 4500, 6e-7 * 1000 + 3e-7 * 4500])
    np.testing.assert_allclose(follower, [1234567, 1000, 0, 2e-7 * 1000])
