"""Log directories: which one a new replica gets, and how they are even_out out."""

from __future__ import annotations

import numpy as np

from kedge.balance.output.log_dirs import choose_log_dirs, even_out, log_dirs_of
from kedge.model import Capacity, LogDir
from tests.balance.snapshots import GB, broker, cluster

DIRS = (LogDir("/d/0", 100.0 * GB), LogDir("/d/1", 50.0 * GB))


def one_of_each() -> object:
    brokers = [
        broker(0),
        broker(1, log_dirs=DIRS),
        broker(2, log_dirs=(LogDir("/d/0"),), capacity=Capacity(disk=80.0 * GB)),
        broker(3, capacity=Capacity()),
    ]
    return cluster(
        brokers,
        {"t": [([0, 1], 10), ([1, 2], 20)]},
        log_dir=np.array([[-1, 1], [0, 0]], np.int32),
        log_dir_paths=("/d/0", "/d/1"),
    )


def test_every_directory_is_a_place_with_its_own_limit() -> None:
    dirs = log_dirs_of(one_of_each(), 0.5)  # pyright: ignore[reportArgumentType]
    assert dirs.path == (None, "/d/0", "/d/1", None, "/d/0", None, None)
    assert (dirs.limit / GB).tolist() == [500, 50, 25, np.inf, 40, np.inf, np.inf]
    assert list(dirs.named(1)) == [1, 2]
    assert list(dirs.named(0)) == []


def test_replicas_lie_where_the_snapshot_says() -> None:
    snapshot = one_of_each()
    dirs = log_dirs_of(snapshot, None)  # pyright: ignore[reportArgumentType]
    home = np.array([[0, 1, -1], [1, 2, -1]], np.int32)
    found = dirs.of_replicas(snapshot, home)  # pyright: ignore[reportArgumentType]
    assert found.tolist() == [[0, 2, -1], [1, 4, -1]]


def test_the_largest_replica_goes_first_and_to_the_directory_that_is_least_full_then() -> None:
    dirs = log_dirs_of(one_of_each(), 1.0)  # pyright: ignore[reportArgumentType]
    used = np.zeros(7)
    target = np.array([[1, -1], [1, -1], [0, 1]], np.int32)
    size = np.array([20.0, 60.0, 10.0]) * GB
    chosen = choose_log_dirs(dirs, used, target, size)
    # 60 only fits the larger one; 20 fills the smaller to 40 %; 10 then goes there as well (60 %)
    assert chosen.tolist() == [[2, -1], [1, -1], [0, 2]]
    assert (used / GB).tolist() == [0, 60, 30, 0, 0, 0, 0]


def test_a_directory_that_would_overflow_is_the_last_choice() -> None:
    dirs = log_dirs_of(one_of_each(), 1.0)  # pyright: ignore[reportArgumentType]
    used = np.array([0, 90.0, 5.0, 0, 0, 0, 0]) * GB
    target = np.array([[1]], np.int32)
    assert choose_log_dirs(dirs, used, target, np.array([30.0 * GB])).tolist() == [[2]]


def test_directories_of_one_broker_are_evened_without_overshooting() -> None:
    dirs = log_dirs_of(one_of_each(), 1.0)  # pyright: ignore[reportArgumentType]
    size = np.array([10.0, 10.0, 10.0, 9.0, 40.0]) * GB
    dir_of = np.array([[1], [1], [1], [1], [1]], np.int32)
    used = np.zeros(7)
    used[1] = size.sum()
    shifts = even_out(dirs, used, dir_of, size, tolerance=0.05)
    assert all(moved.log_dir == 2 for moved in shifts)
    assert 0.45 <= used[1] / (100 * GB) <= 0.55
    assert used[1] + used[2] == size.sum()
