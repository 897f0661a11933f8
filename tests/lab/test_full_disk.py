"""A lab whose disk is full: clients hear of it at once, `status` names it, room ends it."""

from __future__ import annotations

import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedge.cluster.kafka_admin import KafkaAdmin
from tests.endpoint.client import Client
from tests.endpoint.requests import counted, create_all
from tests.lab.labs import detached, kedge, kedge_json, until

UNKNOWN_SERVER_ERROR = -1


@contextmanager
def full_disk(place: Path, about: dict[str, Any]) -> Generator[None]:
    """No file of the lab may grow any more."""
    limit = resource.RLIMIT_FSIZE
    before = resource.prlimit(about["pid"], limit)
    resource.prlimit(about["pid"], limit, ((place / "store").stat().st_size + 100, before[1]))
    try:
        yield
    finally:
        resource.prlimit(about["pid"], limit, before)


def created(client: Client, name: str) -> Any:
    return create_all(client, counted(name, 1, 1)).topics[0]


def test_a_full_disk_is_told_at_once_and_the_lab_goes_on_when_there_is_room(tmp_path: Path) -> None:
    place = tmp_path / "lab"
    with detached(place, "--brokers", 1) as about, Client(about["brokers"][0]["port"]) as client:
        assert created(client, "before").error_code == 0
        with full_disk(place, about):
            for name in ("one", "two", "three"):
                refused = created(client, name)
                assert refused.error_code == UNKNOWN_SERVER_ERROR
                assert "the journal cannot be written: File too large" in refused.error_message
            shown = kedge("lab", "status", "--dir", place).stdout
            assert "nothing can be stored: the journal cannot be written: File too large" in shown
        until(lambda: created(client, "after").error_code in (0, 36), "the creation of a topic")
        assert kedge_json("lab", "status", "--dir", place)["storage_fault"] == ""
    with detached(place) as about:
        assert {"before", "after"} <= topics(about)


def topics(about: dict[str, Any]) -> set[str]:
    admin = KafkaAdmin(about["bootstrap_servers"])
    try:
        return set(admin.topic_names())
    finally:
        admin.close()
