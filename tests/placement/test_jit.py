"""When a kernel is worth compiling."""

from __future__ import annotations

import sys

from kedge.jit import WORTH_CALLING, WORTH_COMPILING, WORTH_LOADING, Kernel


def double(number: int) -> int:
    return 2 * number


def worth_elements() -> int:
    """How many elements pay for the compiled form: fewer in a process that has numba already."""
    return WORTH_LOADING if "numba" in sys.modules else WORTH_COMPILING


def test_a_small_call_is_left_to_the_interpreter() -> None:
    made = Kernel(double)
    assert made.for_size(worth_elements() - 1) is double


def test_a_large_call_is_compiled() -> None:
    made = Kernel(double)
    form = made.for_size(worth_elements())
    assert form is made.compiled
    assert form(21) == 42


def test_calls_add_up_until_compiling_would_have_paid() -> None:
    made = Kernel(double)
    size = worth_elements() // 2 - 1
    forms = [made.for_size(size) for _ in range(2)]
    form = made.for_size(max(size, WORTH_CALLING))
    assert [*forms, form] == [double, double, made.compiled]


def test_a_tiny_call_is_interpreted_even_when_the_compiled_form_is_there() -> None:
    made = Kernel(double)
    _ = made.compiled
    assert made.for_size(WORTH_CALLING - 1) is double
    assert made.for_size(WORTH_CALLING) is made.compiled
