"""What goes wrong while a run is at work sets moves aside with a reason, and the rest goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kedge.apply.health_guard import HealthGuard
from kedge.cluster.port import (
    ConfigChange,
    ConfigOp,
    LogDirDescription,
    StoredReplica,
    TopicCreation,
    TopicDescription,
    broker_resource,
    topic_resource,
)
from kedge.errors import BrokerFailed, KedgeError, Unauthorised
from kedge.execution import RequestKind, RunState, Steering
from kedge.execution.rate_rise import WINDOW_S
from kedge.model import BrokerId, TopicPartition
from kedge.model.runs_topic import RUNS_TOPIC
from kedge.plan import Change, Plan, Reassignment
from tests.apply.bench import B1, B2, B3, B4, T0, T1
from tests.apply.steered_bench import SteeredBench, sent

RATE = "leader.replication.throttled.rate"
FOLLOWERS = "follower.replication.throttled.replicas"
LogDirs = dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]


@pytest.fixture
def bench(tmp_path: Path) -> SteeredBench:
    """The plan moves t-0 from broker 1 to 4, and t-1 from broker 2 to 4."""
    return SteeredBench(tmp_path)


def only_to_3(bench: SteeredBench) -> None:
    """t-1 goes to broker 1 instead: with broker 4 lost, one move is left."""
    entries = (Reassignment.anywhere(T0, (B4, B2)), Reassignment.anywhere(T1, (B1, B3)))
    bench.plan = Plan(entries, {T0: (B1, B2), T1: (B2, B3)}, cluster_id="memory")


def test_a_move_under_way_to_a_broker_that_stays_down_is_sent_back(bench: SteeredBench) -> None:
    only_to_3(bench)
    files = bench.steered(Steering(stuck_after_s=120))
    bench.clock.at(2, lambda: bench.cluster.stop_broker(B4))
    bench.clock.at(150, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert (outcome.moved, set(outcome.refused)) == (1, {T0})
    assert str(outcome.refused[T0]).startswith("broker 4 is down for 2 min")
    assert bench.replicas() == {0: (B1, B2), 1: (B1, B3)}
    assert bench.cluster.reassignments() == {}
    assert files.record().state is RunState.FAILED
    assert "t-0 is sent back to where it was" in bench.notes


def test_a_plan_that_leaves_a_broker_does_not_wait_for_it(bench: SteeredBench) -> None:
    """Nor for a replica there of the topic of runs, which may be younger than the plan."""
    bench.cluster.create_topics([TopicCreation(RUNS_TOPIC, assignment={0: (B1, B4)})])
    bench.cluster.stop_broker(B4)
    leaves = [Change(T0, (B4, B2), (B1, B2)), Change(T1, (B2, B4), (B2, B3))]
    uses = [Change(T0, (B4, B2), (B1, B2)), Change(T1, (B2, B3), (B2, B4))]
    notes: list[str] = []
    for changes, allowed in ((leaves, True), (uses, False), ([], False)):
        guard = HealthGuard(bench.cluster, changes, lambda: 0.0, notes.append)
        assert guard.allows_moves() is allowed
    bench.cluster.create_topics([TopicCreation("other", assignment={0: (B1, B2)})])
    bench.cluster.stop_broker(B1)
    assert not HealthGuard(bench.cluster, leaves, lambda: 0.0, notes.append).allows_moves()


def test_a_broker_that_stays_down_does_not_hold_moves_back_for_ever(bench: SteeredBench) -> None:
    """Unless a partition has too few replicas in sync for its producers."""
    bench.cluster.create_topics([TopicCreation("other", assignment={0: (B1, B4)})])
    seconds, notes = [0.0], list[str]()
    guard = HealthGuard(bench.cluster, [], lambda: seconds[0], notes.append, 120)
    bench.cluster.stop_broker(B4)
    allowed: list[bool] = []
    for seconds[0] in (0.0, 60.0, 119.0, 125.0, 130.0):
        allowed.append(guard.allows_moves())
    assert allowed == [False, False, False, True, True]
    assert "moves go on although broker 4 is down: it has been for long" in notes
    alter(bench, "other", "min.insync.replicas", "2")
    seconds[0] = 140.0
    assert not guard.allows_moves()
    alter(bench, "other", "min.insync.replicas", None)
    bench.cluster.start_broker(B4)
    seconds[0] = 150.0
    assert guard.allows_moves()
    bench.cluster.stop_broker(B4)
    seconds[0] = 160.0
    assert not guard.allows_moves()


def offline(found: LogDirs, broker: BrokerId) -> LogDirs:
    """The answer of a broker with a log directory that failed."""
    answer = found.get(broker)
    if isinstance(answer, tuple):
        failed = LogDirDescription(
            "/data/failed", error=BrokerFailed("a disk of the broker failed")
        )
        found[broker] = (*answer, failed)
    return found


def test_a_move_to_a_disk_that_failed_is_sent_back_and_the_rest_goes_on(
    bench: SteeredBench,
) -> None:
    only_to_3(bench)
    files = bench.steered(Steering(stuck_after_s=120))
    fail = bench.faulty.change_response
    bench.clock.at(2, lambda: fail("log_dirs", lambda found: offline(found, B4)))
    bench.clock.at(130, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert (outcome.moved, set(outcome.refused)) == (1, {T0})
    assert bench.replicas() == {0: (B1, B2), 1: (B1, B3)}
    assert "log directory /data/failed on broker 4 is offline" in "\n".join(bench.notes)


def small(found: LogDirs, broker: BrokerId, usable: int) -> LogDirs:
    """The answers with replicas of 100 bytes, and so many usable bytes on one broker."""
    for each, answer in found.items():
        if isinstance(answer, tuple):
            found[each] = tuple(
                replace(
                    log_dir,
                    replicas=tuple(
                        StoredReplica(stored.tp, 100, stored.future) for stored in log_dir.replicas
                    ),
                    usable_bytes=usable if each == broker else 1_000_000,
                )
                for log_dir in answer
            )
    return found


def test_no_move_starts_without_room_on_its_destination(bench: SteeredBench) -> None:
    only_to_3(bench)
    files = bench.steered(Steering(stuck_after_s=120))
    bench.faulty.change_response("log_dirs", lambda found: small(found, B4, 99))
    bench.clock.at(5, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert (outcome.moved, set(outcome.refused)) == (1, {T0})
    assert str(outcome.refused[T0]).startswith("broker 4 has no log directory with room for it for")
    assert T0 not in files.record().started


def test_moves_of_a_user_who_lost_the_right_are_set_aside(bench: SteeredBench) -> None:
    files = bench.begin()
    lost = Unauthorised("Missing permission: Alter on Cluster")
    bench.clock.at(2, lambda: bench.faulty.fail("alter_reassignments", lost))
    bench.clock.at(5, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert outcome.moved == 1
    assert list(outcome.refused.values()) == [lost]
    assert not bench.throttles()


Topics = dict[str, TopicDescription | KedgeError]


def hidden(found: Topics, *topics: str) -> Topics:
    """The answer for a user who may not see some topics."""
    return found | {
        name: Unauthorised(f"Missing permission: Describe on Topic {name}")
        for name in found
        if name in topics
    }


def test_moves_of_a_topic_that_may_not_be_seen_any_more_are_set_aside(bench: SteeredBench) -> None:
    """One of its moves is under way and ends; the other cannot be started."""
    secret = [TopicPartition("secret", 0), TopicPartition("secret", 1)]
    bench.cluster.create_topics([TopicCreation("secret", assignment={0: (B1, B2), 1: (B1, B2)})])
    entries = [Reassignment.anywhere(tp, (B4, B2)) for tp in (*secret, T0)]
    bench.plan = Plan(tuple(entries), dict.fromkeys((*secret, T0), (B1, B2)), cluster_id="memory")
    files = bench.begin()
    lose = bench.faulty.change_response
    bench.clock.at(2, lambda: lose("describe_topics", lambda found: hidden(found, "secret")))
    for moment in (5, 8):
        bench.clock.at(moment, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert (outcome.moved, set(outcome.refused), set(outcome.left)) == (1, set(secret), set(secret))
    assert str(outcome.refused[secret[0]]) == "Missing permission: Describe on Topic secret"
    assert files.record().started == {secret[0], T0}
    assert "secret-1 is set aside: Missing permission: Describe on Topic secret" in bench.notes
    assert files.record().state is RunState.FAILED
    assert not bench.throttles()


def test_a_topic_that_is_seen_again_is_moved_by_the_same_run(bench: SteeredBench) -> None:
    files = bench.begin()
    names = ["t"]
    lose = bench.faulty.change_response
    bench.clock.at(2, lambda: lose("describe_topics", lambda found: hidden(found, *names)))
    bench.clock.at(4, lambda: names.clear())
    for moment in (6, 9):
        bench.clock.at(moment, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete


def test_throttles_that_may_not_be_removed_are_named(bench: SteeredBench) -> None:
    files = bench.begin()
    lost = Unauthorised("Missing permission: AlterConfigs on Cluster")
    bench.clock.at(2, lambda: bench.faulty.fail("alter_configs", lost))
    for moment in (5, 7):
        bench.clock.at(moment, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert outcome.moved == 2
    assert outcome.unreleased == files.record().lease
    assert outcome.unreleased
    assert any("the throttles of this run stay: Missing permission" in n for n in bench.notes)


def test_partitions_of_a_topic_that_was_deleted_are_gone(bench: SteeredBench) -> None:
    files = bench.begin()
    bench.clock.at(2, lambda: bench.cluster.delete_topics(["t"]))
    outcome = bench.carry_out(files)
    assert (outcome.complete, outcome.moved, set(outcome.gone)) == (True, 0, {T0, T1})
    assert not outcome.refused


# ---- throttles that others change ---------------------------------------------------------------


def alter(bench: SteeredBench, place: str | BrokerId, config: str, value: str | None) -> None:
    resource = topic_resource(place) if isinstance(place, str) else broker_resource(place)
    operation = ConfigOp.DELETE if value is None else ConfigOp.SET
    assert not any(
        bench.cluster.alter_configs({resource: [ConfigChange(config, operation, value)]}).values()
    )


def test_a_throttle_that_others_remove_is_set_again(bench: SteeredBench) -> None:
    files = bench.begin()
    bench.clock.at(2, lambda: alter(bench, B4, RATE, None))
    bench.clock.at(3, lambda: alter(bench, "t", FOLLOWERS, None))
    seen: list[bool] = []
    whole = files.record  # the lease is in the journal by then
    bench.clock.at(25, lambda: seen.append(bench.throttles() == whole().lease))
    for moment in (30, 32):
        bench.clock.at(moment, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert seen == [True]
    assert sum("was removed by another client and is set again" in n for n in bench.notes) == 2
    assert not bench.throttles()


@pytest.mark.parametrize("rise_s", [0.0, WINDOW_S])
def test_a_rate_that_others_change_is_theirs(bench: SteeredBench, rise_s: float) -> None:
    bench.rise_s = rise_s
    files = bench.begin()
    bench.clock.at(2, lambda: alter(bench, B4, RATE, "77"))
    for moment in (30, 32):
        bench.clock.at(moment, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert f"{RATE} of broker 4 was changed by another client to 77; it is left as it is" in (
        bench.notes
    )
    assert bench.throttles().brokers == {"4": {RATE: "77"}}


def test_moves_that_a_changed_list_leaves_out_are_set_aside(bench: SteeredBench) -> None:
    files = bench.begin()
    waiting = TopicPartition("t", 1)
    bench.clock.at(2, lambda: alter(bench, "t", FOLLOWERS, "0:4"))
    bench.clock.at(30, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert (outcome.moved, set(outcome.refused)) == (1, {waiting})
    assert f"{FOLLOWERS} of topic t was changed" in str(outcome.refused[waiting])
    assert bench.throttles().topics == {"t": {FOLLOWERS: "0:4"}}


def test_a_rate_that_was_refused_is_not_in_the_history(bench: SteeredBench) -> None:
    files = bench.begin(rate=None)
    alter(bench, B4, RATE, "77")
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    for moment in (7, 9):
        bench.clock.at(moment, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    (reply,) = files.record().replies.values()
    assert reply is not None
    assert "keeps its throttle" in reply.refused
    assert (outcome.rate_changes, files.record().rate) == ((), None)
