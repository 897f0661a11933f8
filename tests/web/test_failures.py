"""Requests that fail: each is answered as a problem with all headers, and leaves no key claimed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Response
from sqlalchemy import text

from kedge.web.access.roles import Role
from kedge.web.api.requests import Change, Done, changes
from kedge.web.app import create_app
from kedge.web.server import open_services
from kedge.web.services import Services
from tests.web.served import key, settings_for

SECRET = "the password is hunter2"


@dataclass(frozen=True)
class Caller:
    """Calls an application without a server."""

    app: FastAPI
    token: str

    def get(self, path: str) -> httpx.Response:
        """One read."""
        return asyncio.run(self._answer("GET", path, {}))

    def post(self, path: str, headers: dict[str, str]) -> httpx.Response:
        """One change."""
        return asyncio.run(self._answer("POST", path, headers))

    async def _answer(self, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        bearer = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, headers=bearer | headers)


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """The parts of a server that is not started: no thread uses its database."""
    parts = open_services(settings_for("127.0.0.1:1", tmp_path))
    yield parts
    parts.database.close()


@pytest.fixture
def client(services: Services) -> Caller:
    """A client of an application with three calls more, which fail."""
    app = create_app(services)
    _add_failing_calls(app)
    return Caller(app, services.accounts.new_admin_token().secret)


def _add_failing_calls(app: FastAPI) -> None:
    def fails() -> None:
        raise RuntimeError(SECRET)

    def fails_in_a_change(
        change: Annotated[Change, changes(Role.ADMIN, "test.fail")],
    ) -> Response:
        def act() -> Done:
            raise RuntimeError(SECRET)

        return change.make(act)

    def answers_what_cannot_be_written(
        change: Annotated[Change, changes(Role.ADMIN, "test.answer")],
    ) -> Response:
        return change.make(lambda: Done({"text": "\ud800"}))

    app.add_api_route("/fails", fails)
    app.add_api_route("/changes", fails_in_a_change, methods=["POST"])
    app.add_api_route("/unwritable", answers_what_cannot_be_written, methods=["POST"])


def _check_problem(answer: httpx.Response, status: int, kind: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.json()["type"] == f"urn:kedge:error:{kind}"


def _lose_the_database(services: Services) -> None:
    """A directory where the file was: what happens next cannot open it."""
    services.database.close()
    file = Path(str(services.database.engine.url.database))
    file.unlink()
    file.mkdir()


def test_an_unexpected_exception_is_a_problem_without_its_text_and_is_logged(
    client: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    answer = client.get("/fails")
    _check_problem(answer, 500, "server-failed")
    assert SECRET not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["hint"]
    assert SECRET in caplog.text, "with the trace"


@pytest.mark.parametrize("path", ["/changes", "/unwritable"])
def test_a_change_that_failed_unexpectedly_is_audited_and_is_not_made_again(
    client: Caller, services: Services, path: str
) -> None:
    headers = key()
    answer = client.post(path, headers=headers)
    _check_problem(answer, 500, "server-failed")
    newest = services.audit.entries(limit=1)[0]
    assert (newest.outcome, newest.status) == ("failed", 500)
    again = client.post(path, headers=headers)
    _check_problem(again, 500, "server-failed")
    assert again.headers["idempotency-replayed"] == "true"


def test_a_database_that_is_gone_is_a_problem_that_may_pass(
    client: Caller, services: Services
) -> None:
    _lose_the_database(services)
    for answer in (client.get("/api/v1/tokens"), client.post("/changes", headers=key())):
        _check_problem(answer, 503, "store-unavailable")
        assert "retry-after" in answer.headers


def test_a_refusal_is_answered_though_the_audit_cannot_be_written(
    client: Caller, services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    with services.database.writes() as connection:
        connection.execute(text("DROP TABLE audit"))
    answer = client.post("/changes", headers={**key(), "Authorization": "Bearer wrong"})
    _check_problem(answer, 401, "not-authenticated")
    assert "POST /changes" in caplog.text
