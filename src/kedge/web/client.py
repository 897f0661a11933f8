"""A thin client of the HTTP API: requests with a token, errors as classes, jobs to their end.

with ApiClient("https://kedge.example.com", token) as api:
    job = api.change("/clusters/orders/plans", {"goals": {"tolerance": 0.05}})
    api.ended(job)["result"]["plan_id"]
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Self

import httpx

from kedge import errors
from kedge.errors import (
    ClusterUnavailable,
    InvalidRequest,
    KedgeError,
    KeyReused,
    NotAuthenticated,
)

Document = dict[str, Any]
API = "/api/v1"
TIMEOUT_S = 130.0  # checks before a run may wait a minute for the cluster
POLL_S = 0.5
ATTEMPTS = 5
ENDED = ("done", "failed")


class ApiClient:
    """Sends requests to one server; a change that gets no answer is sent again with its key."""

    def __init__(
        self, url: str, token: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidRequest(f"{url!r} is no address of a server", hint="http://host:8080")
        if not token:
            raise NotAuthenticated(
                "No token for the server", hint="set KEDGE_TOKEN, or use --token"
            )
        self.url, self._sleep = url.rstrip("/"), sleep
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    # ---- requests -------------------------------------------------------------------------------

    def get(self, path: str, **parameters: str | int) -> Document:
        """A document."""
        return self._answer("GET", path, parameters=parameters).json()

    def download(self, path: str) -> bytes:
        """A file."""
        return self._answer("GET", path).content

    def post(self, path: str, body: Mapping[str, Any]) -> Document:
        """A request that changes nothing, with a body."""
        return self._answer("POST", path, body=body).json()

    def change(self, path: str, body: Mapping[str, Any] | None = None) -> Document:
        """A change under a key of its own: however often it is sent, it is made once."""
        key = {"Idempotency-Key": str(uuid.uuid4())}
        return self._answer("POST", path, body=body, headers=key).json()

    def _answer(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        parameters: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        for attempt in range(ATTEMPTS):
            try:
                response = self._http.request(
                    method, f"{API}{path}", json=body, params=parameters, headers=headers
                )
            except httpx.TransportError as fault:
                if attempt == ATTEMPTS - 1:
                    raise self._unreachable(fault) from fault
                self._sleep(POLL_S * 2**attempt)
                continue
            if response.is_success:
                return response
            error = error_of(response)
            # the first copy of this change is still being worked on: its answer comes with the key
            if not isinstance(error, KeyReused) or attempt in (0, ATTEMPTS - 1):
                raise error
            self._sleep(POLL_S * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _unreachable(self, fault: httpx.TransportError) -> ClusterUnavailable:
        why = type(fault).__name__
        return ClusterUnavailable(
            f"The server {self.url} does not answer ({why})", hint="check --server"
        )

    # ---- jobs -----------------------------------------------------------------------------------

    def ended(self, job: Document, on_progress: Callable[[Document], None] = lambda _: None) -> Any:
        """A job once it has ended; its problem is raised as the error that it was."""
        path = f"/clusters/{job['cluster']}/jobs/{job['id']}"
        while job["state"] not in ENDED:
            on_progress(job["progress"])
            self._sleep(POLL_S)
            job = self.get(path)
        if job["state"] == "failed":
            raise error_from(job["problem"])
        on_progress(job["progress"])
        return job


def error_of(response: httpx.Response) -> KedgeError:
    """The error of an answer that is no success."""
    try:
        return error_from(response.json())
    except (ValueError, KeyError, TypeError):
        return ClusterUnavailable(f"The server answered with status {response.status_code}")


def error_from(problem: Mapping[str, Any]) -> KedgeError:
    """The error that a server has sent as a problem: the class that it was, if it is known here."""
    name = str(problem["type"]).rpartition(":")[2].replace("-", " ").title().replace(" ", "")
    kind = getattr(errors, name, None)
    what, hint = str(problem["detail"]), str(problem.get("hint") or "")
    if isinstance(kind, type) and issubclass(kind, KedgeError):
        error = kind.__new__(kind)
        KedgeError.__init__(error, what, hint=hint)
        return error
    refused = int(problem.get("status", 500)) < 500
    return (InvalidRequest if refused else KedgeError)(what, hint=hint)
