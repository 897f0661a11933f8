"""Streams of events: of other servers' jobs, of accounts that end, and no more than are allowed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kedge.errors import TooManyRequests
from kedge.lab import Lab
from kedge.web.access.roles import Role
from kedge.web.events import KEEP_ALIVE, WAITING_MAX, Broadcaster, Listener, encode_event
from kedge.web.jobs.job_store import JobState, JobStore
from tests.web.served import serving, settings_for

API = "/api/v1/clusters/lab"
pytestmark = pytest.mark.timeout(60)


def _events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, one after the other."""
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


# ---- two servers ---------------------------------------------------------------------------------


def test_a_job_of_another_server_is_followed_to_its_end(
    lab: Lab, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    settings = settings_for(lab.bootstrap_servers, tmp_path, database=new_database())
    with serving(settings) as served, served.client() as client:
        store = JobStore(served.services.database, "a server elsewhere")
        row = store.new_row("predict", "lab", "test", {})
        store.add(row)
        job = row.id
        store.set_values(job, state=str(JobState.RUNNING), progress={"percent": 10, "notes": []})
        with client.stream("GET", f"{API}/jobs/{job}/events") as response:
            events = _events(response.iter_lines())
            assert next(events)[1]["state"] == "running"
            assert next(events) == ("progress", {"percent": 10, "notes": []})
            said = {"text": "halfway", "at": 1.0}
            store.set_values(job, progress={"percent": 50, "notes": [said]})
            assert next(events) == ("note", said)
            assert next(events)[1]["percent"] == 50
            store.end(job, JobState.DONE, result={"prediction_id": "1"})
            kind, row = next(events)
            assert (kind, row["state"], row["result"]) == ("job", "done", {"prediction_id": "1"})


# ---- accounts ------------------------------------------------------------------------------------


def _listener(name: str, answers: Callable[[], bool] = lambda: True) -> Listener:
    return Listener(name, answers)


async def _read(broadcaster: Broadcaster, listener: Listener, most: int) -> list[bytes]:
    stream = broadcaster.stream("cluster:lab", lambda: b"first", listener)
    found: list[bytes] = []
    async for each in stream:
        found.append(each)
        if len(found) == most:
            break
    await stream.aclose()
    return found


def test_a_stream_ends_when_its_account_may_no_longer_listen() -> None:
    answers = iter([True, False])
    broadcaster = Broadcaster(10, 10, check_every_s=0.01)
    read = _read(broadcaster, _listener("ann", lambda: next(answers)), 100)
    assert asyncio.run(read) == [b"first", KEEP_ALIVE]
    assert broadcaster.listeners == 0


def test_a_stream_with_many_events_is_checked_too() -> None:
    broadcaster = Broadcaster(10, 10, check_every_s=0.05)

    async def scenario() -> list[bytes]:
        broadcaster.attach(asyncio.get_running_loop())
        reading = asyncio.create_task(_read(broadcaster, _listener("ann", lambda: False), 1000))
        while not reading.done():
            broadcaster.publish("cluster:lab", "observed", {})
            await asyncio.sleep(0.005)
        return reading.result()

    found = asyncio.run(scenario())
    assert set(found[1:]) == {encode_event("observed", {})}, "no silence in which it was checked"


def test_one_account_cannot_take_every_stream() -> None:
    broadcaster = Broadcaster(3, 2)

    async def scenario() -> None:
        streams = [broadcaster.stream("c", lambda: b"first", _listener("ann")) for _ in range(2)]
        for each in streams:
            await anext(each)
        with pytest.raises(TooManyRequests, match="2 streams of this account"):
            broadcaster.check_room("ann")
        broadcaster.check_room("bob")
        streams.append(broadcaster.stream("c", lambda: b"first", _listener("bob")))
        await anext(streams[2])
        with pytest.raises(TooManyRequests, match="3 streams are open"):
            broadcaster.check_room("eve")
        for each in streams:
            await each.aclose()
        broadcaster.check_room("ann")

    asyncio.run(scenario())


# ---- all clusters in one stream ------------------------------------------------------------------


def test_one_stream_has_the_events_of_every_cluster_that_the_account_may_read(
    lab: Lab, tmp_path: Path
) -> None:
    settings = settings_for(lab.bootstrap_servers, tmp_path)
    names = ("a", "b", "c")
    clusters = {name: replace(settings.clusters["lab"], name=name) for name in names}
    with serving(replace(settings, clusters=clusters)) as served:
        served.services.broadcaster.check_every_s = 0.2
        made = served.services.accounts.create_token(
            "ann", {"a": Role.READ, "c": Role.PLAN}, by="test"
        )
        with served.client(made.secret) as client, client.stream("GET", "/api/v1/events") as stream:
            events = _events(stream.iter_lines())
            first = [next(events) for _ in range(2)]
            assert [(kind, row["cluster"]) for kind, row in first] == [
                ("observed", "a"),
                ("observed", "c"),
            ]
            later = [next(events) for _ in range(20)]
            assert {row["cluster"] for _, row in later} == {"a", "c"}
            assert {kind for kind, _ in later} >= {"observed"}
            assert served.services.broadcaster.listeners == 1
            served.services.accounts.revoke_token(made.id)
            for _ in events:  # it ends, or the test runs out of time
                pass


def test_a_stream_of_many_clusters_has_room_for_an_event_of_each() -> None:
    channels = [f"cluster:{number}" for number in range(2 * WAITING_MAX)]
    broadcaster = Broadcaster(10)

    async def scenario() -> list[bytes]:
        broadcaster.attach(asyncio.get_running_loop())
        stream = broadcaster.stream_of(channels, lambda: b"first", _listener("ann"))
        found = [await anext(stream)]
        for each in channels:
            broadcaster.publish(each, "observed", {"cluster": each})
        found += [await anext(stream) for _ in channels]
        await stream.aclose()
        return found

    found = asyncio.run(scenario())
    assert found[1:] == [encode_event("observed", {"cluster": each}) for each in channels]
    assert broadcaster.channels == []


def test_the_stream_of_a_revoked_token_ends(lab: Lab, tmp_path: Path) -> None:
    with serving(settings_for(lab.bootstrap_servers, tmp_path)) as served:
        served.services.broadcaster.check_every_s = 0.2
        made = served.services.accounts.create_token("ann", {"*": Role.READ}, by="test")
        with served.client(made.secret) as client:
            with client.stream("GET", f"{API}/events") as response:
                lines = response.iter_lines()
                assert next(lines) == "event: observed"
                served.services.accounts.revoke_token(made.id)
                for _ in lines:  # it ends, or the test runs out of time
                    pass
            assert client.get(f"{API}/events").status_code == 401


def test_streams_of_one_account_are_limited(lab: Lab, tmp_path: Path) -> None:
    settings = settings_for(lab.bootstrap_servers, tmp_path)
    few = replace(settings, limits=replace(settings.limits, streams_per_account=1))
    with (
        serving(few) as served,
        served.client() as client,
        served.client() as second,
        client.stream("GET", f"{API}/events") as response,
    ):
        lines = response.iter_lines()
        next(lines)  # it is open, and stays so
        refused = second.get(f"{API}/events")
        assert refused.status_code == 429
        assert "streams_per_account" in refused.json()["hint"]
