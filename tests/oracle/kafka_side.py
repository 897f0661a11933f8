"""Kafka's own controller as an oracle: a JVM that plays scenarios and says what it saw."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import orjson

from jvm import KAFKA_3_9, ROOT, SMALL, JavaProcess, classpath, java
from jvm.zookeeper import zookeeper

Case = dict[str, Any]

SOURCES = Path(__file__).parent / "java"
FAST_DISK = Path("/dev/shm")  # ZooKeeper syncs every write: on a disk in memory that costs nothing
PLAYED = "played "


class Oracle:
    """A running JVM with Kafka's controller classes."""

    def __init__(self, process: JavaProcess) -> None:
        self._process = process
        self._asked = 0

    def play(self, given: Case) -> Case:
        """The case that Kafka's answers make of one scenario."""
        (case,) = self.play_all([given])
        return case

    def play_all(self, scenarios: Sequence[Case]) -> list[Case]:
        """The cases that Kafka's answers make of scenarios: steps it could not take left out."""
        first = self._asked
        for given in scenarios:
            self._process.say(orjson.dumps(given).decode())
            self._asked += 1
        played: dict[int, Case] = {}
        while len(played) < len(scenarios):
            number, _, answer = self._hear().partition(" ")
            played[int(number)] = orjson.loads(answer)
        return [as_case(given, played[first + n]) for n, given in enumerate(scenarios)]

    def _hear(self) -> str:
        line = self._process.wait_for_line(PLAYED)
        self._process.seen.clear()
        return line.removeprefix(PLAYED)


def as_case(given: Case, played: Case) -> Case:
    """A vector of what was played; or `failed`, with what went wrong on Kafka's side.

    Beside the vector `accidents` says, for the start and for each step, which exceptions Kafka's
    controller stumbled over.
    """
    if "failed" in played:
        return {"input": given, "failed": played["failed"]}
    accidents = [seen.pop("accidents", []) for seen in played["after"]]
    after = [{**seen, **told_together(seen)} for seen in played["after"]]
    return {
        "kind": "scenario",
        "input": {**given, "steps": played["steps"]},
        "expected": {"after": after},
        "accidents": accidents,
    }


def told_together(after: Case) -> Case:
    """The requests with neighbours that differ only in their receiver made one."""
    together: list[Case] = []
    for request in after["requests"]:
        same = together and {**together[-1], "to": request["to"]} == request
        if same:
            together[-1]["to"] += request["to"]
        else:
            together.append({**request, "to": list(request["to"])})
    for request in together:
        request["to"].sort()
    return {"requests": together}


@contextlib.contextmanager
def oracle(*, log_level: str = "") -> Generator[Oracle]:
    """Kafka's controller, on a ZooKeeper of its own, for the time of a `with` block."""
    memory = FAST_DISK if FAST_DISK.is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as name, zookeeper(Path(name)) as address:
        arguments = [address, *([log_level] if log_level else [])]
        classes = str(compiled())
        with java(
            KAFKA_3_9,
            "Oracle",
            *arguments,
            cwd=Path(name),
            flags=[*SMALL, "-Dzookeeper.sasl.client=false"],
            extra_classpath=classes,
        ) as process:
            process.wait_for_line("ready")
            yield Oracle(process)


def compiled() -> Path:
    """The folder with the driver's classes, compiled if they are not there yet."""
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder = ROOT / ".cache" / "oracle" / digest[:16]
    if not folder.is_dir():
        compile_into(folder, sources)
    return folder


def compile_into(folder: Path, sources: list[Path]) -> None:
    """Compile beside the folder and move it into place, so that half of it is never used."""
    program = shutil.which("javac")
    if program is None:
        raise FileNotFoundError("no javac on the PATH: install a JDK, 17 or later")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        command = [program, "-nowarn", "-d", f"{made}/classes", "-cp", classpath(KAFKA_3_9)]
        subprocess.run([*command, *map(str, sources)], check=True, capture_output=True)
        with contextlib.suppress(OSError):  # somebody else was faster
            Path(made, "classes").rename(folder)
