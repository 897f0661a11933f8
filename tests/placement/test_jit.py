"""When a kernel is worth compiling."""

from __future__ import annotations

from kedge.jit import WORTH_CALLING, Kernel


def double(number: int) -> int:
    return 2 * number


def test_a_small_call_is_left_to_the_interpreter() -> None:
    made = Kernel(double)
    assert made.for_size(10_000, worth_compiling=10_001) is double


def test_a_large_call_is_compiled() -> None:
    made = Kernel(double)
    form = made.for_size(10_000, worth_compiling=10_000)
    assert form is made.compiled
    assert form(21) == 42


def test_calls_add_up_until_compiling_would_have_paid() -> None:
    made = Kernel(double)
    forms = [made.for_size(4_000, worth_compiling=10_000) for _ in range(4)]
    assert forms == [double, double, made.compiled, made.compiled]


def test_a_tiny_call_is_interpreted_even_when_the_compiled_form_is_there() -> None:
    made = Kernel(double)
    _ = made.compiled
    assert made.for_size(WORTH_CALLING - 1) is double
    assert made.for_size(WORTH_CALLING) is made.compiled
