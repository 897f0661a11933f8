"""Amounts, durations, sparklines and the state of a lab, as text."""

from __future__ import annotations

import pytest

from kedge.report.amounts import bytes_text, duration_text
from kedge.report.lab import live_line, status_lines


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_550_000, "1.6 MB"),
        (2e12, "2.0 TB"),
        (3e15, "3.0 PB"),
        (5e18, "5000.0 PB"),
    ],
)
def test_bytes_are_in_powers_of_a_thousand(amount: float, text: str) -> None:
    assert bytes_text(amount) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.6, "1 min 00 s"),
        (61, "1 min 01 s"),
        (3_599, "59 min 59 s"),
        (3_600, "1 h 00 min"),
        (90_000, "1 d 01 h"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def lab_status() -> dict[str, object]:
    broker = {
        "id": 1,
        "rack": "r0",
        "up": True,
        "port": 40001,
        "replicas": 12,
        "leaders": 4,
        "size_bytes": 1_500_000,
        "failed_log_dirs": [],
    }
    down = broker | {"id": 10, "up": False, "failed_log_dirs": ["/d/1"]}
    return {
        "lab_time": "2026-11-16T01:30:00.000Z",
        "speed": "60",
        "traffic": "skewed",
        "controller": 1,
        "controller_epoch": 2,
        "topics": 1,
        "partitions": 12,
        "under_replicated": 3,
        "offline": 0,
        "bootstrap_servers": "127.0.0.1:40001",
        "brokers": [broker, down],
        "moves": [],
        "log_dir_moves": [],
        "cut_off": [10],
        "slow_disks": {},
    }


def test_a_lab_is_one_line_while_it_runs() -> None:
    assert live_line(lab_status()) == (
        "2026-11-16T01:30:00  1/2 brokers  controller 1  "
        "12 partitions, 3 under-replicated, 0 moving"
    )


def test_the_brokers_of_a_lab_are_a_table() -> None:
    lines = status_lines(lab_status())
    at = lines.index("broker  rack  state   port  replicas  leaders    size")
    assert lines[at + 1 : at + 3] == [
        "     1  r0    up     40001        12        4  1.5 MB",
        "    10  r0    down   40001        12        4  1.5 MB",
    ]
    assert "cut off: brokers 10" in lines
    assert "broker 10 has lost /d/1" in lines
