"""Compile kernels with numba: the one module that imports it.

A kernel is a plain function on arrays and numbers. `kernel` wraps it so that small inputs run as
ordinary Python (no import of numba, no compilation, start-up stays short) and large ones run
compiled; both run the same source. Compiled code is cached on disk beside the module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

# below so many elements, preparing arrays for compiled code costs more than it saves
WORTH_CALLING = 1_000
# from so many elements on, compiled code is worth loading; far fewer once numba is imported
WORTH_COMPILING = 50_000
WORTH_LOADING = 5_000

FLAGS: dict[str, Any] = {"cache": True, "nogil": True, "boundscheck": False}
WITHIN_KERNELS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Kernel(Generic[P, T]):
    """A function with a compiled form that is made at its first use.

    `helpers` are the functions of the same module that it calls: they are compiled with it.
    """

    def __init__(self, plain: Callable[P, T], helpers: Sequence[Callable[..., Any]] = ()) -> None:
        self.plain = plain
        self._helpers = helpers
        self._compiled: Callable[P, T] | None = None
        self._elements = 0

    @property
    def compiled(self) -> Callable[P, T]:
        """The machine-code form, compiled (or loaded from the cache) at the first use."""
        if self._compiled is None:
            self._compiled = cast("Callable[P, T]", _with_helpers(self.plain, self._helpers))
        return self._compiled

    def for_size(self, size: int, *, worth_compiling: int = WORTH_COMPILING) -> Callable[P, T]:
        """The form to use for so many elements.

        Calls add up: the compiled form is made once the elements of all calls together would have
        paid for it. So neither one large call nor many medium ones lose more than twice.
        """
        self._elements += size
        if "numba" in sys.modules:
            worth_compiling = min(worth_compiling, WORTH_LOADING)
        if self._compiled is None and self._elements < worth_compiling:
            return self.plain
        return self.compiled if size >= WORTH_CALLING else self.plain


def kernel(plain: Callable[P, T]) -> Kernel[P, T]:
    """Mark a function on arrays as a kernel."""
    return Kernel(plain)


def kernel_with(*helpers: Callable[..., Any]) -> Callable[[Callable[P, T]], Kernel[P, T]]:
    """Mark a function on arrays as a kernel that calls these functions of its module."""

    def mark(plain: Callable[P, T]) -> Kernel[P, T]:
        return Kernel(plain, helpers)

    return mark


def _with_helpers(plain: Callable[..., Any], helpers: Sequence[Callable[..., Any]]) -> Any:
    """Compile a function, with compiled forms of its helpers in place of their names."""
    import numba

    made: dict[str, Any] = {}
    sources = tuple(sorted({each.__code__.co_filename for each in (*helpers, plain)}))
    for each in (*helpers, plain):
        function = cast("FunctionType", each)
        names = {**function.__globals__, **made}
        own = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, function.__closure__
        )
        own.__qualname__, own.__module__ = function.__qualname__, function.__module__
        # Python never calls a helper: without the wrappers for it, compilation is faster
        flags = WITHIN_KERNELS if each is not plain else {}
        compiled: Any = numba.njit(**FLAGS, **flags)(own)
        if len(sources) > 1:  # a kernel contains its helpers: a change of any file makes it anew
            compiled._cache._cache_file._source_stamp = _stamp_of_files(sources)
        made[function.__name__] = compiled
    return made[cast("FunctionType", plain).__name__]


# NaN and infinity keep their meaning: only the order of sums is left to the compiler
LOOSE_SUMS = {"reassoc", "contract", "arcp", "nsz"}


def compiled(plain: Callable[P, T]) -> Callable[P, T]:
    """Mark a function that only ever runs compiled and may call others of its kind.

    Importing its module imports numba, so such modules are imported where they are used. The code
    is made at the first call and kept on disk; a change of any module in its folder makes it anew,
    since a kernel contains the functions that it calls.
    """
    return _compiled(plain, no_cfunc_wrapper=True)


def within_kernels(plain: Callable[P, T]) -> Callable[P, T]:
    """The same for a function that only compiled ones call: Python cannot call it."""
    return _compiled(plain, **WITHIN_KERNELS)


def inlined(plain: Callable[P, T]) -> Callable[P, T]:
    """The same, its code put into that of each caller.

    For small functions of a hot loop that take many arrays: passing those takes longer than the
    function itself.
    """
    return _compiled(plain, no_cfunc_wrapper=True, no_cpython_wrapper=True, forceinline=True)


def _compiled(plain: Callable[P, T], **flags: Any) -> Callable[P, T]:
    import numba

    made: Any = numba.njit(**FLAGS, **flags, error_model="numpy", fastmath=LOOSE_SUMS)(plain)
    folder = Path(plain.__code__.co_filename).parent
    made._cache._cache_file._source_stamp = _stamp_of_folder(folder)
    return cast("Callable[P, T]", made)


@cache
def _stamp_of_folder(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, time of change and size of each module in a folder."""
    return _stamp_of_files(tuple(map(str, sorted(folder.glob("*.py")))))


@cache
def _stamp_of_files(files: tuple[str, ...]) -> tuple[tuple[str, int, int], ...]:
    """Name, time of change and size of each file."""
    stats = [(path.name, path.stat()) for path in map(Path, files)]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)
