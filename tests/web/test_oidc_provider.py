"""Sign-in at a provider that others have written: mock-oauth2-server, in a JVM."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from kedge.lab import Lab
from kedge.web.access.roles import Role
from kedge.web.settings import OidcSettings
from tests.web.mock_oauth2 import CLIENT, forging, issuer, mock_oauth2
from tests.web.served import Served, serving, settings_for

pytestmark = [pytest.mark.slow, pytest.mark.real, pytest.mark.timeout(900)]

ROLES = {"operators": {"lab": Role.APPLY}, "readers": {"*": Role.READ}}
API = "/api/v1/clusters/lab"


@pytest.fixture(scope="module")
def provider() -> Generator[str]:
    with mock_oauth2(
        issuer("team", groups=["operators", "readers", "others"]),
        issuer("readers", groups=["readers"]),
        issuer("strangers", groups=["others"]),
        issuer("late", groups=["operators"], expires_s=-3600),
    ) as url:
        yield url


def _signed_in(served: Served, browser: httpx.Client) -> httpx.Response:
    """Follow the way to the provider and back; the last answer of our server."""
    begun = browser.get("/oidc/begin")
    assert begun.status_code in (302, 303, 307), begun.text
    back = httpx.get(begun.headers["location"])
    assert back.headers["location"].startswith(served.url), back.text
    return browser.get(back.headers["location"])


def _site(lab: Lab, folder: Path, issuer_url: str) -> OidcSettings:
    return OidcSettings(issuer_url, CLIENT, "any", roles=ROLES)


@pytest.mark.parametrize(
    ("name", "grants"),
    [("team", {"lab": "apply", "*": "read"}), ("readers", {"*": "read"})],
)
def test_groups_of_the_provider_give_roles(
    lab: Lab, provider: str, tmp_path: Path, name: str, grants: dict[str, str]
) -> None:
    oidc = _site(lab, tmp_path, f"{provider}/{name}")
    with (
        serving(settings_for(lab.bootstrap_servers, tmp_path, oidc=oidc)) as served,
        served.anonymous() as browser,
    ):
        assert _signed_in(served, browser).status_code == 303
        row = browser.get("/api/v1/session").json()
        assert (row["name"].startswith("ana (oidc "), row["grants"]) == (True, grants)
        assert browser.get(API).json()["role"] == grants.get("lab", "read")


@pytest.mark.parametrize(("name", "status"), [("strangers", 403), ("late", 401)])
def test_other_groups_and_expired_tokens_are_refused(
    lab: Lab, provider: str, tmp_path: Path, name: str, status: int
) -> None:
    oidc = _site(lab, tmp_path, f"{provider}/{name}")
    with (
        serving(settings_for(lab.bootstrap_servers, tmp_path, oidc=oidc)) as served,
        served.anonymous() as browser,
    ):
        assert _signed_in(served, browser).status_code == status
        assert browser.get("/api/v1/session").status_code == 401
        assert browser.get(API).status_code == 401


def test_a_token_that_was_changed_on_the_way_is_refused(
    lab: Lab, provider: str, tmp_path: Path
) -> None:
    with forging(provider) as proxy:
        oidc = _site(lab, tmp_path, f"{proxy}/readers")
        with (
            serving(settings_for(lab.bootstrap_servers, tmp_path, oidc=oidc)) as served,
            served.anonymous() as browser,
        ):
            assert _signed_in(served, browser).status_code == 401
            assert browser.get("/api/v1/session").status_code == 401
            refusals = [status for _, _, status in served.audited()]
        assert 401 in refusals
