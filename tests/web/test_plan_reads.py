"""Reads of what never changes: made once, two at a time, and only so many are kept."""

from __future__ import annotations

import asyncio
from threading import Semaphore

import pytest

from kedge.errors import UnknownResource
from kedge.web.plan_reads import AT_ONCE, KeptReads


def test_what_was_read_is_not_read_again_while_it_is_kept() -> None:
    made: list[str] = []

    async def scenario() -> None:
        reads = KeptReads[str](2)
        for key in ("a", "b", "a", "c", "a", "b"):  # "c" takes the place of "b"
            assert await reads.read(key, lambda key=key: made.append(key) or key) == key

    asyncio.run(scenario())
    assert made == ["a", "b", "c", "b"]


def test_two_reads_are_under_way_at_a_time_and_what_all_want_is_not_read_by_all() -> None:
    free, made = Semaphore(AT_ONCE), list[int]()

    def read() -> int:
        assert free.acquire(blocking=False), "more reads at a time"
        made.append(1)
        free.release()
        return len(made)

    async def scenario() -> None:
        reads = KeptReads[int](100)
        await asyncio.gather(*(reads.read(number, read) for number in range(20)))
        assert len(made) == 20
        await asyncio.gather(*(reads.read("one", read) for _ in range(20)))

    asyncio.run(scenario())
    assert len(made) <= 20 + AT_ONCE


def test_a_failure_is_not_kept() -> None:
    def unknown() -> int:
        raise UnknownResource("no plan")

    async def scenario() -> int:
        reads = KeptReads[int](1)
        with pytest.raises(UnknownResource):
            await reads.read("plan", unknown)
        return await reads.read("plan", lambda: 1)

    assert asyncio.run(scenario()) == 1
