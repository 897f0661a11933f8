"""The loop inside the server: findings, proposals, decisions, history, and the controller."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from kedge.apply.this_process import this_process
from kedge.lab import Lab
from kedge.watch.policy import Budget, Detection, Kind, Mode, Policy, Webhook, WebhookForm
from kedge.watch.proposals import ProposalState
from kedge.web.access.roles import Role
from kedge.web.api.controller import ControllerShown, MovesShown, TimelineShown
from kedge.web.api.history import CapacityShown, CostShown, HistoryOfBroker, HistoryOfCluster
from kedge.web.api.loop import FindingList, LoopState, PolicyShown
from kedge.web.api.proposals import ChangeList, ProposalList, ProposalShown
from kedge.web.own_changes import run_entry
from tests.lab.labs import MB, create, running
from tests.watch.clusters import NOON, proposal
from tests.web.served import DEADLINE_S, Served, key, serving, watched_by
from tests.web.served import until as served_until

API = "/api/v1/clusters/lab"
POLICY = Policy(
    mode=Mode.APPROVE,
    sample_every_s=1.0,
    throttle=None,
    budget=Budget(kinds=frozenset({Kind.REPAIR})),
    detect=Detection(broker_down_for_s=1.0, new_broker_after_s=1e6, windows=1000),
)


@pytest.fixture(scope="module")
def lab() -> Generator[Lab]:
    """A lab that no test breaks."""
    with running(brokers=4, speed=60.0) as (lab, admin):
        create(admin, "t", (0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1))
        yield lab


@pytest.fixture(scope="module")
def served(
    lab: Lab, tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]
) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("loop")
    with serving(watched_by(lab, folder, POLICY, database=new_database())) as served:
        yield served


@pytest.fixture
def broken(tmp_path: Path, new_database: Callable[[], str]) -> Generator[Served]:
    """A server over a lab of four brokers, of which broker 2 is down for good."""
    with running(brokers=4, speed=60.0) as (lab, admin):
        create(admin, "t", (0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1))
        lab.fill("t", 10 * MB)
        settings = watched_by(lab, tmp_path, POLICY, database=new_database())
        with serving(settings) as served:
            with served.client() as client:
                until(client, "/loop", lambda found: found["last_sample_at"] is not None)
                until(client, "", lambda found: found["state"] == "healthy")
            lab.inject("broker-crash", 2)
            yield served


def until(client: httpx.Client, path: str, holds: Callable[[Any], bool]) -> Any:
    """The document of a path below the cluster, once something holds of it."""
    return served_until(client, f"{API}{path}", holds, 2 * DEADLINE_S)


def test_the_state_of_the_loop_its_policy_and_its_history_are_shown(served: Served) -> None:
    with served.client() as client:
        state = until(client, "/loop", lambda found: found["last_sample_at"] is not None)
        assert LoopState.model_validate(state).leads_here
        assert state["next_sample_at"] == state["last_sample_at"] + 1
        policy = PolicyShown.model_validate(client.get(f"{API}/policy").json())
        assert (policy.mode, policy.budget.kinds) == (Mode.APPROVE, ["repair"])
        history = until(client, "/history", lambda found: len(found["times"]) > 2)
        shown = HistoryOfCluster.model_validate(history)
        assert [each.broker for each in shown.brokers] == [0, 1, 2, 3]
        assert shown.totals["partitions"][-1] == 6
        one = HistoryOfBroker.model_validate(client.get(f"{API}/brokers/1/history").json())
        assert one.columns["replicas"][-1] == 4
        assert client.get(f"{API}/brokers/77/history").status_code == 404
        assert client.get(f"{API}/history?since=9&until=3").status_code == 400
        CapacityShown.model_validate(client.get(f"{API}/capacity").raise_for_status().json())
        assert not CostShown.model_validate(client.get(f"{API}/cost").json()).known
        FindingList.model_validate(client.get(f"{API}/findings").raise_for_status().json())


def test_a_policy_is_checked_without_being_set(served: Served) -> None:
    with served.client() as client:
        good = client.post(f"{API}/policy/validate", json={"text": "mode = 'auto'"})
        assert good.json()["mode"] == "auto"
        bad = client.post(f"{API}/policy/validate", json={"text": "[budget]\nbites = 1"})
        assert (bad.status_code, bad.json()["detail"]) == (400, "budget: unknown setting bites")
        assert client.get(f"{API}/policy").json()["mode"] == "approve"


def test_the_controller_its_tables_and_its_timeline_are_shown(served: Served) -> None:
    with served.client() as client:
        shown = ControllerShown.model_validate(client.get(f"{API}/controller").json())
        machines = {each.name: each for each in shown.machines}
        assert "OfflinePartition" in machines["partition"].may_follow["OnlinePartition"]
        assert machines["proposal"].may_follow["done"] == []
        MovesShown.model_validate(client.get(f"{API}/controller/reassignments").json())
        TimelineShown.model_validate(client.get(f"{API}/controller/events").json())


def test_a_broker_that_is_down_is_repaired_after_an_approval(broken: Served) -> None:
    """The whole way: found, proposed, refused to a planner, approved once, carried out."""
    planner = broken.token_for(lab=Role.PLAN)
    with broken.client() as client, broken.client(planner) as other:
        found = until(client, "/proposals?state=open", lambda each: each["proposals"])
        made = ProposalList.model_validate(found).proposals[0]
        assert (made.kind, made.brokers, made.version) == ("repair", [2], 1)
        path = f"{API}/proposals/{made.id}"
        changes = ChangeList.model_validate(client.get(f"{path}/changes").json())
        assert changes.total == made.partitions
        assert client.get(f"{path}/file").json()["version"] == 1
        assert other.get(path).status_code == 200
        body = {"version": 1, "at_once": True}
        refused = other.post(f"{path}/approve", json=body, headers=key())
        assert refused.status_code == 403, refused.text
        late = client.post(f"{path}/approve", json={"version": 7}, headers=key())
        assert (late.status_code, late.json()["title"]) == (409, "Stale Version")
        same = key()
        approved = client.post(f"{path}/approve", json=body, headers=same)
        assert approved.json()["state"] == "approved", approved.text
        again = client.post(f"{path}/approve", json=body, headers=same)
        assert (again.content, again.headers["Idempotency-Replayed"]) == (approved.content, "true")
        ended = until(client, f"/proposals/{made.id}", lambda each: each["state"] == "done")
        assert ProposalShown.model_validate(ended).run is not None
        until(client, "/findings", lambda each: each["findings"] == [])
        until(
            client,
            "/controller/events",
            lambda found: {"broker down", "isr shrank"} <= kinds(found),
        )
        entries = client.get("/api/v1/audit?cluster=lab").json()["entries"]
        runs = [each for each in entries if each["action"].startswith("run.")]
    ended_run, started_run = runs
    host = this_process().host
    for each in runs:
        assert (each["who"], each["source"]) == (approved.json()["by"], host)
        assert (each["outcome"], each["target"]) == ("done", f"proposal {made.id}")
    assert (started_run["action"], ended_run["action"]) == ("run.start", "run.end")
    assert started_run["before"] == {"state": "approved"}
    assert started_run["after"] == ended_run["before"] == {"state": "running"}
    assert ended_run["after"]["state"] == "done"
    audited = broken.audited()
    assert ("proposal.approve", "done", 200) in audited
    assert ("proposal.approve", "refused", 409) in audited
    assert any(status == 403 for _, _, status in audited)


def test_a_policy_that_changed_with_the_settings_is_audited(
    lab: Lab, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    settings = watched_by(lab, tmp_path, POLICY, database=new_database())
    hook = Webhook(WebhookForm.JSON, "http://127.0.0.1:9/secret-path")
    later = replace(POLICY, mode=Mode.AUTO, webhooks=(hook,))
    changed = watched_by(lab, tmp_path, later, database=settings.database)
    for each in (settings, changed, changed):
        with serving(each) as served:
            entries = served.services.audit.entries(limit=500)
    last, first = (each for each in entries if each.action == "policy.change")
    assert first.after is not None
    assert first.after["budget.kinds"] == ["repair"]
    assert (last.who, last.source, last.cluster) == ("the settings", this_process().host, "lab")
    assert last.before == {"mode": "approve", "webhooks": None}
    assert last.after is not None
    assert last.after["mode"] == "auto"
    assert "secret-path" not in str(last.after)


def test_a_run_that_could_not_begin_or_has_failed_is_audited_with_its_reason() -> None:
    running = proposal().in_state(ProposalState.RUNNING, NOON)
    for state in (ProposalState.OPEN, ProposalState.FAILED):
        ended = running.in_state(state, NOON, "its run did not begin")
        entry = run_entry("lab", ProposalState.RUNNING, ended)
        assert (entry.who, entry.action, entry.outcome) == ("the loop", "run.end", "failed")
        assert entry.detail == "its run did not begin"


def test_a_proposal_is_rejected_with_a_reason_and_not_made_again(broken: Served) -> None:
    with broken.client() as client:
        found = until(client, "/proposals?state=open", lambda each: each["proposals"])
        path = f"{API}/proposals/{found['proposals'][0]['id']}"
        empty = client.post(f"{path}/reject", json={"version": 1, "reason": ""}, headers=key())
        assert empty.status_code == 400
        body = {"version": 1, "reason": "it comes back tonight"}
        rejected = client.post(f"{path}/reject", json=body, headers=key()).json()
        assert (rejected["state"], rejected["why"]) == ("rejected", "it comes back tonight")
        twice = client.post(f"{path}/approve", json={"version": 2}, headers=key())
        assert twice.status_code == 409
        until(
            client, "/findings", lambda f: any("was rejected" in e["answer"] for e in f["findings"])
        )
        assert len(client.get(f"{API}/proposals").json()["proposals"]) == 1
        assert client.get(f"{API}/proposals/none").status_code == 404


def kinds(timeline: Any) -> set[str]:
    return {each["kind"] for each in timeline["changes"]}


def test_events_of_the_loop_reach_browsers(served: Served) -> None:
    kinds: set[str] = set()
    with served.client() as client, client.stream("GET", f"{API}/events") as stream:
        for line in stream.iter_lines():
            if line.startswith("event: "):
                kinds.add(line.removeprefix("event: "))
            if {"observed", "loop"} <= kinds:
                break
    assert {"observed", "loop"} <= kinds


def test_of_two_servers_one_leads_and_the_other_goes_on_when_it_ends(
    lab: Lab, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    settings = watched_by(lab, tmp_path, POLICY, database=new_database())
    with ExitStack() as stack:
        first = stack.enter_context(serving(settings))
        with first.client() as client:
            until(client, "/loop", lambda found: found["leads_here"])
        with serving(settings) as second, second.client() as client:
            state = client.get(f"{API}/loop").json()
            assert (state["leads_here"], state["leader"]["epoch"]) == (False, 1)
            assert first.services.loops.leads("lab")
            stack.close()
            state = until(client, "/loop", lambda found: found["leads_here"])
            assert state["leader"]["epoch"] == 2
