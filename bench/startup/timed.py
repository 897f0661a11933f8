"""`python -m bench.startup.timed ARGUMENTS`: run a `kedge` command and print where its time went.

The last line on stderr is a JSON object of CPU seconds: `cpu` of all threads, and for a plan those
of the main thread by phase.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Phases:
    """Wall seconds of one process, and its CPU seconds by phase."""

    seconds: float
    cpu: dict[str, float] = field(default_factory=dict[str, float])


def timed(command: list[str]) -> tuple[float, str]:
    """Wall seconds of a command, and what it wrote to stderr."""
    before = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - before, done.stderr


MEASURED = {
    "read": ("kedge.files", "read_snapshot"),
    "bounds": ("kedge.balance.planner", "bounds_of"),
    "search": ("kedge.balance.planner", "search"),
    "output": ("kedge.balance.planner", "plan_of_solved"),
    "write": ("kedge.files", "write_atomically"),
}


def main(arguments: list[str]) -> int:
    """Run the command with its phases measured."""
    spent: dict[str, float] = {}
    is_plan = arguments[:1] == ["plan"] and "--help" not in arguments
    if is_plan:
        import_module("numba")
        import_module("highspy")
        for module, _ in MEASURED.values():
            import_module(module)
        spent["import"] = time.thread_time()
        for name, (module, function) in MEASURED.items():
            _measure(spent, name, module, function)
    from kedge.cli.app import run

    code = run(arguments)
    print(json.dumps({"cpu": time.process_time(), **spent}), file=sys.stderr)
    return code


def _measure(spent: dict[str, float], name: str, module: str, function: str) -> None:
    """Let a function of a module add its time to a phase."""
    holder: Any = import_module(module)
    plain: Callable[..., Any] = getattr(holder, function)

    @functools.wraps(plain)
    def measured(*given: Any, **more: Any) -> Any:
        before = time.thread_time()
        try:
            return plain(*given, **more)
        finally:
            spent[name] = spent.get(name, 0.0) + time.thread_time() - before

    setattr(holder, function, measured)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
