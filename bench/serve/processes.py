"""The lab and the server, in a process each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.model import BrokerId

BROKERS, RACKS = 200, 5
TOPICS, PER_TOPIC = 400, 100
PARTITIONS = TOPICS * PER_TOPIC
CREATED_AT_ONCE = 20
FILLED, FILLED_BROKERS = "topic-hot", 10


@contextmanager
def large_lab(scratch: Path) -> Generator[str]:
    """A lab of the measured size; the data of one topic are on few brokers."""
    place = scratch / "lab"
    options = ("--brokers", BROKERS, "--racks", RACKS, "--detach", "--output", "json")
    about = json.loads(_lab("up", "--dir", place, *options))
    try:
        bootstrap = ",".join(f"127.0.0.1:{each['port']}" for each in about["brokers"][:3])
        _create_topics(bootstrap)
        _lab("fill", FILLED, "200MB", "--dir", place)
        yield bootstrap
    finally:
        _lab("down", "--dir", place)


def _create_topics(bootstrap: str) -> None:
    admin = KafkaAdmin(bootstrap)
    names = [f"topic-{number:03}" for number in range(TOPICS - 1)]
    hot = {p: [BrokerId((p + k) % FILLED_BROKERS) for k in range(3)] for p in range(PER_TOPIC)}
    try:
        for first in range(0, TOPICS, CREATED_AT_ONCE):
            some = names[first : first + CREATED_AT_ONCE]
            admin.create_topics([TopicCreation(name, PER_TOPIC, 3) for name in some])
        admin.create_topics([TopicCreation(FILLED, assignment=hot)])
    finally:
        admin.close()


def _lab(*words: object) -> str:
    line = [sys.executable, "-m", "kedge", "lab", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=600).stdout


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """`kedge serve` as a process of its own."""

    url: str
    token: str
    pid: int

    def peak_memory_mb(self) -> float:
        """The most memory that it has held (VmHWM), in megabytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found.group(1)) * 1024 / 1e6

    def cpu_seconds(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(bootstrap: str, scratch: Path) -> Generator[ServerProcess]:
    """A server over the lab during a `with` block."""
    settings = scratch / "serve.toml"
    settings.write_text(
        f'[server]\nport = 0\ndatabase = "sqlite:///{scratch / "serve.db"}"\n'
        "[limits]\nrequests_per_minute = 100000\n"
        f'[clusters.lab]\nbootstrap_servers = "{bootstrap}"\nstate = "{scratch / "runs"}"\n'
    )
    line = [sys.executable, "-m", "kedge", "serve", "--config", str(settings)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield _announced(process)
    finally:
        process.terminate()
        process.wait(60)


def _announced(process: subprocess.Popen[str]) -> ServerProcess:
    """The address and the token that the server prints; what it logs later is read and dropped."""
    assert process.stdout is not None
    url = token = None
    for line in process.stdout:
        url = url or _first(r"https?://[\w.:\[\]]+", line)
        token = token or _first(r"kedge_[\w-]+", line)
        if url and token:
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return ServerProcess(url, token, process.pid)
    raise AssertionError("the server ended before it announced its address")


def _first(pattern: str, line: str) -> str | None:
    found = re.search(pattern, line)
    return None if found is None else found.group()
