"""A few fixed seeds of every fuzzer, and that the driver sees a fault when there is one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kedge.errors import InvalidRequest
from tests.fuzz.__main__ import fuzzers
from tests.fuzz.driver import attempt, only_refusals

SEEDS = 25


@pytest.mark.parametrize("name", fuzzers())
def test_hostile_input_is_refused_and_nothing_else(name: str) -> None:
    command = [sys.executable, "-m", f"tests.fuzz.{name}", "--seeds", str(SEEDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.endswith(f"{SEEDS} seeds, 0 faults\n"), done.stdout + done.stderr
    assert done.returncode == 0


FAULTY = """
from tests.fuzz.driver import main
def fuzz(seed):
    if seed == 2: {fault}
raise SystemExit(main(fuzz, ["--seeds", "3"]))
"""


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("[][1]", "IndexError"),
        ("bytes(1 << 31)", "MemoryError"),
        ("exec('while True: pass')", "not done after 5 s of work"),
    ],
)
def test_a_fault_is_told_with_its_seed(fault: str, told: str) -> None:
    command = [sys.executable, "-c", FAULTY.format(fault=fault)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("seed 2: Traceback")
    assert told in done.stdout
    assert done.stdout.endswith("3 seeds, 1 faults\n")


def test_a_refusal_is_no_fault_unless_it_is_no_sentence() -> None:
    def fuzz(seed: int) -> None:
        with only_refusals():
            raise InvalidRequest("no" * seed)

    assert attempt(fuzz, 1) is None
    assert "says nothing" in (attempt(fuzz, 0) or "")
