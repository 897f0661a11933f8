"""Eight clusters in two tabs of a browser, which has six connections to a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from kedge.lab import Lab
from tests.web.browser import visiting
from tests.web.served import Served, key, serving, settings_for

pytestmark = pytest.mark.timeout(180)

NAMES = [f"c{number}" for number in range(1, 9)]
# headless tabs are always in front: what a browser tells a tab that is put behind another one
BEHIND = """behind => {
  Object.defineProperty(document, "hidden", { get: () => behind, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture
def site(lab: Lab, tmp_path: Path) -> Iterator[Served]:
    """A server that knows the lab by eight names."""
    settings = settings_for(lab.bootstrap_servers, tmp_path)
    clusters = {name: replace(settings.clusters["lab"], name=name) for name in NAMES}
    with serving(replace(settings, clusters=clusters)) as served:
        yield served


def _topics(page: Page, name: str) -> str:
    """The figure of topics on the card of a cluster."""
    card = page.locator("a.card", has=page.get_by_role("heading", name=name, exact=True))
    figure = card.locator(".figure", has=page.get_by_text("topics", exact=True))
    return figure.locator(".value").inner_text()


def _await_streams(served: Served, page: Page, count: int) -> None:
    while served.services.broadcaster.listeners != count:
        page.wait_for_timeout(50)


def test_two_tabs_follow_eight_clusters_and_sign_out(browser: Browser, site: Served) -> None:
    with visiting(browser, "desktop") as visitor, site.client() as client:
        tabs = [visitor.page, visitor.page.context.new_page()]
        visitor.open(site.url, site.token)
        tabs[1].goto(site.url)
        tabs[1].get_by_role("heading", name="Clusters").wait_for()
        for tab in tabs:
            expect(tab.locator("a.card .figures")).to_have_count(len(NAMES))
        before = {name: int(_topics(tabs[0], name)) for name in NAMES}
        body = {"name": "seen-in-every-tab", "partitions": 1, "replication_factor": 1}
        client.post("/api/v1/clusters/c1/topics", json=body, headers=key()).raise_for_status()
        for tab in tabs:
            for name in NAMES:
                while int(_topics(tab, name)) != before[name] + 1:
                    tab.wait_for_timeout(50)
        assert site.services.broadcaster.listeners == len(tabs)

        tabs[0].get_by_role("button", name="Sign out").click()
        tabs[0].get_by_role("heading", name="Sign in").wait_for()
        assert visitor.complaints == []


def test_a_tab_that_is_hidden_keeps_no_stream_and_follows_again_when_it_is_shown(
    browser: Browser, site: Served
) -> None:
    with visiting(browser, "desktop") as visitor:
        page = visitor.page
        visitor.open(site.url, site.token)
        _await_streams(site, page, 1)
        page.evaluate(BEHIND, arg=True)
        _await_streams(site, page, 0)
        page.evaluate(BEHIND, arg=False)
        _await_streams(site, page, 1)
        visitor.go("#/clusters/c8/proposals", "Proposals")
        _await_streams(site, page, 1)
        page.evaluate(BEHIND, arg=True)
        _await_streams(site, page, 0)
        visitor.check()
