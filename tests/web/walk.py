"""The way through the pages that people go: from a new topic to a run that is rolled back."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.web.browser import Visitor, picture


def look_at_the_cluster(visitor: Visitor, brokers: int, shot: str) -> None:
    """Brokers by two resources; a partition by the arrow keys."""
    page = visitor.page
    visitor.go("#/clusters/lab", "lab")
    page.get_by_text("Leaders", exact=True).click()
    page.get_by_text("Disk", exact=True).click()
    assert page.locator(".tile").count() == brokers
    page.locator(".map .scroll").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".tip").get_by_text(re.compile("in sync")).wait_for()
    visitor.check()
    page.evaluate("document.activeElement.blur()")
    picture(visitor, f"{shot}-cluster")


def create_and_expand_a_topic(visitor: Visitor, name: str, shot: str) -> None:
    """Four partitions, then six, then a config of its own."""
    page = visitor.page
    visitor.go("#/clusters/lab/topics", "Topics")
    page.get_by_role("button", name="Create a topic").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Partitions").fill("4")
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_role("heading", name=name).wait_for()
    page.get_by_label("New number of partitions").fill("6")
    page.get_by_role("button", name="Expand").click()
    page.get_by_role("dialog").get_by_role("button", name="Expand").click()
    expect(page.locator("tbody tr")).to_have_count(6)
    page.get_by_label("Config", exact=True).fill("retention.ms")
    page.get_by_label("Value").fill("3600000")
    page.get_by_role("button", name="Set config").click()
    page.get_by_text("3600000").wait_for()
    visitor.check()
    picture(visitor, f"{shot}-topic")


def make_a_plan(visitor: Visitor) -> None:
    """Search with a tolerance, and arrive at the plan."""
    visitor.go("#/clusters/lab/balance", "Balance")
    visitor.page.get_by_label("Tolerance").fill("10")
    visitor.page.get_by_role("button", name="Make a plan").click()
    visitor.page.get_by_role("heading", name="Plan", exact=True).wait_for()


def verify_and_predict(visitor: Visitor, rate: int, shot: str) -> None:
    """The certificate of the plan, then how long it would take at a rate; and back to the plan."""
    page = visitor.page
    page.get_by_role("button", name="Verify").click()
    page.get_by_text(re.compile("every figure and bound")).wait_for()
    page.get_by_label("Throttle").fill(str(rate))
    page.get_by_role("button", name="Predict").click()
    page.get_by_role("link", name="Moves and disks in time").wait_for()
    visitor.check()
    picture(visitor, f"{shot}-plan")
    plan = page.evaluate("location.hash")
    page.get_by_role("link", name="Moves and disks in time").click()
    page.get_by_role("heading", name="Prediction", level=1).wait_for()
    visitor.check()
    picture(visitor, f"{shot}-prediction")
    visitor.go(plan, "Plan")


def apply_the_plan(visitor: Visitor, rate: int | None = None) -> None:
    """Start the plan on its page: at a place of the throttle's slider, or as it was predicted."""
    page = visitor.page
    if rate is not None:
        page.get_by_label("Throttle").fill(str(rate))
    page.get_by_role("button", name="Apply …").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply", exact=True).click()
    page.get_by_role("heading", name="Run", exact=True).wait_for()


def steer_and_cancel_the_run(visitor: Visitor, rate: int, shot: str, *, share: str = "") -> None:
    """Another throttle, a pause, and the end of a run that is under way, and was predicted.

    `share` is a pattern of the percentage to wait for first.
    """
    page = visitor.page
    page.get_by_text(re.compile("in all; predicted")).wait_for()
    page.locator(".badge.moving").first.wait_for()
    page.get_by_text("In flight").wait_for()
    if share:
        page.get_by_text(re.compile(rf"^{share}\.\d %$")).wait_for()
    visitor.check()
    picture(visitor, f"{shot}-run")
    page.get_by_label("New throttle").fill(str(rate))
    page.get_by_role("button", name="Change the throttle").click()
    page.get_by_text(re.compile("The throttle is")).wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text(re.compile("no more moves start")).wait_for()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    page.locator(".badge.cancelled").first.wait_for()


def roll_the_run_back(visitor: Visitor) -> None:
    """Wait for the end of the run, then bring everything back."""
    page = visitor.page
    page.locator(".badge.done").first.wait_for()
    page.get_by_role("button", name="Roll back").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    page.get_by_role("heading", name="Rollback").wait_for()
    page.locator(".badge.done").first.wait_for()
