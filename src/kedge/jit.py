"""The one place where numba is met.

A kernel is a plain function on arrays and numbers. `kernel` wraps it so that small inputs run as
ordinary Python (no import of numba, no compilation, start-up stays short) and large ones run
compiled; both run the same source. Compiled code is cached on disk beside the module.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

# below so many elements, preparing arrays for compiled code costs more than it saves
WORTH_CALLING = 1_000

FLAGS: dict[str, Any] = {"cache": True, "nogil": True, "boundscheck": False}


class Kernel(Generic[P, T]):
    """A function with a compiled twin that is made when it is first wanted."""

    def __init__(self, plain: Callable[P, T]) -> None:
        self.plain = plain
        self._compiled: Callable[P, T] | None = None
        self._asked = 0

    @property
    def compiled(self) -> Callable[P, T]:
        """The machine-code form, compiled (or loaded from the cache) at the first use."""
        if self._compiled is None:
            import numba

            self._compiled = cast("Callable[P, T]", numba.njit(**FLAGS)(self.plain))
        return self._compiled

    def for_size(self, size: int, *, worth_compiling: int = 50_000) -> Callable[P, T]:
        """The form to use for so many elements.

        Calls add up: the compiled form is made once the work asked for, all calls together, would
        have paid for it. So neither one large call nor many middling ones lose more than twice.
        """
        self._asked += size
        if self._compiled is None and self._asked < worth_compiling:
            return self.plain
        return self.compiled if size >= WORTH_CALLING else self.plain


def kernel(plain: Callable[P, T]) -> Kernel[P, T]:
    """Mark a function on arrays as a kernel."""
    return Kernel(plain)


# no NaN or infinity is promised away: only the order of sums is the compiler's to choose
LOOSE_SUMS = {"reassoc", "contract", "arcp", "nsz"}


def compiled(plain: Callable[P, T]) -> Callable[P, T]:
    """Mark a function that only ever runs compiled and may call others of its kind.

    Importing its module imports numba, so such modules are imported where they are used. The code
    is made at the first call and kept on disk; a change of any kernel beside it makes it anew,
    since what a kernel calls is compiled into it.
    """
    return _compiled(plain, no_cfunc_wrapper=True)


def within_kernels(plain: Callable[P, T]) -> Callable[P, T]:
    """The same for a function that only compiled ones call: there is no way in from Python."""
    return _compiled(plain, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def _compiled(plain: Callable[P, T], **flags: Any) -> Callable[P, T]:
    import numba

    made: Any = numba.njit(**FLAGS, **flags, error_model="numpy", fastmath=LOOSE_SUMS)(plain)
    made._cache._cache_file._source_stamp = _stamp_of_folder(plain.__code__.co_filename)
    return cast("Callable[P, T]", made)


def _stamp_of_folder(file: str) -> tuple[tuple[str, int, int], ...]:
    """When each module with kernels beside a file was last changed, and its size."""
    beside = sorted(Path(file).parent.glob("*.py"))
    stats = [(path.name, path.stat()) for path in beside if "within_kernels" in path.read_text()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)
