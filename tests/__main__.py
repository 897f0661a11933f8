"""`python -m tests`: all checks and all tests but the slow ones, side by side.

Tests of real brokers and of servers wait most of the time, the others compute: two cores do all at
once. What the first parts say is shown when they have ended; the last one is seen at work.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

LOGS = Path(".cache")
PYTEST = (sys.executable, "-m", "pytest", "-q", "--durations=12")
REAL = ("tests/real", "tests/oracle", "tests/soak")
SERVERS = ("tests/lab", "tests/endpoint", "tests/service", "tests/web")
PARTS = {
    "checks": ("make", "-s", "check"),
    "tests of real brokers": (*PYTEST, *REAL),
    "tests of servers": (*PYTEST, *SERVERS),
    "all other tests": (*PYTEST, "tests", *(f"--ignore={part}" for part in (*REAL, *SERVERS))),
}


def main() -> int:
    """Start all parts, wait for them, say what each came to; 1 if any failed."""
    LOGS.mkdir(exist_ok=True)
    began = time.monotonic()
    *behind, (last, command) = PARTS.items()
    started = {name: _in_background(name, part) for name, part in behind}
    codes = {last: subprocess.run(command, check=False).returncode}
    for name, process in started.items():
        codes[name] = process.wait()
        print(f"\n== {name}\n{_log(name).read_text()}")
    for name, code in codes.items():
        print(f"{name}: {'passed' if code == 0 else f'failed (exit code {code})'}")
    print(f"{time.monotonic() - began:.0f} s in all")
    return int(any(codes.values()))


def _in_background(name: str, command: tuple[str, ...]) -> subprocess.Popen[bytes]:
    with _log(name).open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)


def _log(name: str) -> Path:
    return LOGS / f"{name.replace(' ', '-')}.log"


if __name__ == "__main__":
    sys.exit(main())
