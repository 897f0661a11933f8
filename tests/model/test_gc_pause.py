"""The cyclic collector is off in the block and afterwards as it was before."""

from __future__ import annotations

import gc

import pytest

from kedge.model.gc_pause import gc_paused


def test_the_collector_is_off_in_the_block_and_on_after_an_exception() -> None:
    assert gc.isenabled()
    seen: list[bool] = []

    def fail() -> None:
        with gc_paused():
            seen.append(gc.isenabled())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == [False]
    assert gc.isenabled()


def test_a_nested_pause_does_not_end_the_outer_one() -> None:
    with gc_paused():
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
