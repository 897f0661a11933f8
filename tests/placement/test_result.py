"""A placement read as plain values, counted and digested."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from kedge.model import Broker, BrokerId
from kedge.placement import Placement, fixed, parse_manual, place
from kedge.placement.result import _DIGEST_STEP


def digest_by_json(placement: Placement) -> str:
    rows = [[p, list(r)] for p, r in placement.as_mapping().items()]
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()


@pytest.mark.parametrize("count", [1, _DIGEST_STEP, _DIGEST_STEP + 1, 2 * _DIGEST_STEP])
def test_the_digest_is_that_of_the_compact_text(count: int) -> None:
    cluster = [Broker(BrokerId(i * i)) for i in range(7)]
    made = place(
        cluster, partitions=count, replication_factor=3, start=fixed(5), first_partition=99
    )
    assert made.digest() == digest_by_json(made)


def test_a_placement_of_nothing_has_a_digest_too() -> None:
    assert parse_manual(",").digest() == hashlib.sha256(b"[]").hexdigest()


def test_counts_name_the_brokers_that_hold_something() -> None:
    made = Placement.from_lists({4: (BrokerId(9), BrokerId(1)), 2: (BrokerId(9), BrokerId(3))})
    assert list(made.as_mapping()) == [2, 4]
    assert len(made) == made.replication_factor == 2
    assert made.leaders_per_broker() == {9: 2}
    assert made.replicas_per_broker() == {1: 1, 3: 1, 9: 2}


def test_a_placement_cannot_be_written_to() -> None:
    made = parse_manual("0:1")
    with pytest.raises(ValueError, match="read-only"):
        made.replicas[0, 0] = np.int32(7)
