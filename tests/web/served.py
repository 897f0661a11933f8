"""A server in this process, on a free port of this machine, with a client that knows its token."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from kedge.lab import Lab
from kedge.watch.policy import Policy
from kedge.web.access.roles import Role
from kedge.web.server import Server, open_services
from kedge.web.services import Services
from kedge.web.settings import ClusterSettings, Limits, ServerSettings

DEADLINE_S = 60.0


@dataclass
class Served:
    """A server at work."""

    url: str
    token: str
    services: Services

    def client(self, token: str | None = None, **headers: str) -> httpx.Client:
        """A client with a token: the administrator's, unless another is given."""
        bearer = {"Authorization": f"Bearer {self.token if token is None else token}"}
        return httpx.Client(base_url=self.url, headers=bearer | headers, timeout=60)

    def anonymous(self, **headers: str) -> httpx.Client:
        """A client without a token."""
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def token_for(self, **grants: Role) -> str:
        """A new token with these roles; `every` stands for all clusters."""
        named = {"*" if name == "every" else name: role for name, role in grants.items()}
        return self.services.accounts.create_token("test", named, by="test").secret

    def audited(self) -> list[tuple[str, str, int]]:
        """Action, outcome and status of each entry of the audit, newest first."""
        rows = self.services.audit.entries(limit=500)
        return [(row.action, row.outcome, row.status) for row in rows]


def key() -> dict[str, str]:
    """The headers of a change that was not made before."""
    return {"Idempotency-Key": str(uuid.uuid4())}


def settings_for(bootstrap: str, folder: Path, **changed: Any) -> ServerSettings:
    """A server of one cluster, `lab`, whose state is in a directory."""
    cluster = ClusterSettings("lab", bootstrap, sample_s=0.5)
    database = f"sqlite:///{folder / 'serve.db'}"
    many = Limits(requests_per_minute=100_000, sign_ins_per_minute=10_000)  # of all tests together
    base = ServerSettings({"lab": cluster}, port=0, database=database, limits=many)
    return replace(base, **changed)


def watched_by(lab: Lab, folder: Path, policy: Policy, **changed: Any) -> ServerSettings:
    """A server of one cluster, `lab`, whose loop follows a policy."""
    settings = settings_for(lab.bootstrap_servers, folder, **changed)
    cluster = replace(settings.clusters["lab"], policy=policy)
    return replace(settings, clusters={"lab": cluster})


@contextmanager
def serving(settings: ServerSettings) -> Generator[Served]:
    """A server during a `with` block."""
    services = open_services(settings)
    token = services.accounts.new_admin_token().secret
    ready = threading.Event()
    server = Server(services, lambda _: ready.set())
    thread = threading.Thread(target=server.run, name="served")
    thread.start()
    try:
        assert ready.wait(DEADLINE_S), "the server did not start"
        yield Served(server.url, token, services)
    finally:
        server.end()
        thread.join(DEADLINE_S)
        assert not thread.is_alive(), "the server did not end"


def ended_job(client: httpx.Client, job: Mapping[str, Any]) -> dict[str, Any]:
    """A job once it has ended."""
    path = f"/api/v1/clusters/{job['cluster']}/jobs/{job['id']}"
    deadline = time.monotonic() + DEADLINE_S
    while True:
        row = client.get(path).raise_for_status().json()
        if row["state"] in ("done", "failed"):
            return row
        assert time.monotonic() < deadline, f"job {row} did not end"
        time.sleep(0.1)


def until(
    client: httpx.Client, path: str, holds: Callable[[Any], object], within_s: float = DEADLINE_S
) -> Any:
    """The document of a path, once something holds of it."""
    deadline = time.monotonic() + within_s
    while True:
        document = client.get(path).raise_for_status().json()
        if holds(document):
            return document
        assert time.monotonic() < deadline, document
        time.sleep(0.1)
