"""Six ways in which a change is refused: each is audited, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from kedge.lab import Lab
from kedge.web.access.roles import Role
from tests.web.served import Served, key, serving, settings_for

TOPICS = "/api/v1/clusters/lab/topics"
BODY = {"name": "refused", "partitions": 1, "replication_factor": 1}


@pytest.fixture(scope="module")
def own(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own: a minute has room for so many refusals in the audit."""
    with serving(settings_for(lab.bootstrap_servers, tmp_path_factory.mktemp("own"))) as served:
        yield served


def _unauthenticated(served: Served) -> httpx.Response:
    with served.anonymous() as client:
        return client.post(TOPICS, json=BODY, headers=key())


def _wrong_role(served: Served) -> httpx.Response:
    with served.client(served.token_for(lab=Role.PLAN)) as client:
        return client.post(TOPICS, json=BODY, headers=key())


def _cross_site(served: Served) -> httpx.Response:
    with served.client(Origin="https://evil.example") as client:
        return client.post(TOPICS, json=BODY, headers=key())


def _oversized(served: Served) -> httpx.Response:
    with served.client() as client:
        return client.post(TOPICS, json=BODY | {"configs": {"x": "y" * 1_100_000}}, headers=key())


def _malformed(served: Served) -> httpx.Response:
    with served.client() as client:
        return client.post(TOPICS, json=BODY | {"partitions": "many"}, headers=key())


def _replayed(served: Served) -> httpx.Response:
    """The key of a change that was made, with another change."""
    headers = key()
    with served.client() as client:
        unset: dict[str, Any] = {"unset": ["retention.ms"]}
        made = client.patch(f"{TOPICS}/kept/configs", json=unset, headers=headers)
        assert made.is_success, made.text
        return client.post(TOPICS, json=BODY, headers=headers)


WAYS: list[tuple[Callable[[Served], httpx.Response], int]] = [
    (_unauthenticated, 401),
    (_wrong_role, 403),
    (_cross_site, 403),
    (_oversized, 413),
    (_malformed, 400),
    (_replayed, 409),
]


def _topics(served: Served) -> set[str]:
    """The topics of the cluster itself, not of what the server last read."""
    with served.services.registry.open("lab") as cluster:
        return set(cluster.topic_names())


@pytest.mark.parametrize(("refused", "status"), WAYS, ids=lambda way: getattr(way, "__name__", ""))
def test_a_refusal_is_audited_and_nothing_has_changed(
    own: Served, refused: Callable[[Served], httpx.Response], status: int
) -> None:
    with own.client() as client:
        kept = {"name": "kept", "partitions": 1, "replication_factor": 1}
        made = client.post(TOPICS, json=kept, headers=key())
        assert made.status_code in (201, 409), made.text
        before = _topics(own)
        answer = refused(own)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        newest = own.services.audit.entries(limit=1)[0]
        assert (newest.outcome, newest.status, newest.source) == ("refused", status, "127.0.0.1")
        assert TOPICS in newest.target or newest.action == "topic.create"
        assert _topics(own) == before
