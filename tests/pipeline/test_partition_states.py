"""Leaders, replicas and ISR over time, of several runs."""

from __future__ import annotations

import pytest

from kedge.metrics.parsing.cluster_metadata import LeaderHistory, MetadataChange, PartitionState
from kedge.pipeline.partition_states import Row, history_rows, merged_rows, states_of

STATES = {
    "one": PartitionState(1, (1, 2), (1, 2)),
    "two": PartitionState(2, (1, 2), (1, 2)),
    "shrunk": PartitionState(1, (1, 2), (1,)),
}


def rows(*states: tuple[int, str], observed: bool = True) -> list[Row]:
    """The states of two partitions of a topic, one run each; the second never changes."""
    merged: list[Row] = []
    for at, name in states:
        topics = {"t": {0: STATES[name], 1: STATES["one"]}}
        history: LeaderHistory = (MetadataChange(at, topics, observed=observed),)
        merged = merged_rows(merged, history_rows("lab", history))
    return merged


@pytest.mark.parametrize("observed", [True, False])
def test_a_run_that_finds_nothing_changed_adds_no_row(observed: bool) -> None:
    found = rows((1, "one"), (2, "one"), (3, "two"), (4, "two"), (5, "one"), observed=observed)
    kept = [(row["partition"], row["since_ms"], row["leader"]) for row in found]
    assert kept == [(0, 1, 1), (0, 3, 2), (0, 5, 1), (1, 1, 1)]


def test_a_changed_isr_is_a_change() -> None:
    found = rows((1, "one"), (2, "shrunk"))
    assert [(row["partition"], row["since_ms"]) for row in found] == [(0, 1), (0, 2), (1, 1)]


def test_the_first_change_of_a_history_is_kept_after_an_equal_observation() -> None:
    """From it on the history holds."""
    found = merged_rows(rows((1, "one")), rows((2, "one"), observed=False))
    states = states_of(found, "lab")["t"]
    assert [(s.partition, s.since_ms, s.observed) for s in states] == [
        *((0, 1, True), (0, 2, False), (1, 1, True), (1, 2, False)),
    ]


def test_rows_that_were_stored_before_observations_were_told_apart_are_changes() -> None:
    stored = [
        {name: value for name, value in row.items() if name != "observed"}
        for row in rows((1, "one"))
    ]
    (first, _) = states_of(merged_rows(stored, []), "lab")["t"]
    assert not first.observed
