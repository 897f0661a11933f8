"""Who may do what: refusals at every door, and that each is audited and changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event, Semaphore

import httpx
import pytest
from anyio import to_thread
from starlette.concurrency import run_in_threadpool

from kedge.apply.this_process import this_process
from kedge.errors import PermissionDenied
from kedge.lab import Lab
from kedge.web.access.roles import Role
from kedge.web.app import create_app
from kedge.web.server import administrator_token, open_services
from kedge.web.settings import Limits
from tests.web.served import DEADLINE_S, Served, key, serving, settings_for

TOPICS = "/api/v1/clusters/lab/topics"
PAGES = ("/", "/health/live", "/api/v1/clusters", "/nowhere")


def _problem(response: httpx.Response, status: int) -> str:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    row = response.json()
    assert row["status"] == status
    assert "Traceback" not in response.text
    return row["type"].rpartition(":")[2]


@pytest.mark.parametrize(
    "path", ["/api/v1/clusters", "/api/v1/clusters/lab", "/api/v1/audit", "/api/v1/tokens"]
)
def test_no_resource_is_shown_without_a_token(served: Served, path: str) -> None:
    with served.anonymous() as client:
        assert _problem(client.get(path), 401) == "not-authenticated"


@pytest.mark.parametrize("value", ["Bearer forged", "Basic YTpi", "Bearer", "Bearer kedge_x_y"])
def test_a_forged_token_is_refused_and_audited(served: Served, value: str) -> None:
    with served.anonymous(Authorization=value) as client:
        _problem(client.get("/api/v1/clusters"), 401)
    assert ("GET /api/v1/clusters", "refused", 401) in served.audited()


def test_a_revoked_token_ends_its_sessions_too(served: Served) -> None:
    secret = served.token_for(every=Role.READ)
    with served.anonymous() as browser, served.client() as admin:
        browser.post("/api/v1/session", json={"token": secret}).raise_for_status()
        assert browser.get("/api/v1/clusters").status_code == 200
        token_id = secret.split("_")[1]
        admin.delete(f"/api/v1/tokens/{token_id}", headers=key()).raise_for_status()
        assert browser.get("/api/v1/clusters").status_code == 401
    with served.client(secret) as client:
        assert client.get("/api/v1/clusters").status_code == 401


def test_a_secret_is_shown_once_and_kept_nowhere(served: Served) -> None:
    with served.client() as client:
        headers, body = key(), {"name": "ci", "grants": {"*": "read"}}
        made = client.post("/api/v1/tokens", json=body, headers=headers)
        again = client.post("/api/v1/tokens", json=body, headers=headers)
    secret = made.json()["token"]
    assert again.status_code == 201
    assert "token" not in again.json(), "a repetition shows no secret"
    database = Path(str(served.services.database.engine.url.database))
    stored = b"".join(path.read_bytes() for path in database.parent.glob("serve.db*"))
    assert secret.encode() not in stored
    assert secret.rpartition("_")[2].encode() not in stored


def test_a_role_below_the_needed_one_is_refused_and_changes_nothing(served: Served) -> None:
    body = {"name": "forbidden", "partitions": 1, "replication_factor": 1}
    for role in (Role.READ, Role.PLAN):
        with served.client(served.token_for(lab=role)) as client:
            response = client.post(TOPICS, json=body, headers=key())
            assert _problem(response, 403) == "permission-denied"
    assert (f"POST {TOPICS}", "refused", 403) in served.audited()
    with served.client() as client:
        assert client.get(f"{TOPICS}/forbidden").status_code == 404


def test_a_cluster_without_a_role_is_not_known(served: Served) -> None:
    with served.client(served.token_for(other=Role.ADMIN)) as client:
        assert client.get("/api/v1/clusters").json() == {"clusters": []}
        assert _problem(client.get("/api/v1/clusters/lab"), 404) == "unknown-resource"
        unknown = client.get("/api/v1/clusters/nowhere")
    assert _problem(unknown, 404) == "unknown-resource", "the same as one that does not exist"


def test_a_cookie_alone_changes_nothing(served: Served) -> None:
    with served.anonymous() as browser:
        signed = browser.post("/api/v1/session", json={"token": served.token})
        cookie = signed.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        body = {"name": "forged", "partitions": 1, "replication_factor": 1}
        refused = browser.post(TOPICS, json=body, headers=key())
        assert _problem(refused, 403) == "permission-denied"
        csrf = signed.json()["csrf"]
        other = browser.post(TOPICS, json=body, headers=key() | {"X-CSRF-Token": csrf[::-1]})
        assert _problem(other, 403) == "permission-denied"
        made = browser.post(TOPICS, json=body, headers=key() | {"X-CSRF-Token": csrf})
        assert made.status_code == 201, made.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "null"},
    ],
)
def test_a_page_of_another_site_is_refused(served: Served, headers: dict[str, str]) -> None:
    with served.client(**headers) as client:
        body = {"name": "crossed", "partitions": 1, "replication_factor": 1}
        assert _problem(client.post(TOPICS, json=body, headers=key()), 403) == "permission-denied"
        assert _problem(client.get("/api/v1/clusters"), 403) == "permission-denied"


def test_another_name_of_this_address_is_refused(served: Served) -> None:
    with served.client(Host="rebound.example") as client:
        _problem(client.get("/api/v1/clusters"), 400)


def test_signing_out_ends_the_session(served: Served) -> None:
    with served.anonymous() as browser:
        signed = browser.post("/api/v1/session", json={"token": served.token}).json()
        cookies = dict(browser.cookies)
        browser.delete("/api/v1/session", headers={"X-CSRF-Token": signed["csrf"]})
        browser.cookies.update(cookies)
        assert browser.get("/api/v1/session").status_code == 401


def test_oversized_and_malformed_bodies_are_refused(served: Served) -> None:
    with served.client() as client:
        large = client.post(TOPICS, content=b"x" * 1_000_001, headers=key())
        assert _problem(large, 413) == "request-too-large"

        def chunks() -> object:
            for _ in range(20):
                yield b"y" * 100_000

        streamed = client.post(TOPICS, content=chunks(), headers=key())  # pyright: ignore[reportArgumentType]
        assert _problem(streamed, 413) == "request-too-large"
        broken = client.post(TOPICS, content=b"{", headers=key())
        assert _problem(broken, 400) == "malformed-input"
        surplus = client.post(TOPICS, json={"name": "a", "surprise": 1}, headers=key())
        assert _problem(surplus, 400) == "malformed-input"
    assert (f"POST {TOPICS}", "refused", 413) in served.audited()


def test_every_answer_has_the_security_headers(served: Served) -> None:
    with served.anonymous() as client:
        answers = [client.get(path) for path in PAGES]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_a_repeated_change_is_answered_again_and_made_once(served: Served) -> None:
    headers, body = key(), {"name": "once", "partitions": 1, "replication_factor": 1}
    with served.client() as client:
        first = client.post(TOPICS, json=body, headers=headers)
        again = client.post(TOPICS, json=body, headers=headers)
        other = client.post(TOPICS, json={**body, "name": "twice"}, headers=headers)
        without = client.post(TOPICS, json=body)
        missing = client.get(f"{TOPICS}/twice")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == first.json()
    assert _problem(other, 409) == "key-reused"
    assert _problem(without, 400) == "malformed-input"
    assert missing.status_code == 404
    done = [entry for entry in served.audited() if entry == ("topic.create", "done", 201)]
    assert done, "the change is in the audit"


def test_the_audit_has_who_what_and_from_where_and_masks_secrets(served: Served) -> None:
    with served.client() as client:
        body = {"name": "audited", "partitions": 2, "replication_factor": 2}
        client.post(TOPICS, json=body, headers=key()).raise_for_status()
        entries = client.get("/api/v1/audit?cluster=lab").json()["entries"]
    entry = next(each for each in entries if each["target"] == "topic audited")
    assert entry["source"] == "127.0.0.1"
    assert entry["who"].startswith("admin")
    assert entry["after"]["partitions"] == 2
    with served.client(served.token_for(lab=Role.APPLY)) as client:
        assert client.get("/api/v1/audit?cluster=lab").status_code == 403
        assert client.get("/api/v1/audit").status_code == 403


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_audit_tells_dry_runs_from_changes(served: Served, dry_run: bool) -> None:
    name = f"dry-{dry_run}".lower()
    with served.client() as client:
        body = {"name": name, "partitions": 2, "replication_factor": 2}
        client.post(TOPICS, json=body, headers=key()).raise_for_status()
        body = {"total": 3, "dry_run": dry_run}
        client.post(f"{TOPICS}/{name}/partitions", json=body, headers=key()).raise_for_status()
        body = {"set": {"retention.ms": "1000"}, "dry_run": dry_run}
        client.patch(f"{TOPICS}/{name}/configs", json=body, headers=key()).raise_for_status()
        entries = client.get("/api/v1/audit?cluster=lab").json()["entries"]
    configured, expanded, created = (e for e in entries if e["target"] == f"topic {name}")
    assert expanded["after"] == {"partitions": 3, "dry_run": dry_run}
    assert configured["after"] == {"retention.ms": "1000", "dry_run": dry_run}
    assert created["after"]["dry_run"] is False


def test_tokens_of_administrators_that_the_command_line_makes_are_audited(tmp_path: Path) -> None:
    services = open_services(settings_for("127.0.0.1:9", tmp_path))
    made = [administrator_token(services, again=again) for again in (False, False, True)]
    entries = services.audit.entries()
    services.database.close()
    assert [token is not None for token in made] == [True, False, True]
    assert [each.target for each in entries] == [f"token {t.id}" for t in reversed(made) if t]
    for each in entries:
        assert (each.who, each.source) == ("the command line", this_process().host)
        assert (each.action, each.outcome) == ("token.create", "done")
        assert each.after is not None
        assert each.after["grants"] == {"*": "admin"}


def test_a_read_only_server_refuses_every_change(lab: Lab, tmp_path: Path) -> None:
    settings = settings_for(lab.bootstrap_servers, tmp_path, read_only=True)
    with serving(settings) as served, served.client() as client:
        body = {"name": "frozen", "partitions": 1, "replication_factor": 1}
        response = client.post(TOPICS, json=body, headers=key())
        assert "read-only" in response.json()["detail"]
        assert response.status_code == 403
        token = client.post("/api/v1/tokens", json={"name": "t", "grants": {}}, headers=key())
        assert token.status_code == 403
        assert client.get("/api/v1/clusters/lab/brokers").status_code == 200
        with (
            served.services.registry.open("lab") as cluster,
            pytest.raises(PermissionDenied, match="read-only"),
        ):
            cluster.delete_topics(["orders"])


def test_clients_that_send_too_much_are_refused(lab: Lab, tmp_path: Path) -> None:
    limits = Limits(requests_per_minute=30, sign_ins_per_minute=3)
    with serving(settings_for(lab.bootstrap_servers, tmp_path, limits=limits)) as served:
        with served.anonymous() as client:
            guesses = [
                client.post("/api/v1/session", json={"token": f"guess-{n}"}).status_code
                for n in range(5)
            ]
            assert guesses == [401, 401, 401, 429, 429]
            right = client.post("/api/v1/session", json={"token": served.token})
            assert _problem(right, 429) == "too-many-requests"
            statuses = {client.get("/health/live").status_code for _ in range(30)}
        assert statuses == {200, 429}


def test_the_options_to_sign_in_do_not_tell_whether_a_token_is_valid(served: Served) -> None:
    with served.client() as client:
        assert client.get("/api/v1/session/options").json()["signed_in"] is False
    with served.anonymous() as browser:
        signed_in = browser.post("/api/v1/session", json={"token": served.token})
        assert signed_in.status_code == 201
        assert browser.get("/api/v1/session/options").json()["signed_in"] is True
        browser.cookies.clear()
        wrong = {"Cookie": "kedge=wrong"}
        assert not browser.get("/api/v1/session/options", headers=wrong).json()["signed_in"]


def test_probes_answer_while_every_thread_of_requests_waits(lab: Lab, tmp_path: Path) -> None:
    go, waiting = Event(), Semaphore(0)

    def wait() -> None:
        waiting.release()
        go.wait(DEADLINE_S)

    with serving(settings_for(lab.bootstrap_servers, tmp_path)) as served:
        app = create_app(served.services)

        async def scenario() -> list[int]:
            threads = int(to_thread.current_default_thread_limiter().total_tokens)
            waits = [asyncio.create_task(run_in_threadpool(wait)) for _ in range(threads)]
            for _ in waits:
                await asyncio.to_thread(waiting.acquire)
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url=served.url) as client:
                paths = ("/health/live", "/health/ready")
                found = [(await client.get(path, timeout=10)).status_code for path in paths]
            go.set()
            await asyncio.gather(*waits)
            return found

        assert asyncio.run(asyncio.wait_for(scenario(), 30)) == [200, 200]
