"""Sign-in at an identity provider: roles from groups; expired, forged and replayed ones refused."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey
from playwright.sync_api import Browser, expect

from kedge.lab import Lab
from kedge.web.access.roles import Role
from kedge.web.access.secrets import digest_of
from kedge.web.settings import Limits, OidcSettings
from tests.web.browser import visiting
from tests.web.provider import CLIENT, SECRET, Provider, provider
from tests.web.served import Served, key, serving, settings_for

ROLES = {"operators": {"lab": Role.APPLY}, "readers": {"*": Role.READ}}
Site = tuple[Served, Provider]


@pytest.fixture
def site(lab: Lab, tmp_path: Path) -> Iterator[Site]:
    with provider() as made:
        oidc = OidcSettings(made.issuer, CLIENT, SECRET, roles=ROLES)
        with serving(settings_for(lab.bootstrap_servers, tmp_path, oidc=oidc)) as served:
            yield served, made


def _sign_in(browser: httpx.Client) -> httpx.Response:
    """Follow the way to the provider and back; the last answer of our server."""
    begun = browser.get("/oidc/begin")
    back = browser.get(begun.headers["location"])
    return browser.get(back.headers["location"])


def test_groups_give_roles(site: Site) -> None:
    served, made = site
    made.claims = {"groups": ["operators", "readers", "others"]}
    with served.anonymous() as browser:
        done = _sign_in(browser)
        assert (done.status_code, done.headers["location"]) == (303, "/")
        row = browser.get("/api/v1/session").json()
    assert re.fullmatch(r"ana \(oidc [0-9a-f]{16}\)", row["name"])
    assert row["grants"] == {"lab": "apply", "*": "read"}


def _name(served: Served, made: Provider, **claims: str) -> str:
    """The account of a person who signs in with these claims."""
    made.claims = {"groups": ["readers"], **claims}
    with served.anonymous() as browser:
        _sign_in(browser)
        return browser.get("/api/v1/session").raise_for_status().json()["name"]


def test_an_account_is_the_person_whatever_the_name(site: Site) -> None:
    first = _name(*site, sub="u1")
    assert _name(*site, sub="u1") == first
    assert _name(*site, sub="u2") != first, "another person of the same name"
    renamed = _name(*site, sub="u1", preferred_username="ana.b")
    assert renamed.rpartition("(")[2] == first.rpartition("(")[2]
    assert _name(*site, sub="u1" + 40 * "x") != _name(*site, sub="u1" + 41 * "x")
    assert len(_name(*site, preferred_username=300 * "a")) < 200, "as much as is kept of a name"


def test_a_person_without_a_group_that_has_a_role_is_refused(site: Site) -> None:
    served, made = site
    for groups in ([], ["others"], {"operators": True}, 5):
        made.claims = {"groups": groups}
        with served.anonymous() as browser:
            assert _sign_in(browser).status_code == 403
            assert browser.get("/api/v1/session").status_code == 401


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": int(time.time()) - 3600},
        {"iss": "https://other.example"},
        {"aud": "another"},
        {"nonce": "of another sign-in"},
        {"nbf": int(time.time()) + 3600},
    ],
    ids=lambda claims: next(iter(claims)),
)
def test_a_token_that_does_not_hold_is_refused(site: Site, claims: dict[str, Any]) -> None:
    served, made = site
    made.claims = {"groups": ["operators"], **claims}
    with served.anonymous() as browser:
        refused = _sign_in(browser)
        assert refused.status_code == 401
        assert browser.get("/api/v1/session").status_code == 401


def test_a_forged_signature_is_refused(site: Site) -> None:
    served, made = site
    made.claims = {"groups": ["operators"]}
    made.signed_by = RSAKey.generate_key(2048, {"kid": "own"})
    with served.anonymous() as browser:
        assert _sign_in(browser).status_code == 401


def test_a_key_that_the_provider_has_added_is_read_at_once_but_not_time_and_again(
    site: Site,
) -> None:
    served, made = site
    made.claims = {"groups": ["operators"]}
    with served.anonymous() as browser:
        assert _sign_in(browser).status_code == 303
        made.rotate()
        assert _sign_in(browser).status_code == 303
        assert made.keys_read == 2
        made.signed_by = RSAKey.generate_key(2048, {"kid": "of nobody"})
        assert [_sign_in(browser).status_code for _ in range(3)] == [401, 401, 401]
    assert made.keys_read == 2


@pytest.mark.parametrize(("status", "ours"), [(400, 401), (401, 401), (429, 503), (502, 503)])
def test_a_provider_in_trouble_is_told_apart_from_one_that_refuses(
    site: Site, status: int, ours: int
) -> None:
    served, made = site
    made.token_status = status
    with served.anonymous() as browser:
        refused = _sign_in(browser)
    assert refused.status_code == ours
    assert ("retry-after" in refused.headers) is (ours == 503)


def test_a_sign_in_is_finished_once_by_the_browser_that_began_it(site: Site) -> None:
    served, made = site
    made.claims = {"groups": ["readers"]}
    with served.anonymous() as browser, served.anonymous() as other:
        back = browser.get(browser.get("/oidc/begin").headers["location"]).headers["location"]
        assert other.get(back).status_code == 401, "another browser"
        state = parse_qs(urlsplit(back).query)["state"][0]
        cookies = dict(browser.cookies)
        assert browser.get(back).status_code == 303
        browser.cookies.update(cookies)
        replayed = browser.get(f"/oidc/callback?state={state}&code=code-0")
        assert replayed.status_code == 401, "used"


# ---- sessions ------------------------------------------------------------------------------------


def test_roles_are_those_that_the_settings_give_to_the_groups_now(lab: Lab, tmp_path: Path) -> None:
    with provider() as made:
        made.claims = {"groups": ["operators", "readers", "auditors"]}
        oidc = OidcSettings(made.issuer, CLIENT, SECRET, roles=ROLES)
        settings = settings_for(lab.bootstrap_servers, tmp_path, oidc=oidc)
        with serving(settings) as served, served.anonymous() as browser:
            _sign_in(browser)
            cookies = dict(browser.cookies)
        grants: list[Any] = []
        for roles in ({"operators": {"lab": Role.READ}}, {"auditors": {"*": Role.READ}}, {}):
            with (
                serving(replace(settings, oidc=replace(oidc, roles=roles))) as served,
                served.anonymous() as browser,
            ):
                browser.cookies.update(cookies)
                answer = browser.get("/api/v1/session")
                grants.append(answer.json().get("grants", answer.status_code))
        assert grants == [{"lab": "read"}, {"*": "read"}, 401]
        with serving(replace(settings, oidc=None)) as served, served.anonymous() as browser:
            browser.cookies.update(cookies)
            assert browser.get("/api/v1/session").status_code == 401


def test_an_administrator_ends_the_session_of_a_person(site: Site) -> None:
    served, made = site
    made.claims = {"groups": ["readers"]}
    with served.anonymous() as browser, served.client() as admin:
        _sign_in(browser)
        rows = admin.get("/api/v1/sessions").raise_for_status().json()["sessions"]
        assert [(row["kind"], row["grants"]) for row in rows] == [("oidc", {"*": "read"})]
        assert rows[0]["name"].startswith("ana (oidc ")
        cookie = next(iter(browser.cookies.jar)).value
        assert cookie is not None
        kept = str(rows[0])
        assert cookie not in kept, "the cookie is shown to no one"
        assert digest_of(cookie) not in kept
        path = f"/api/v1/sessions/{rows[0]['id']}"
        assert browser.get("/api/v1/sessions").status_code == 403
        admin.delete(path, headers=key()).raise_for_status()
        assert browser.get("/api/v1/session").status_code == 401
        assert admin.get("/api/v1/sessions").json() == {"sessions": []}
        assert admin.delete(path, headers=key()).status_code == 404
    assert ("session.revoke", "done", 200) in served.audited()


def test_a_session_is_ended_on_the_page(browser: Browser, site: Site) -> None:
    served, made = site
    made.claims = {"groups": ["readers"]}
    with visiting(browser, "phone") as visitor, served.anonymous() as person:
        _sign_in(person)
        visitor.open(served.url, served.token)
        visitor.go("#/audit", "Audit")
        visitor.check()
        visitor.check_width()
        page = visitor.page
        page.get_by_role("button", name=re.compile("^End ana ")).click()
        page.get_by_role("dialog").get_by_role("button", name="End the session").click()
        page.get_by_text("The session has ended").wait_for()
        expect(page.get_by_role("button", name=re.compile("^End ana "))).to_have_count(0)
        assert person.get("/api/v1/session").status_code == 401
        assert visitor.complaints == []


# ---- failures on the page ------------------------------------------------------------------------

PAGE = {"Accept": "text/html,application/xhtml+xml"}


@pytest.mark.parametrize(
    ("changed", "problem", "status"),
    [
        ({"error": "access_denied"}, "denied", 401),
        ({"error": "temporarily_unavailable"}, "provider", 503),
        ({"token_status": 502}, "provider", 503),
        ({"token_status": 400}, "refused", 401),
        ({"claims": {"groups": ["others"]}}, "no-role", 403),
    ],
)
def test_a_failed_sign_in_goes_back_to_the_page_and_programs_get_the_error(
    site: Site, changed: dict[str, Any], problem: str, status: int
) -> None:
    served, made = site
    for name, value in changed.items():
        setattr(made, name, value)
    with served.anonymous() as program, served.anonymous(**PAGE) as browser:
        assert _sign_in(program).status_code == status
        entries = served.audited().count(("GET /oidc/callback", "refused", status))
        answer = _sign_in(browser)
        assert (answer.status_code, answer.headers["location"]) == (
            303,
            f"/#/signin?problem={problem}",
        )
        assert browser.get("/api/v1/session").status_code == 401
    audited = served.audited().count(("GET /oidc/callback", "refused", status))
    assert audited == entries + (status != 503), "the audit has the refusal, not the redirect"


def test_failed_sign_ins_of_a_page_are_limited(lab: Lab, tmp_path: Path) -> None:
    limits = Limits(requests_per_minute=1000, sign_ins_per_minute=3)
    oidc = OidcSettings("http://127.0.0.1:1", CLIENT, SECRET, roles=ROLES)
    settings = settings_for(lab.bootstrap_servers, tmp_path, oidc=oidc, limits=limits)
    with serving(settings) as served, served.anonymous(**PAGE) as browser:
        path = "/oidc/callback?code=c&state=s"
        statuses = [browser.get(path).status_code for _ in range(5)]
    assert statuses == [303, 303, 303, 429, 429]


def test_a_provider_that_is_away_is_said_on_the_page(lab: Lab, tmp_path: Path) -> None:
    oidc = OidcSettings("http://127.0.0.1:1", CLIENT, SECRET, roles=ROLES)
    settings = settings_for(lab.bootstrap_servers, tmp_path, oidc=oidc)
    with serving(settings) as served, served.anonymous(**PAGE) as browser:
        answer = browser.get("/oidc/begin")
    assert answer.headers["location"] == "/#/signin?problem=provider"


def test_a_person_who_is_denied_reads_why_and_signs_in_at_the_second_try(
    browser: Browser, site: Site
) -> None:
    served, made = site
    made.error, made.claims = "access_denied", {"groups": ["readers"]}
    with visiting(browser, "phone") as visitor:
        page = visitor.page
        page.goto(served.url)
        page.get_by_role("link", name="Sign in with your organisation").click()
        page.get_by_role("alert").get_by_text("did not sign you in").wait_for()
        visitor.check()
        visitor.check_width()
        made.error = ""
        page.get_by_role("link", name="Sign in with your organisation").click()
        page.get_by_role("heading", name="Clusters").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in").wait_for()
        assert page.get_by_role("alert").count() == 0
        assert visitor.complaints == []


def test_a_server_without_a_provider_has_no_such_sign_in(served: Served) -> None:
    with served.anonymous() as browser:
        assert browser.get("/oidc/begin").status_code == 404
        assert browser.get("/api/v1/session/options").json()["oidc"] is False
