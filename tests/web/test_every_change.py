"""Every call of the API that changes something refuses what it must, and the audit has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kedge.lab import Lab
from kedge.web.access.roles import Role
from tests.docs.http_api import document
from tests.web.served import Served, key, serving, settings_for

VALUES = {"cluster": "lab", "broker": "1"}
CHANGES = ("post", "put", "patch", "delete")


class Call(NamedTuple):
    """A call that changes something, with names in its path that nothing has."""

    method: str
    path: str


def _calls() -> list[Call]:
    return [
        Call(method.upper(), _filled(path))
        for path, methods in document()["paths"].items()
        for method, call in methods.items()
        if method in CHANGES and _has_key(call)
    ]


def _has_key(call: dict[str, Any]) -> bool:
    return any(each["name"] == "Idempotency-Key" for each in call.get("parameters", []))


def _filled(path: str) -> str:
    parts = [part.strip("{}") for part in path.split("/")]
    named = zip(path.split("/"), parts, strict=True)
    return "/".join(
        VALUES.get(name, "abc") if part.startswith("{") else part for part, name in named
    )


CALLS = _calls()
every_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.method} {call.path}")


def test_proposals_topics_plans_and_runs_are_among_them() -> None:
    paths = {call.path for call in CALLS}
    assert "/api/v1/clusters/lab/proposals/abc/approve" in paths
    assert "/api/v1/clusters/lab/topics" in paths
    assert len(CALLS) >= 18


@every_call
def test_without_an_account_it_is_refused(served: Served, call: Call) -> None:
    with served.anonymous() as client:
        answer = client.request(call.method, call.path, headers=key())
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


def test_the_role_to_read_is_not_enough_and_each_refusal_is_audited(
    lab: Lab, tmp_path: Path
) -> None:
    """On a server of its own: so many refusals a minute are audited, and others cause them too."""
    with serving(settings_for(lab.bootstrap_servers, tmp_path)) as served:
        token = served.token_for(lab=Role.READ)
        with served.client(token) as client:
            for call in CALLS:
                answer = client.request(call.method, call.path, headers=key())
                assert answer.status_code == 403, f"{call}: {answer.text}"
                newest = served.services.audit.entries(limit=1)[0]
                assert newest.action == f"{call.method} {call.path}"
                assert (newest.outcome, newest.status) == ("refused", 403)


@every_call
def test_a_request_that_another_site_caused_is_refused(served: Served, call: Call) -> None:
    headers = key() | {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    with served.client() as client:
        assert client.request(call.method, call.path, headers=headers).status_code == 403


@every_call
def test_without_a_key_it_is_refused(served: Served, call: Call) -> None:
    with served.client() as client:
        assert client.request(call.method, call.path, json={}).status_code == 400


@every_call
def test_an_oversized_body_is_refused(served: Served, call: Call) -> None:
    with served.client() as client:
        answer = client.request(call.method, call.path, content=b"x" * 1_100_000, headers=key())
    assert answer.status_code == 413
