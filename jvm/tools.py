"""Kafka's own command line tools, all calls in one JVM."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from jvm import JavaProcess, java

DRIVER = Path(__file__).with_name("KafkaTools.java")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call came to."""

    code: int
    out: str
    err: str


class KafkaTools:
    """Calls tools by name: topics, configs, reassign, elect."""

    def __init__(self, process: JavaProcess) -> None:
        self._process = process

    def __call__(self, tool: str, *arguments: str) -> Answer:
        self._process.say(json.dumps([tool, *arguments]))
        _, code, texts = self._process.wait_for_line("ANSWER ", timeout_s=120).split(" ", 2)
        out, err = (base64.b64decode(text).decode() for text in texts.split("|"))
        return Answer(int(code), out, err)


@contextlib.contextmanager
def kafka_tools(release: str, directory: Path) -> Generator[KafkaTools]:
    """The tools of one release for the time of a `with` block."""
    with java(release, str(DRIVER), cwd=directory) as process:
        yield KafkaTools(process)
