"""The reference of the HTTP API is that of the server."""

from __future__ import annotations

from tests.docs.http_api import PAGE, generated


def test_the_reference_lists_every_call_of_the_server() -> None:
    assert PAGE.read_text() == generated(), "run python -m tests.docs.http_api"
