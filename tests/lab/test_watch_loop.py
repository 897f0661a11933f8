"""The watch loop on a lab: findings become proposals, proposals become runs, servers take over."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.apply.run_store import Runs
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.errors import WriterFenced
from kedge.execution.windows import parse_window
from kedge.lab import Lab
from kedge.model import BrokerId
from kedge.watch.findings import FindingKind
from kedge.watch.policy import DAY_S, Budget, Detection, Kind, Mode, Policy
from kedge.watch.proposals import Proposal, ProposalState, approve
from kedge.watch_runtime import LoopRunner
from tests.lab.labs import MB, create, running, until
from tests.watch_runtime.watched import MINUTE, ONE_AM, Watched

POLICY = Policy(
    mode=Mode.APPROVE,
    throttle=None,
    detect=Detection(
        broker_down_for_s=MINUTE,
        under_replicated_for_s=MINUTE,
        new_broker_after_s=MINUTE,
        leaders_away=1.0,
        windows=1000,
    ),
)


class WatchedLab(Watched):
    """A lab that is watched."""

    def __init__(self, lab: Lab, place: Path) -> None:
        super().__init__(lab.bootstrap_servers, place)
        self.lab = lab


@pytest.fixture
def watched(tmp_path: Path) -> Generator[WatchedLab]:
    with running(brokers=4, speed=20.0) as (lab, admin):
        create(admin, "t", (0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1))
        lab.fill("t", 40 * MB)
        found = WatchedLab(lab, tmp_path)
        yield found
        found.database.close()


def only(server: LoopRunner) -> Proposal:
    (found,) = server.store.proposals()
    return found


def test_a_broker_that_is_killed_for_good_is_repaired_after_an_approval(
    watched: WatchedLab,
) -> None:
    server = watched.server("a")
    server.store.set_policy(replace(POLICY, budget=Budget(kinds=frozenset({Kind.REPAIR}))))
    assert server.lead()
    watched.lab.inject("broker-crash", 2)
    until(lambda: watched.missing() > 0, "replicas that are missing")
    watched.look(server, 2)  # the grace time is one interval: found at the second sample
    made = next(p for p in server.store.proposals() if p.kind is Kind.REPAIR)
    assert (made.state, made.subject) == (ProposalState.OPEN, (2,))
    assert made.reasons[0].startswith("Broker 2 has been down for 1 min 00 s")
    assert server.store.replace(approve(made, "ann", watched.now, at_once=True), fenced=False)
    watched.look(server)
    watched.finish(server)
    ended = server.store.proposal(made.id)
    assert (ended.state, ended.why) == (ProposalState.DONE, "")
    assert watched.missing() == 0
    kinds = {each.kind for each in server.store.findings()}
    assert FindingKind.BROKER_DOWN not in kinds


def test_a_new_broker_is_filled_within_the_budget_over_two_windows(watched: WatchedLab) -> None:
    """Broker 3 is empty; a day's budget is half of what it should get."""
    server = watched.server("a")
    budget = Budget(bytes_per_day=60 * MB, windows=(parse_window("01:00-05:00"),))
    server.store.set_policy(replace(POLICY, mode=Mode.AUTO, budget=budget, cool_down_s=3600.0))
    assert server.lead()
    watched.look(server, 2)
    first = only(server)
    assert (first.kind, first.subject, first.complete) == (Kind.FILL, (3,), False)
    assert 0 < first.cost.bytes <= 60 * MB
    watched.finish(server)
    assert server.store.proposal(first.id).state is ProposalState.DONE
    watched.now = ONE_AM + 12 * 3600
    watched.look(server, 2)
    later = [p for p in server.store.proposals() if p.id != first.id]
    assert all(p.state in (ProposalState.OPEN, ProposalState.STALE) for p in later)
    watched.now = ONE_AM + DAY_S + 2 * 3600
    watched.look(server, 3)
    watched.finish(server)
    done = [p for p in server.store.proposals() if p.state is ProposalState.DONE]
    assert len(done) == 2
    assert all(p.cost.bytes <= 60 * MB for p in done)
    assert all(p.by == "the loop" for p in done)


def test_a_proposal_waits_for_a_run_that_moves_nothing_and_the_policy_of_its_end_holds(
    watched: WatchedLab, tmp_path: Path
) -> None:
    server = watched.server("a")
    server.store.set_policy(replace(POLICY, mode=Mode.AUTO))
    assert server.lead()
    with closing(KafkaAdmin(watched.lab.bootstrap_servers)) as admin:
        runs = Runs(tmp_path / "runs", admin.describe().cluster_id)
    with runs.held():  # as a run that is paused
        watched.look(server, 3)
        assert "another process acts on the runs" in only(server).waits_for
        assert (only(server).state, only(server).version) == (ProposalState.OPEN, 1)
        server.store.set_policy(replace(POLICY, mode=Mode.PROPOSE))
    watched.look(server, 2)
    assert (only(server).state, only(server).version) == (ProposalState.OPEN, 1)
    server.store.set_policy(replace(POLICY, mode=Mode.AUTO))
    watched.look(server)
    watched.finish(server)
    assert only(server).state is ProposalState.DONE


def test_another_server_continues_a_run_that_was_interrupted(watched: WatchedLab) -> None:
    first, second = watched.server("a"), watched.server("b")
    policy = replace(POLICY, mode=Mode.AUTO, throttle=2_000_000)
    first.store.set_policy(policy)
    assert first.lead()
    assert not second.lead()
    watched.look(first, 2)
    until(lambda: watched.throttles(), "throttles")
    first.carrier.stop()  # as a process that is told to end: the run stops and can be continued
    first.store.release()
    assert second.lead()
    with pytest.raises(WriterFenced):
        first.store.store_findings(watched.now, (), ())
    assert first.look() is None
    watched.look(second)
    second.store.set_policy(replace(policy, throttle=None))
    watched.finish(second)
    assert only(second).state is ProposalState.DONE
    assert watched.throttles() == []
    with closing(KafkaAdmin(watched.lab.bootstrap_servers)) as admin:
        topic = admin.describe_topics(["t"])["t"]
        assert not isinstance(topic, Exception)
        assert any(BrokerId(3) in each.replicas for each in topic.partitions)


def test_the_command_proposes_approves_and_repairs(
    watched: WatchedLab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kedge.cli.app import run

    policy = tmp_path / "policy.toml"
    policy.write_text(
        "mode = 'approve'\nthrottle = 'none'\nsample_every = '1s'\n"
        "[detect]\nbroker_down_for = '1s'\nnew_broker_after = '1d'\n"
    )
    at = ("--bootstrap-server", watched.lab.bootstrap_servers, "--state", str(tmp_path / "state"))
    watched.lab.inject("broker-crash", 2)
    until(lambda: watched.missing() > 0, "replicas that are missing")
    found = ""

    def proposed() -> bool:
        nonlocal found
        assert run(["watch", *at, "--once", "--policy", str(policy)]) == 0
        lines = capsys.readouterr().out.splitlines()
        found = next((each.split()[0] for each in lines if "-repair  open" in each), "")
        return bool(found)

    until(proposed, "a proposal", 60.0)
    assert run(["watch", *at, "--once", "--approve", found, "--at-once"]) == 0
    assert watched.missing() == 0
    assert run(["watch", *at, "--once"]) == 0
    assert "-repair  done" in capsys.readouterr().out
    assert run(["watch", *at, "--once", "--approve", "none"]) == 2
    policy.write_text("mode = 'automatic'")
    assert run(["watch", *at, "--once", "--policy", str(policy)]) == 2
