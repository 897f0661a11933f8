"""The system's Chromium, driven by playwright; what it complains of fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
Scheme = Literal["light", "dark"]
SIZES = {"desktop": (1360, 900), "phone": (390, 844)}
WAIT_MS = 60_000
SERIOUS = ("serious", "critical")
TO_THE_TOP = "() => { scrollTo(0, 0); document.getElementById('status').replaceChildren() }"


def chromium() -> str:
    """The browser that the system has."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    path = next((each for each in found if each), None)
    assert path is not None, "no Chromium: make install brings it"
    return path


@contextmanager
def launched() -> Generator[Browser]:
    """A browser without a window during a `with` block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visitor:
    """A page that notes what the console says."""

    page: Page
    complaints: list[str] = field(default_factory=list[str])

    def open(self, url: str, token: str) -> None:
        """Sign in."""
        self.page.goto(url)
        self.page.fill("#token", token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.get_by_role("heading", name="Clusters").wait_for()

    def go(self, where: str, heading: str) -> None:
        """Open a page by its address, and wait for its heading."""
        self.page.evaluate("where => { location.hash = where }", where)
        self.page.get_by_role("heading", name=heading, exact=True, level=1).wait_for()

    def check(self) -> None:
        """Nothing in the console, and nothing serious for a screen reader or a keyboard."""
        assert self.complaints == []
        found: dict[str, Any] = Axe().run(self.page).response
        serious = [
            f"{each['id']}: {each['help']} ({each['nodes'][0]['target']})"
            for each in found["violations"]
            if each["impact"] in SERIOUS
        ]
        assert serious == []

    def check_width(self) -> None:
        """The page fits the screen: only boxes that say so scroll sideways."""
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.page.evaluate(wide) <= 0, f"{self.page.url} is wider than the screen"


def picture(visitor: Visitor, name: str) -> None:
    """Write the top of the page to the folder of KEDGE_SCREENSHOTS, where that is set.

    What was told in passing is of the step before, and is no part of the picture.
    """
    folder = os.environ.get("KEDGE_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        visitor.page.evaluate(TO_THE_TOP)
        visitor.page.screenshot(path=f"{folder}/{name}.png")


@contextmanager
def visiting(browser: Browser, size: str, scheme: Scheme = "light") -> Generator[Visitor]:
    """A new window of a size."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB"
    )
    context.set_default_timeout(WAIT_MS)
    visitor = Visitor(context.new_page())
    visitor.page.on(
        "console",
        lambda said: visitor.complaints.append(said.text) if said.type == "error" else None,
    )
    visitor.page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    try:
        yield visitor
    finally:
        context.close()
