"""Cordons of drained brokers, which every way to end or to undo the drain restores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kedge.apply import (
    RunOptions,
    Waiting,
    cancel,
    carry_out,
    close,
    propose_apply,
    propose_resume,
    propose_rollback,
    settle,
)
from kedge.apply.cordons import CORDONED_LOG_DIRS, cordon, cordonable, own_values, restore_cordons
from kedge.apply.jobs import Drain
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import (
    ConfigChange,
    ConfigOp,
    broker_resource,
)
from kedge.errors import ClusterUnavailable, InvalidConfiguration
from kedge.execution import RunState
from kedge.execution import journal as lines
from kedge.model import BrokerId
from kedge.plan import Plan, Reassignment
from tests.apply.bench import B1, B2, B3, B4, T0, T1, Bench, Killed, die
from tests.cluster.cordoning import CordoningCluster
from tests.cluster.faulty import FaultyCluster

WAITING = Waiting(sleep=lambda _: None)
PLACED = {0: (B1, B2), 1: (B2, B3)}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path, CordoningCluster(4))
    entries = (Reassignment.anywhere(T0, (B4, B2)), Reassignment.anywhere(T1, (B2, B4)))
    bench.plan = Plan(entries, {T0: (B1, B2), T1: (B2, B3)}, cluster_id="memory")
    return bench


def set_cordon(bench: Bench, broker: BrokerId, value: str) -> None:
    change = ConfigChange(CORDONED_LOG_DIRS, ConfigOp.SET, value)
    bench.cluster.alter_configs({broker_resource(broker): [change]})


def cordons(bench: Bench) -> dict[BrokerId, str | None]:
    return {b: v for b, v in own_values(bench.cluster, [B1, B3]).items() if v is not None}


def drained(bench: Bench, on_wait: Any = None) -> None:
    """Drain brokers 1 and 3, as `kedge drain` does; each wait ends the moves under way."""
    job = Drain((B1, B3))
    pacing = bench.pacing(on_wait or bench.cluster.finish_moves)
    pacing = replace(pacing, on_run=lambda run: bench.notes.extend(job.prepare(port, run)))
    port = bench.faulty.port
    proposal = propose_apply(port, bench.runs, bench.plan, RunOptions(), "plan.json")
    _, outcome = carry_out(port, bench.runs, proposal, pacing)
    assert outcome.complete


def rolled_back(bench: Bench) -> None:
    port, pacing = bench.faulty.port, bench.pacing(bench.cluster.finish_moves)
    proposal = propose_rollback(port, bench.runs, None, RunOptions())
    _, outcome = carry_out(port, bench.runs, proposal, pacing)
    assert outcome.complete, outcome.refused
    assert bench.replicas() == PLACED


def test_a_rollback_uncordons_before_it_moves(bench: Bench) -> None:
    drained(bench)
    assert cordons(bench) == {B1: "*", B3: "*"}
    rolled_back(bench)
    assert cordons(bench) == {}
    assert "broker 1 uncordoned" in bench.notes


def test_a_rollback_restores_what_was_cordoned_before(bench: Bench) -> None:
    set_cordon(bench, B1, "/data/0")
    drained(bench)
    assert cordons(bench) == {B1: "*", B3: "*"}
    rolled_back(bench)
    assert cordons(bench) == {B1: "/data/0"}


def test_a_cordon_that_an_operator_has_set_or_changed_stays(bench: Bench) -> None:
    bench.plan = Plan((Reassignment.anywhere(T0, (B4, B2)),), {T0: (B1, B2)}, cluster_id="memory")
    set_cordon(bench, B3, "*")
    drained(bench)
    set_cordon(bench, B1, "/data/1")
    rolled_back(bench)
    assert cordons(bench) == {B1: "/data/1", B3: "*"}


def test_a_rollback_that_was_killed_uncordons_when_it_continues(bench: Bench) -> None:
    drained(bench)
    port = bench.faulty.port
    proposal = propose_rollback(port, bench.runs, None, RunOptions())
    killed = replace(bench.pacing(die), on_run=lambda _: die())
    with pytest.raises(Killed):
        carry_out(port, bench.runs, proposal, killed)
    assert cordons(bench) == {B1: "*", B3: "*"}
    resumed(bench)
    assert (cordons(bench), bench.replicas()) == ({}, PLACED)


def resumed(bench: Bench) -> None:
    port, pacing = bench.faulty.port, bench.pacing(bench.cluster.finish_moves)
    proposal = propose_resume(port, bench.runs, None, RunOptions())
    assert carry_out(port, bench.runs, proposal, pacing)[1].complete


def test_a_drain_that_was_killed_while_it_cordoned_cordons_when_it_continues(bench: Bench) -> None:
    set_cordon(bench, B1, "/data/0")
    run = bench.begin()
    run.write(lines.cordoned({B1: "/data/0", B3: None}))
    set_cordon(bench, B3, "*")
    resumed(bench)
    assert cordons(bench) == {B1: "*", B3: "*"}
    assert "broker 1 cordoned" in bench.notes
    assert "broker 3 cordoned" not in bench.notes


def test_a_cordon_that_an_operator_has_removed_from_a_drain_is_not_set_again(bench: Bench) -> None:
    with pytest.raises(Killed):
        drained(bench, die)
    removal = ConfigChange(CORDONED_LOG_DIRS, ConfigOp.DELETE)
    bench.cluster.alter_configs({broker_resource(B3): [removal]})
    resumed(bench)
    assert cordons(bench) == {B1: "*"}


def test_a_cancelled_drain_leaves_no_cordon(bench: Bench) -> None:
    with pytest.raises(Killed):
        drained(bench, die)
    (run,) = bench.runs.all()
    done = cancel(bench.faulty.port, run, WAITING)
    assert (done.uncordoned, cordons(bench)) == ([B1, B3], {})
    assert run.record().state is RunState.CANCELLED


def test_a_broker_that_does_not_answer_is_uncordoned_by_a_later_command(bench: Bench) -> None:
    run, bench.faulty = bench.begin(), FaultyCluster(bench.cluster)
    cordon(bench.faulty.port, [B1, B3], run)
    silent = ClusterUnavailable("no response")
    lost = broker_resource(B3)
    bench.faulty.change_response("describe_configs", lambda found: found | {lost: silent}, times=1)
    assert close(bench.faulty.port, run, WAITING).uncordoned == [B1]
    assert (cordons(bench), run.record().cordons) == ({B3: "*"}, {B3: None})
    settle(bench.faulty.port, bench.runs, WAITING, bench.notes.append)
    assert (cordons(bench), run.record().cordons) == ({}, {})
    assert restore_cordons(bench.faulty.port, run) == []


def test_brokers_that_do_not_know_cordons_are_left_alone() -> None:
    assert cordonable(MemoryCluster(3), [B1, B2]) == []


def test_a_broker_is_cordoned_once() -> None:
    faulty = FaultyCluster(CordoningCluster(3))
    assert cordonable(faulty.port, [B1, B2]) == [B1, B2]
    cordon(faulty.port, [B1], None)
    assert cordonable(faulty.port, [B1, B2]) == [B2]


def test_a_cluster_whose_metadata_version_is_too_old_is_not_cordoned() -> None:
    faulty = FaultyCluster(CordoningCluster(3))
    refusal = InvalidConfiguration("the metadata version does not support cordons")
    faulty.change_response("alter_configs", lambda answers: dict.fromkeys(answers, refusal))
    assert cordonable(faulty.port, [B1]) == []


def test_an_empty_broker_is_cordoned_after_a_question() -> None:
    port = FaultyCluster(CordoningCluster(3)).port
    job = Drain((B3,))
    assert job.check_end(port) == "Cordon broker 3?"
    assert job.prepare(port, None) == ["Broker 3 cordoned: no new replica is placed there"]
    assert own_values(port, [B3]) == {B3: "*"}
    assert job.check_end(port) is None
