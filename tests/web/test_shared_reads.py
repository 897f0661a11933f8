"""Reads that many wait for: shared with those who asked before it began, and with no one else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence

import pytest

from kedge.errors import ClusterUnavailable
from kedge.web.shared_reads import KEPT, SharedReads


class Source:
    """Counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self) -> int:
        self.reads += 1
        return self.reads

    def unavailable(self) -> int:
        self.reads += 1
        raise ClusterUnavailable("down")


def _read(
    shared: SharedReads[int], reads: Sequence[tuple[Hashable, Callable[[], int]]]
) -> list[int]:
    """The values of reads, one after the other."""

    async def scenario() -> list[int]:
        return [await shared.read(key, read) for key, read in reads]

    return asyncio.run(scenario())


def test_those_who_asked_before_a_read_began_share_it() -> None:
    ticks = iter([5.0, 6.0, 5.5, 5.9])  # two more ask before the first read begins
    shared, source = SharedReads[int](lambda: next(ticks)), Source()
    assert _read(shared, 3 * [("run", source)]) == [1, 1, 1]


def test_what_was_read_before_a_question_does_not_answer_it() -> None:
    shared, source = SharedReads[int](), Source()
    assert _read(shared, 3 * [("run", source)]) == [1, 2, 3]


def test_of_many_keys_the_oldest_are_forgotten() -> None:
    shared, source = SharedReads[int](), Source()
    _read(shared, [(key, source) for key in range(3 * KEPT)])
    assert shared.kept == KEPT


def test_a_failure_is_shared_as_a_value_is() -> None:
    ticks = iter([5.0, 6.0, 5.5])  # the second asks before the first read begins
    shared, source = SharedReads[int](lambda: next(ticks)), Source()
    for _ in range(2):
        with pytest.raises(ClusterUnavailable):
            _read(shared, [("run", source.unavailable)])
    assert source.reads == 1
