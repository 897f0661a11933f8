"""Kafka's own QuorumController as an oracle: a JVM that plays files of scenarios."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from jvm import KAFKA_4_1, ROOT, SMALL, classpath

Case = dict[str, Any]

SOURCES = Path(__file__).parent / "kraft_java"
MAIN = "org.apache.kafka.controller.KraftOracle"
SILENT = "rootLogger.level=off\n"


def play_all(scenarios: Sequence[Case]) -> list[Case]:
    """The vectors that Kafka's answers make of scenarios.

    `faults` are what Kafka's controller stumbled over; `failed` says that it could not go on.
    """
    given = [{**one, "id": str(at), "family": "random"} for at, one in enumerate(scenarios)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.json").write_bytes(orjson.dumps({"cases": given}))
        (folder / "log.properties").write_text(SILENT)
        command = [
            _program("java"),
            *SMALL,
            f"-Dlog4j2.configurationFile={folder / 'log.properties'}",
            "-cp",
            f"{compiled()}:{classpath(KAFKA_4_1)}",
            MAIN,
            "in.json",
            "out.json",
        ]
        subprocess.run(command, cwd=folder, check=False, capture_output=True)
        played = orjson.loads((folder / "out.json").read_bytes())["cases"]
    by_id = {case["id"]: case for case in played}
    return [by_id[one["id"]] for one in given]


def compiled() -> Path:
    """The folder with the driver's classes, compiled if they are not there yet."""
    sources = sorted(SOURCES.rglob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder = ROOT / ".cache" / "oracle" / f"kraft-{digest[:16]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            command = [_program("javac"), "-nowarn", "-proc:none", "-d", f"{made}/classes"]
            command += ["-cp", classpath(KAFKA_4_1), *map(str, sources)]
            subprocess.run(command, check=True, capture_output=True)
            Path(made, "classes").rename(folder)
    return folder


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"no {name} on the PATH: install a JDK, 17 or later")
    return found
