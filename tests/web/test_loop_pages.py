"""The pages of the loop in a real browser: proposals rejected and approved, history, controller."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from kedge.watch.policy import Detection, Mode, Policy
from tests.web.browser import WAIT_MS, Visitor, picture, visiting
from tests.web.served import Served, key, serving, until, watched_by

pytestmark = pytest.mark.timeout(240)

POLICY = Policy(
    mode=Mode.APPROVE,
    sample_every_s=1.0,
    cool_down_s=1.0,
    quiet_after_rejection_s=1.0,
    detect=Detection(windows=1000, disk_full_within_s=1.0, new_broker_after_s=1e6),
)
RACKS = "Spread replicas over racks again"


@contextmanager
def _site(tmp_path: Path, policy: Policy) -> Generator[Served]:
    """A server over nine brokers, four of which hold all data, some of it twice in a rack."""
    with Lab.running(LabSettings(brokers=9, racks=3, speed=60), tmp_path / "lab") as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lists = {p: [BrokerId((p + k) % 4) for k in range(3)] for p in range(24)}
        admin.create_topics([TopicCreation("payments", assignment=lists)])
        admin.close()
        lab.fill("payments", 100_000_000)
        with serving(watched_by(lab, tmp_path, policy)) as served:
            yield served


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    """A server whose loop carries out what is approved, as fast as the brokers can."""
    with _site(tmp_path, POLICY) as served:
        yield served


@pytest.fixture
def slow_site(tmp_path: Path) -> Iterator[Served]:
    """The same, with a throttle at which a run can be watched."""
    with _site(tmp_path, replace(POLICY, throttle=500_000)) as served:
        yield served


def _open(visitor: Visitor) -> Locator:
    """The proposal that is open, once there is one."""
    card = visitor.page.locator(".proposal", has_text=RACKS, has=visitor.page.locator(".open"))
    card.first.wait_for()
    return card.first


def _approve(visitor: Visitor) -> None:
    """Approve the proposal, and wait until its run has ended."""
    _agree(visitor)
    visitor.page.locator("tbody .badge.done").first.wait_for(timeout=2 * WAIT_MS)


def _agree(visitor: Visitor) -> None:
    page = visitor.page
    _open(visitor).get_by_role("button", name="Approve …").click()
    page.get_by_role("dialog").get_by_role("button", name="Approve", exact=True).click()
    page.get_by_text(re.compile("Approved: the loop starts it")).wait_for()


def test_proposals_are_rejected_with_a_reason_and_approved(browser: Browser, site: Served) -> None:
    with visiting(browser, "desktop") as visitor:
        page = visitor.page
        visitor.open(site.url, site.token)
        visitor.go("#/clusters/lab/proposals", "Proposals")
        _open(visitor)
        picture(visitor, "serve-proposals")
        _open(visitor).get_by_role("button", name="Reject …").click()
        visitor.check()
        page.get_by_label("Reason").fill("after the release")
        page.get_by_role("dialog").get_by_role("button", name="Reject", exact=True).click()
        page.locator("tbody tr", has_text="after the release").first.wait_for()

        _open(visitor).get_by_role("link", name=RACKS).click()
        page.get_by_role("heading", name=RACKS, level=1).wait_for()
        page.get_by_text("payments-2", exact=True).wait_for()
        visitor.check()
        visitor.go("#/clusters/lab/proposals", "Proposals")
        _approve(visitor)

        visitor.go("#/clusters/lab/history", "History")
        page.get_by_role("img", name=re.compile("Bytes on disk")).wait_for()
        page.get_by_text("Leaders", exact=True).click()
        page.get_by_role("img", name=re.compile("Leaders by broker")).wait_for()
        visitor.check()
        picture(visitor, "serve-history")

        visitor.go("#/clusters/lab/controller", "Controller")
        page.locator(".event", has_text="isr grew").first.wait_for()  # moves may end between reads
        page.get_by_text("replica", exact=True).click()
        page.get_by_role("button", name="Online", exact=True).focus()
        page.keyboard.press("Enter")
        page.get_by_text("may become Offline").wait_for()
        visitor.check()
        picture(visitor, "serve-controller")
        assert visitor.complaints == []


def test_a_proposal_is_approved_on_a_phone(browser: Browser, site: Served) -> None:
    pages = [("#/clusters/lab/history", "History"), ("#/clusters/lab/controller", "Controller")]
    with visiting(browser, "phone", "dark") as visitor:
        visitor.open(site.url, site.token)
        visitor.go("#/clusters/lab/proposals", "Proposals")
        _open(visitor)
        visitor.check()
        visitor.check_width()
        picture(visitor, "serve-phone-proposals")
        _approve(visitor)
        for where, heading in pages:
            visitor.go(where, heading)
            visitor.check()
            visitor.check_width()
        assert visitor.complaints == []


def _percent(visitor: Visitor) -> float:
    """How much of the run that is shown is done."""
    text = visitor.page.get_by_text(re.compile(r"^\d+\.\d %$")).first.inner_text()
    return float(text.removesuffix(" %"))


def test_the_run_of_a_proposal_is_watched_and_steered_on_its_page(
    browser: Browser, slow_site: Served
) -> None:
    with visiting(browser, "desktop") as visitor, slow_site.client() as client:
        page = visitor.page
        visitor.open(slow_site.url, slow_site.token)
        visitor.go("#/clusters/lab/proposals", "Proposals")
        _agree(visitor)
        path = "/api/v1/clusters/lab/runs"
        run = until(client, path, lambda row: row["runs"])["runs"][0]["run"]
        visitor.go(f"#/clusters/lab/runs/{run}", "Run")
        page.locator(".badge.moving").first.wait_for()
        page.get_by_text("In flight").wait_for()
        page.get_by_text(re.compile("in all; predicted")).wait_for()
        assert page.locator(".bars .b").count() > 2, "a line of heads, and the brokers"
        began = _percent(visitor)
        page.wait_for_function(
            "began => parseFloat(document.querySelector('.figures .value').textContent) > began",
            arg=began,
        )
        assert page.get_by_role("button", name="Resume").count() == 0, "the loop is at work on it"
        visitor.check()
        page.get_by_role("button", name="Pause").click()
        page.locator(".badge.paused").first.wait_for()
        assert page.get_by_role("button", name="Resume").count() == 0, "the loop has it still"
        page.get_by_role("button", name="Continue").click()
        page.locator(".badge.moving").first.wait_for()
        client.post(f"{path}/{run}/throttle", json={"throttle": "1GB"}, headers=key())
        page.locator(".badge.done").first.wait_for(timeout=2 * WAIT_MS)
        page.get_by_text("100.0 %").wait_for()
        assert page.get_by_role("button", name="Pause").count() == 0
        assert visitor.complaints == []
