"""The pages in a real browser: the way from a new topic to a run that is rolled back.

With KEDGE_SCREENSHOTS=docs/images the pictures of the guide are written anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from tests.web.browser import Visitor, launched, visiting
from tests.web.served import Served, serving, settings_for

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a lab of nine brokers, of which three hold most of the data."""
    folder = tmp_path_factory.mktemp("site")
    with Lab.running(LabSettings(brokers=9, racks=3, speed=20), folder / "lab") as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lists = {p: [BrokerId((p + k) % 4) for k in range(3)] for p in range(24)}
        admin.create_topics([TopicCreation("payments", assignment=lists)])
        names = ["clicks", "orders", "returns"]
        admin.create_topics([TopicCreation(name, 12, 3) for name in names])
        admin.close()
        lab.fill("payments", 300_000_000)
        for name in names:
            lab.fill(name, 60_000_000)
        with serving(settings_for(lab.bootstrap_servers, folder)) as served:
            yield served


def _picture(visitor: Visitor, name: str) -> None:
    folder = os.environ.get("KEDGE_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        visitor.page.screenshot(path=f"{folder}/{name}.png")


def _make_plan(visitor: Visitor) -> None:
    visitor.go("#/clusters/lab/balance", "Balance")
    visitor.page.get_by_label("Tolerance").fill("10")
    visitor.page.get_by_role("button", name="Make a plan").click()
    visitor.page.get_by_role("heading", name="Plan", exact=True).wait_for()


def _apply(visitor: Visitor, rate: int) -> None:
    """Start the plan on the page, at a place of the throttle's slider."""
    page = visitor.page
    page.get_by_label("Throttle").fill(str(rate))
    page.get_by_role("button", name="Apply …").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply", exact=True).click()
    page.get_by_role("heading", name="Run", exact=True).wait_for()


def test_from_a_new_topic_to_a_run_that_is_rolled_back(browser: Browser, site: Served) -> None:
    with visiting(browser, "desktop") as visitor:
        page = visitor.page
        visitor.open(site.url, site.token)
        page.get_by_role("link", name=re.compile("lab")).first.wait_for()
        visitor.check()
        _picture(visitor, "serve-overview")

        visitor.go("#/clusters/lab", "lab")
        page.get_by_text("Leaders", exact=True).click()
        page.get_by_text("Disk", exact=True).click()
        assert page.locator(".tile").count() == 9
        visitor.check()
        _picture(visitor, "serve-cluster")

        visitor.go("#/clusters/lab/topics", "Topics")
        page.get_by_role("button", name="Create a topic").click()
        page.get_by_label("Name").fill("invoices")
        page.get_by_label("Partitions").fill("4")
        page.get_by_role("button", name="Create", exact=True).click()
        page.get_by_role("heading", name="invoices").wait_for()
        page.get_by_label("New number of partitions").fill("6")
        page.get_by_role("button", name="Expand").click()
        page.get_by_role("dialog").get_by_role("button", name="Expand").click()
        expect(page.locator("tbody tr")).to_have_count(6)
        page.get_by_label("Config", exact=True).fill("retention.ms")
        page.get_by_label("Value").fill("3600000")
        page.get_by_role("button", name="Set config").click()
        page.get_by_text("3600000").wait_for()
        visitor.check()
        _picture(visitor, "serve-topic")

        _make_plan(visitor)
        page.get_by_role("button", name="Verify").click()
        page.get_by_text(re.compile("every figure and bound")).wait_for()
        page.get_by_role("button", name="Predict").click()
        page.get_by_role("link", name="Moves and disks in time").wait_for()
        visitor.check()
        _picture(visitor, "serve-plan")
        plan = page.evaluate("location.hash")
        page.get_by_role("link", name="Moves and disks in time").click()
        page.get_by_role("heading", name="Prediction", level=1).wait_for()
        visitor.check()
        _picture(visitor, "serve-prediction")

        visitor.go(plan, "Plan")
        _apply(visitor, 10)
        page.locator(".badge.moving").first.wait_for()
        page.get_by_text("In flight").wait_for()
        _picture(visitor, "serve-run")
        visitor.check()
        page.get_by_label("New throttle").fill("20")
        page.get_by_role("button", name="Change the throttle").click()
        page.get_by_text(re.compile("The throttle is")).wait_for()
        page.get_by_role("button", name="Pause").click()
        page.get_by_text(re.compile("no more moves start")).wait_for()
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        page.locator(".badge.cancelled").first.wait_for()

        _make_plan(visitor)
        _apply(visitor, 95)
        page.locator(".badge.done").first.wait_for()
        page.get_by_role("button", name="Roll back").click()
        page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
        page.get_by_role("heading", name="Rollback").wait_for()
        page.locator(".badge.done").first.wait_for()

        visitor.go("#/audit", "Audit")
        page.get_by_text("run.rollback").first.wait_for()
        visitor.check()
        _picture(visitor, "serve-audit")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in").wait_for()
        assert visitor.complaints == []


def test_the_pages_fit_a_phone_in_the_dark(browser: Browser, site: Served) -> None:
    pages = [("#/clusters/lab", "lab"), ("#/clusters/lab/topics", "Topics")]
    pages += [("#/clusters/lab/balance", "Balance"), ("#/clusters/lab/runs", "Runs")]
    with visiting(browser, "phone", "dark") as visitor:
        visitor.open(site.url, site.token)
        for where, heading in pages:
            visitor.go(where, heading)
            visitor.check()
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert visitor.page.evaluate(wide) <= 0, f"{where} is wider than the screen"
            _picture(visitor, f"serve-phone-{heading.lower()}")
        _make_plan(visitor)
        visitor.check()


def test_a_topic_is_deleted_only_with_its_name_typed(browser: Browser, site: Served) -> None:
    with visiting(browser, "desktop") as visitor:
        visitor.open(site.url, site.token)
        visitor.go("#/clusters/lab/topics/returns", "returns")
        page = visitor.page
        page.get_by_role("button", name="Delete this topic").click()
        agree = page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True)
        expect(agree).to_be_disabled()
        page.get_by_label("Type returns to confirm").fill("return")
        expect(agree).to_be_disabled()
        page.get_by_label("Type returns to confirm").fill("returns")
        agree.click()
        page.get_by_role("heading", name="Topics").wait_for()
        assert visitor.complaints == []


def test_a_wrong_token_is_refused_on_the_page(browser: Browser, site: Served) -> None:
    with visiting(browser, "phone") as visitor:
        visitor.page.goto(site.url)
        visitor.page.fill("#token", "kedge_wrong")
        visitor.page.get_by_role("button", name="Sign in").click()
        visitor.page.get_by_role("alert").get_by_text("unknown, revoked or expired").wait_for()
