"""The pages in a real browser: the way from a new topic to a run that is rolled back.

With KEDGE_SCREENSHOTS=docs/images the pictures of the guide are written anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from tests.web.browser import Scheme, picture, visiting
from tests.web.run_calls import API, planned, started
from tests.web.served import Served, ended_job, key, serving, settings_for, until
from tests.web.walk import (
    apply_the_plan,
    create_and_expand_a_topic,
    look_at_the_cluster,
    make_a_plan,
    roll_the_run_back,
    steer_and_cancel_the_run,
    verify_and_predict,
)

pytestmark = pytest.mark.timeout(240)

WINDOWS = [("desktop", "light", "invoices"), ("phone", "dark", "receipts")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a lab of nine brokers, of which three hold most of the data."""
    folder = tmp_path_factory.mktemp("site")
    with Lab.running(LabSettings(brokers=9, racks=3), folder / "lab") as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        lists = {p: [BrokerId((p + k) % 4) for k in range(3)] for p in range(24)}
        admin.create_topics([TopicCreation("payments", assignment=lists)])
        names = ["clicks", "orders", "returns"]
        admin.create_topics([TopicCreation(name, 12, 3) for name in names])
        admin.close()
        lab.fill("payments", 100_000_000)
        for name in names:
            lab.fill(name, 20_000_000)
        with serving(settings_for(lab.bootstrap_servers, folder)) as served:
            yield served


@pytest.mark.parametrize(("size", "scheme", "topic"), WINDOWS)
def test_from_a_new_topic_to_a_run_that_is_rolled_back(
    browser: Browser, site: Served, size: str, scheme: Scheme, topic: str
) -> None:
    shot = "serve" if size == "desktop" else f"serve-{size}"
    with visiting(browser, size, scheme) as visitor:
        page = visitor.page
        visitor.open(site.url, site.token)
        page.get_by_role("link", name=re.compile("lab")).first.wait_for()
        visitor.check()
        picture(visitor, f"{shot}-overview")
        look_at_the_cluster(visitor, 9, shot)
        create_and_expand_a_topic(visitor, topic, shot)
        make_a_plan(visitor)
        verify_and_predict(visitor, 53, shot)
        apply_the_plan(visitor)
        steer_and_cancel_the_run(visitor, 45, shot, share="[2-9]\\d")
        make_a_plan(visitor)
        apply_the_plan(visitor, 95)
        roll_the_run_back(visitor)

        visitor.go("#/audit", "Audit")
        page.get_by_text("run.rollback").first.wait_for()
        visitor.check()
        picture(visitor, f"{shot}-audit")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in").wait_for()
        assert visitor.complaints == []


@pytest.mark.parametrize(("size", "scheme"), [("phone", "light"), ("desktop", "dark")])
def test_every_page_fits_and_can_be_read(
    browser: Browser, site: Served, size: str, scheme: Scheme
) -> None:
    pages = [("", "lab"), ("/topics", "Topics"), ("/balance", "Balance"), ("/runs", "Runs")]
    pages += [("/brokers/2", "Broker 2"), ("/topics/orders", "orders"), ("/history", "History")]
    pages += [("/proposals", "Proposals"), ("/controller", "Controller")]
    with visiting(browser, size, scheme) as visitor:
        visitor.page.goto(site.url)
        visitor.page.get_by_role("heading", name="Sign in").wait_for()
        visitor.check()
        visitor.open(site.url, site.token)
        for path, heading in pages:
            visitor.go(f"#/clusters/lab{path}", heading)
            visitor.check()
            visitor.check_width()
            if (path, scheme) in (("", "dark"), ("/balance", "dark")):
                picture(visitor, f"serve-dark-{path[1:] or 'cluster'}")
        visitor.go("#/audit", "Audit")
        visitor.check()
        visitor.check_width()


def test_the_curve_grows_while_the_search_is_at_work(browser: Browser, site: Served) -> None:
    with site.client() as client, visiting(browser, "phone") as visitor:
        goals = {"tolerance": 0.1, "topics": "payments"}
        job = client.post(f"{API}/plans", json={"goals": goals}, headers=key()).json()
        told = ended_job(client, job)["progress"]  # the last that the server told of this search
        assert len(told["curve"]) > 1
        stops = len(told["curve"])
        page, events = visitor.page, f"retry: 60000\nevent: progress\ndata: {json.dumps(told)}\n\n"
        page.route(
            "**/jobs/*/events",
            lambda route: route.fulfill(content_type="text/event-stream", body=events),
        )
        visitor.open(site.url, site.token)
        visitor.go("#/clusters/lab/balance", "Balance")
        page.get_by_role("button", name="Make a plan").click()
        note = page.locator(".note", has=page.get_by_role("heading", name="Searching"))
        curve = note.get_by_role("group", name=f"balance, {stops} stops")
        expect(curve.locator(".dot")).to_have_count(stops)
        expect(curve.get_by_role("button")).to_have_count(0)  # there is no plan to take yet
        visitor.check()
        visitor.check_width()


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


def test_a_rollback_on_a_cluster_that_is_not_healthy_is_asked_about(
    browser: Browser, server: Served, skewed_lab: Lab
) -> None:
    with server.client() as client, visiting(browser, "desktop") as visitor:
        run = ended_job(client, started(client, planned(client), None))["run"]
        everywhere = {"name": "everywhere", "partitions": 1, "replication_factor": 4}
        client.post(f"{API}/topics", json=everywhere, headers=key()).raise_for_status()
        skewed_lab.inject("broker-crash", 3)
        until(client, "/api/v1/clusters", lambda all: all["clusters"][0]["summary"]["brokers_down"])
        page = visitor.page
        visitor.open(server.url, server.token)
        visitor.go(f"#/clusters/lab/runs/{run}", "Run")
        page.get_by_role("button", name="Roll back").click()
        page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
        asked = page.get_by_role("dialog", name="Roll back all the same?")
        asked.get_by_text("The cluster is not healthy: broker 3 is down").wait_for()
        asked.get_by_role("button", name="Ignore it and roll back").click()
        page.get_by_role("heading", name="Rollback").wait_for()
        newest = client.get(f"{API}/jobs").json()["jobs"][0]
        assert (newest["kind"], newest["request"]["ignore_health"]) == ("rollback", True)
    asked_and_made = [entry[1:] for entry in server.audited() if entry[0] == "run.rollback"]
    assert asked_and_made == [("done", 202), ("refused", 409)]
