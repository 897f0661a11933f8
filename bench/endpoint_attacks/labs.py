"""A lab in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bench.endpoint_attacks.attacks import Target

FILES_MAX = 256


@contextmanager
def lab_process(files_max: int = FILES_MAX) -> Generator[Target]:
    """A lab of three brokers that may open so many files."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "lab"
        said = _kedge("up", "--dir", place, "--brokers", 3, "--detach", "--output", "json")
        about = json.loads(said)
        hard = resource.prlimit(about["pid"], resource.RLIMIT_NOFILE)[1]
        resource.prlimit(about["pid"], resource.RLIMIT_NOFILE, (files_max, hard))
        try:
            ports = {broker["id"]: broker["port"] for broker in about["brokers"]}
            yield Target(ports, about["controller"])
            json.loads(_kedge("status", "--dir", place, "--output", "json"))
        finally:
            _kedge("down", "--dir", place)


def _kedge(*words: object) -> str:
    line = [sys.executable, "-m", "kedge", "lab", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=120).stdout
