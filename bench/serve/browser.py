"""What a person at the page waits for, as Chromium measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from playwright.sync_api import Browser, Page

from bench.report import Timing
from tests.web.browser import launched, visiting

ROUNDS = 5
SETTLE_MS = 400
WATCH_INPUTS = """() => {
  window.inputs = [];
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) window.inputs.push(e.duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
}"""
# Chromium reports no event that took less than 16 ms.
SLOWEST_INPUT = (
    "() => { const all = window.inputs; window.inputs = []; return Math.max(16, ...all) }"
)
SHOWN_AT = "() => performance.getEntriesByName('page-shown').at(-1)?.startTime ?? null"


@dataclass(frozen=True, slots=True)
class PageTimes:
    """Seconds: until the page is shown, and from each kind of input to the next frame."""

    first_paint: Timing
    inputs: dict[str, Timing]


def page_times(url: str, token: str) -> PageTimes:
    """Open the page of the cluster several times, then use it."""
    with launched() as browser:
        first_paint = _timing([_opened(browser, url, token) for _ in range(ROUNDS)])
        with visiting(browser, "desktop") as visitor:
            visitor.open(url, token)
            visitor.go("#/clusters/lab", "lab")
            page = visitor.page
            page.wait_for_timeout(2000)
            page.evaluate(WATCH_INPUTS)
            inputs = {
                "switch of the resource": _measured(page, _switch),
                "arrow key on the map of partitions": _measured(page, _arrow),
                "pointer over the map of partitions": _measured(page, _hover),
            }
            visitor.go("#/clusters/lab/topics", "Topics")
            inputs["letter in the search of topics"] = _measured(page, _letter)
    return PageTimes(first_paint, inputs)


def _opened(browser: Browser, url: str, token: str) -> float:
    """Seconds from the navigation to the frame that shows the cluster, with an empty cache."""
    with visiting(browser, "desktop") as visitor:
        visitor.open(url, token)
        state = visitor.page.context.storage_state()
        context = browser.new_context(viewport={"width": 1360, "height": 900}, storage_state=state)
        try:
            page = context.new_page()
            page.goto(f"{url}/#/clusters/lab")
            page.locator(".tile").first.wait_for(timeout=60_000)
            page.wait_for_function(SHOWN_AT)
            shown: float = page.evaluate(SHOWN_AT)
            return shown / 1000
        finally:
            context.close()


def _measured(page: Page, act: Callable[[Page, int], None]) -> Timing:
    """The slowest event of each round."""
    times: list[float] = []
    for round_ in range(2 * ROUNDS):
        act(page, round_)
        page.wait_for_timeout(SETTLE_MS)
        times.append(float(page.evaluate(SLOWEST_INPUT)) / 1000)
    return _timing(times)


def _switch(page: Page, round_: int) -> None:
    names = ("Replicas", "Leaders", "Out of sync", "Disk")
    page.get_by_text(names[round_ % len(names)], exact=True).first.click()


def _arrow(page: Page, round_: int) -> None:
    if round_ == 0:
        page.locator(".map .scroll").focus()
    page.keyboard.press("ArrowDown")


def _hover(page: Page, round_: int) -> None:
    canvas = page.locator(".map canvas")
    canvas.hover(position={"x": 40 + 60 * round_, "y": 40 + 20 * round_})
    page.mouse.down()  # pointer moves alone are no events of the timing
    page.mouse.move(0, 0)
    page.mouse.up()


def _letter(page: Page, round_: int) -> None:
    page.get_by_label("Search topics").press("1" if round_ % 2 == 0 else "Backspace")


def _timing(seconds: list[float]) -> Timing:
    return Timing(median(seconds), min(seconds))
