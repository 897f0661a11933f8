"""No frame harms the endpoint; `python -m tests.fuzz.frames` tries more of them."""

from __future__ import annotations

from tests.fuzz.frames import frame_fuzzer

SEEDS = range(15)


def test_damaged_frames_leave_no_traceback_no_hang_and_no_memory_behind() -> None:
    with frame_fuzzer() as fuzzer:
        for seed in SEEDS:
            fuzzer.fuzz(seed)
