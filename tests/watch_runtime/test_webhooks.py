"""Webhooks, against an HTTP server on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from kedge.database import open_database
from kedge.watch.policy import Policy, Webhook, WebhookForm
from kedge.watch_runtime import WatchStore
from kedge.watch_runtime.webhooks import ATTEMPTS, WebhookSender
from tests.watch.clusters import NOON, proposal

SECRET = "T000/B000/secret"


@contextmanager
def receiver(*answers: int) -> Generator[tuple[str, list[dict[str, object]]]]:
    """A server that answers with these codes in turn, then with 200; what it was sent."""
    got: list[dict[str, object]] = []
    codes = iter(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(next(codes, 200))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{SECRET}", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def store(new_database: Callable[[], str]) -> Generator[WatchStore]:
    database = open_database(new_database())
    found = WatchStore(database, "orders", "a")
    assert found.acquire(NOON, 30.0)
    assert found.replace(proposal())
    yield found
    database.close()


def test_what_a_server_has_not_sent_when_it_stops_is_left_for_the_next(store: WatchStore) -> None:
    with receiver(503) as (url, got):
        store.set_policy(Policy(webhooks=(Webhook(WebhookForm.JSON, url),)))
        stopping = Event()
        sending = WebhookSender(store, sleep=lambda _: stopping.set(), stopping=stopping.is_set)
        assert sending.deliver(NOON) == 0
        assert len(got) == 1
        assert sending.deliver(NOON) == 0
        assert len(got) == 1
        following, _, notes = sender(store, Webhook(WebhookForm.JSON, url))
        assert following.deliver(NOON) == 1
    assert (len(got), notes) == (2, [])


def sender(store: WatchStore, *webhooks: Webhook) -> tuple[WebhookSender, list[float], list[str]]:
    store.set_policy(Policy(webhooks=webhooks))
    pauses: list[float] = []
    notes: list[str] = []
    made = WebhookSender(store, timeout_s=2.0, sleep=pauses.append, on_note=notes.append)
    return made, pauses, notes


def test_an_event_is_sent_once_in_the_form_of_each_webhook(store: WatchStore) -> None:
    with receiver() as (url, got):
        webhooks = [Webhook(form, url) for form in WebhookForm]
        sending, _, notes = sender(store, *webhooks)
        assert sending.deliver(NOON) == 1
        assert sending.deliver(NOON) == 0
    assert [("blocks" in each, "attachments" in each) for each in got] == [
        (False, False),
        (True, False),
        (False, True),
    ]
    assert got[0]["state"] == "open"
    assert notes == []


def test_a_server_in_trouble_is_tried_again_with_longer_pauses(store: WatchStore) -> None:
    with receiver(503, 429) as (url, got):
        sending, pauses, notes = sender(store, Webhook(WebhookForm.JSON, url))
        assert sending.deliver(NOON) == 1
    assert len(got) == 3
    assert pauses == [1.0, 2.0]
    assert notes == []


def test_a_refusal_is_not_repeated_and_the_address_stays_secret(store: WatchStore) -> None:
    with receiver(404) as (url, got):
        sending, pauses, notes = sender(store, Webhook(WebhookForm.JSON, url))
        assert sending.deliver(NOON) == 1
    assert (len(got), pauses) == (1, [])
    assert "status 404" in notes[0]
    assert SECRET not in notes[0]


def test_a_server_that_does_not_answer_is_given_up(store: WatchStore) -> None:
    with receiver() as (url, _):
        pass
    sending, pauses, notes = sender(store, Webhook(WebhookForm.JSON, url))
    assert sending.deliver(NOON) == 1
    assert len(pauses) == ATTEMPTS - 1
    assert "ConnectError" in notes[0]
    assert SECRET not in notes[0]
    assert store.events_to_deliver() == []
