"""Detectors: what is found in a history, when, and the sentence that says so."""

from dataclasses import replace

import pytest

from kedge.watch.detectors import detect, held_since, unbroken
from kedge.watch.findings import FindingKind
from kedge.watch.samples import Sample
from tests.watch.histories import GB, POLICY, broker, minutes, sample

DOWN = broker(3, alive=False, capacity=None, round_trip_ms=None)


def kinds(history: list[Sample], **options: float) -> list[str]:
    return [each.kind.value for each in detect(history, POLICY, **options)]


def test_an_even_cluster_has_no_findings() -> None:
    assert kinds(minutes(60)) == []


def test_a_broker_that_is_down_is_found_after_the_grace_time() -> None:
    history = [*minutes(3), *(sample(m, broker(1), broker(2), DOWN) for m in range(3, 9))]
    assert kinds(history[:-1]) == []
    (found,) = detect(history, POLICY)
    assert (found.kind, found.brokers, found.since) == (FindingKind.BROKER_DOWN, (3,), 180)
    assert found.why == "Broker 3 has been down for 5 min 00 s; 10 replicas are missing"


def test_a_restart_within_the_grace_time_is_never_found() -> None:
    down = [sample(m, broker(1), broker(2), DOWN) for m in range(4)]
    history = [*down, sample(4), *(sample(m, broker(1), broker(2), DOWN) for m in range(5, 9))]
    assert kinds(history) == []


def test_time_without_samples_does_not_count() -> None:
    down = [sample(m, broker(1), broker(2), DOWN) for m in (0, 1, 60, 61)]
    assert kinds(down) == []
    assert [each.at for each in unbroken(down, 240)] == [3600, 3660]


def test_replicas_out_of_sync_on_live_brokers() -> None:
    assert kinds(minutes(5, out_of_sync=2, under_replicated=2)) == []
    (found,) = detect(minutes(6, out_of_sync=2, under_replicated=2), POLICY)
    assert found.kind is FindingKind.UNDER_REPLICATED
    assert found.remedy is None
    assert found.why.startswith("2 of 30 partitions have had replicas out of sync")


def test_a_disk_above_its_limit() -> None:
    full = broker(1, 900.0)
    found = detect(minutes(2, full, broker(2, 850.0), broker(3, 850.0)), POLICY)
    assert [(each.kind, each.brokers) for each in found] == [(FindingKind.DISK_ABOVE, (1,))]
    assert "is 90% full (900.0 GB of 1.0 TB), above the limit of 85%" in found[0].why


def test_a_disk_that_will_be_full_within_days() -> None:
    growing = [
        sample(m, broker(1, 700 + 0.1 * m), broker(2, 650), broker(3, 650)) for m in range(60)
    ]
    (found,) = detect(growing, POLICY)
    assert found.kind is FindingKind.DISK_FULL_SOON
    assert "full in 2.0 days" in found.why
    slow = [
        sample(m, broker(1, 700 + 0.001 * m), broker(2, 650), broker(3, 650)) for m in range(60)
    ]
    assert kinds(slow) == []


def test_an_empty_broker_that_has_been_up_for_long_enough() -> None:
    new = broker(4, 0.0, replicas=0, leaders=0)
    history = [*minutes(2), *(sample(m, broker(1), broker(2), broker(3), new) for m in range(2, 8))]
    assert kinds(history[:-1]) == []
    found = detect(history, POLICY)
    assert [(each.kind, each.brokers) for each in found] == [(FindingKind.EMPTY_BROKER, (4,))]


def test_imbalance_must_hold_in_every_window() -> None:
    hot = (broker(1, 200.0), broker(2, 100.0), broker(3, 100.0))
    (found,) = detect(minutes(16, *hot), POLICY)
    assert found.kind is FindingKind.IMBALANCE
    assert found.why.startswith("The disk of broker 1 is 50% above the mean (tolerance 20%")
    calm = [*minutes(5, *hot), *(sample(m) for m in range(5, 10))]
    assert kinds([*calm, *(sample(m, *hot) for m in range(10, 16))]) == []


def test_loads_from_before_the_last_run_do_not_count() -> None:
    hot = (broker(1, 200.0), broker(2, 100.0), broker(3, 100.0))
    assert kinds(minutes(16, *hot), settled_at=400.0) == []


def test_leaders_away_from_their_preferred_replicas() -> None:
    assert kinds(minutes(20, leaders_away=3)) == []
    assert kinds(minutes(6, leaders_away=4)) == ["leaders away from preferred"]


def test_rack_violations_in_two_samples() -> None:
    assert kinds(minutes(1, rack_crowded=1)) == []
    (found,) = detect(minutes(2, rack_crowded=1), POLICY)
    assert found.why.startswith("1 partition has more replicas in one rack")


def test_a_slow_broker_stands_out_of_its_past_and_its_peers() -> None:
    policy = replace(POLICY, detect=replace(POLICY.detect, slow_for_s=300))
    usual = minutes(30)
    slow = [sample(m, broker(1), broker(2), broker(3, round_trip_ms=40.0)) for m in range(30, 36)]
    (found,) = detect([*usual, *slow], policy)
    assert (found.kind, found.brokers) == (FindingKind.SLOW_BROKER, (3,))
    assert found.why.startswith("Round trip of broker 3 is 40 ms, 2 ms before, 2 ms on its peers")
    all_slow = [
        sample(m, *(broker(b, round_trip_ms=40.0) for b in (1, 2, 3))) for m in range(30, 36)
    ]
    assert detect([*usual, *all_slow], policy) == ()


@pytest.mark.parametrize(("flags", "since"), [("110", None), ("011", 60), ("111", 0), ("101", 120)])
def test_held_since(flags: str, since: float | None) -> None:
    history = [sample(m, moving=int(flag)) for m, flag in enumerate(flags)]
    assert held_since(history, lambda each: each.moving == 1) == since


def test_disks_without_known_capacity_are_compared_by_bytes() -> None:
    hot = [broker(b, disk, capacity=None) for b, disk in ((1, 200.0), (2, 100.0), (3, 100.0))]
    assert kinds(minutes(16, *hot)) == ["imbalance"]
    assert hot[0].disk == 200 * GB
