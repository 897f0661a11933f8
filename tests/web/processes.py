"""`kedge serve` as a process of its own, over a lab, that can be killed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import BROKER_DEFAULTS, broker_resource, topic_resource
from kedge.lab import Lab
from kedge.model import BrokerId

ANSWER_S = 120.0


@dataclass
class ServerProcess:
    """A server at work: its process, its URL, and the token of an administrator."""

    process: subprocess.Popen[str]
    url: str
    token: str

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.process.pid

    def client(self) -> httpx.Client:
        """A client with the token."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=ANSWER_S)

    def kill(self) -> None:
        """As `kill -9`."""
        self.process.kill()
        self.process.wait()


@contextmanager
def server_process(config: Path) -> Generator[ServerProcess]:
    """A server with these settings during a `with` block; it is killed at its end."""
    command = [sys.executable, "-m", "kedge", "serve", "--config", str(config)]
    with (
        (config.parent / "serve.log").open("a") as log,
        subprocess.Popen(
            [*command, "--new-admin-token"], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            token = process.stdout.readline().rpartition(" ")[2].strip()
            url = re.search(r"http://\S+", process.stdout.readline())
            assert url is not None, f"the server did not start: see {log.name}"
            yield ServerProcess(process, url[0], token)
        finally:
            process.kill()


def throttles_of(lab: Lab, topic: str, brokers: int) -> list[str]:
    """The throttle settings that a lab has now."""
    admin = KafkaAdmin(lab.bootstrap_servers)
    resources = [BROKER_DEFAULTS, topic_resource(topic)]
    resources += [broker_resource(BrokerId(n)) for n in range(brokers)]
    found = admin.describe_configs(resources)
    admin.close()
    return [
        f"{resource} {entry.name}={entry.value}"
        for resource, entries in found.items()
        for entry in (entries if isinstance(entries, tuple) else ())
        if "throttled" in entry.name and "DYNAMIC" in str(entry.source) and entry.value
    ]
