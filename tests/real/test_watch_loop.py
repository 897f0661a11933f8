"""The watch loop on real brokers of 4.1: a broker that is lost for good, and one that is added."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from jvm import KAFKA_4_1
from kedge.execution.windows import parse_window
from kedge.watch.policy import DAY_S, Budget, Detection, Kind, Mode, Policy
from kedge.watch.proposals import ProposalState
from kedge.web.settings import ClusterSettings, ServerSettings
from tests.real.four_brokers import KILLABLE, FourBrokers, four_brokers
from tests.real.operator import Operator
from tests.watch_runtime.watched import MINUTE, ONE_AM, Watched
from tests.web.served import key, serving, until

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(1200)]

API = "/api/v1/clusters/real"
TOPIC, MB = "watched", 1_000_000
EVERY_S = 3.0
DEADLINE_S = 300.0
OFFSETS = {"offsets.topic.replication.factor": "3"}


@pytest.fixture
def four(tmp_path: Path) -> Generator[FourBrokers]:
    """A cluster of its own: one of its brokers does not come back.

    Offsets of groups have more than one replica, or what is on that broker alone is lost with it.
    """
    with four_brokers(tmp_path, KAFKA_4_1, extra=lambda _: OFFSETS) as cluster:
        yield cluster


@pytest.fixture
def operator(four: FourBrokers, tmp_path: Path) -> Generator[Operator]:
    operator = Operator(four, tmp_path)
    yield operator
    operator.close()


def _until(client: httpx.Client, path: str, holds: Callable[[Any], bool]) -> Any:
    return until(client, f"{API}{path}", holds, DEADLINE_S)


def test_a_broker_that_is_killed_for_good_is_repaired_once_a_person_approves(
    four: FourBrokers, operator: Operator, tmp_path: Path
) -> None:
    operator.create(TOPIC, {n: (KILLABLE, 1 + n % 3) for n in range(6)})
    operator.fill(TOPIC, range(6), MB)
    policy = Policy(
        mode=Mode.APPROVE,
        sample_every_s=EVERY_S,
        budget=Budget(kinds=frozenset({Kind.REPAIR})),
        detect=Detection(broker_down_for_s=EVERY_S, new_broker_after_s=1e6, windows=1000),
    )
    cluster = ClusterSettings("real", four.bootstrap, sample_s=1.0, policy=policy)
    database = f"sqlite:///{tmp_path / 'serve.db'}"
    settings = ServerSettings({"real": cluster}, port=0, database=database)
    with serving(settings) as served, served.client() as client:
        _until(client, "/loop", lambda state: state["last_sample_at"] is not None)
        four.kill()
        found = _until(client, "/proposals?state=open", lambda each: each["proposals"])
        made = found["proposals"][0]
        assert (made["kind"], made["brokers"]) == ("repair", [KILLABLE])
        assert _samples_until(client, made["made_at"]) <= 2
        body = {"version": made["version"], "at_once": True}
        path = f"{API}/proposals/{made['id']}"
        client.post(f"{path}/approve", json=body, headers=key()).raise_for_status()
        ended = _until(client, f"/proposals/{made['id']}", lambda each: each["ended_at"])
        assert ended["state"] == "done", ended["why"]
        _until(client, "", lambda each: each["summary"]["under_replicated"] == 0)
    replicas = operator.replicas([TOPIC])
    assert all(KILLABLE not in each for each in replicas.values()), replicas
    operator.assert_no_throttles()


def _samples_until(client: httpx.Client, made_at: float) -> int:
    """How many samples after the first one without the broker the proposal was made."""
    history = client.get(f"{API}/brokers/{KILLABLE}/history").raise_for_status().json()
    alive = zip(history["times"], history["columns"]["alive"], strict=True)
    down = [at for at, value in alive if not value and at <= made_at]
    return len(down) - 1


def test_an_added_broker_is_filled_within_the_budget_over_two_windows(
    four: FourBrokers, operator: Operator, tmp_path: Path
) -> None:
    """Broker 4 has nothing; what it should get is twice the budget of a day."""
    operator.create(TOPIC, {n: (1 + n % 3, 1 + (n + 1) % 3) for n in range(12)})
    operator.fill(TOPIC, range(12), 2 * MB)
    watched = Watched(four.bootstrap, tmp_path)
    server = watched.server("a")
    day_bytes = 7 * MB
    server.store.set_policy(
        Policy(
            mode=Mode.AUTO,
            throttle=None,
            cool_down_s=3600.0,
            budget=Budget(
                bytes_per_day=day_bytes,
                windows=(parse_window("01:00-05:00"),),
                kinds=frozenset({Kind.FILL}),
            ),
            detect=Detection(new_broker_after_s=MINUTE, leaders_away=1.0, windows=1000),
        )
    )
    assert server.lead()
    for day in range(2):
        watched.now = max(watched.now, ONE_AM + day * (DAY_S + 2 * 3600))
        watched.look(server, 3)
        watched.finish(server)
    filled = [p for p in server.store.proposals() if p.state is ProposalState.DONE]
    assert [p.kind for p in filled] == [Kind.FILL, Kind.FILL], filled
    assert all(0 < p.cost.bytes <= day_bytes for p in filled)
    held = [tp for tp, ids in operator.replicas([TOPIC]).items() if KILLABLE in ids]
    assert 5 <= len(held) <= 7, held
    operator.assert_no_throttles()
    server.stop()
    watched.database.close()
