"""`python -m tests.fuzz`: every fuzzer of this package, one after the other."""

from __future__ import annotations

import argparse
import pkgutil
import secrets
import subprocess
import sys
from importlib import import_module
from pathlib import Path


def fuzzers() -> list[str]:
    """The modules of this package that have a function `fuzz`."""
    found = sorted(each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)]))
    names = [name for name in found if not name.startswith(("test_", "__"))]
    return [name for name in names if hasattr(import_module(f"tests.fuzz.{name}"), "fuzz")]


def main() -> int:
    """Run them all; 1 if any found a fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--first-seed", type=int, default=None, help="drawn if it is not given")
    asked = parser.parse_args()
    first = secrets.randbelow(10**9) if asked.first_seed is None else asked.first_seed
    failed: list[str] = []
    for name in fuzzers():
        words = ["--seeds", str(asked.seeds), "--first-seed", str(first)]
        print(f"tests.fuzz.{name} {' '.join(words)}", flush=True)
        command = [sys.executable, "-m", f"tests.fuzz.{name}", *words]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    print(f"faults in: {', '.join(failed)}" if failed else "no faults")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
