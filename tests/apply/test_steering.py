"""Runs that are steered while they run, with a clock that the test moves."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kedge.apply import (
    Requested,
    RunOptions,
    Waiting,
    carry_out,
    new_request,
    preview,
    propose_resume,
    send,
    settle,
)
from kedge.apply.executor import Executor
from kedge.cluster.port import (
    ConfigChange,
    ConfigOp,
    ConfigResource,
    LogDirDescription,
    StoredReplica,
    TopicCreation,
    broker_resource,
    topic_resource,
)
from kedge.errors import KedgeError, RefusedCommand, RequestTimedOut, RunLeft, Unauthorised
from kedge.execution import (
    Limits,
    RateRange,
    Reply,
    RequestKind,
    RunState,
    Steering,
)
from kedge.execution import journal as lines
from kedge.execution.adaptive_throttle import RISE_INTERVAL_S, Signals
from kedge.execution.windows import parse_window
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import Plan, Reassignment
from tests.apply.bench import B1, B2, B3, B4, T0, T1, Killed, die
from tests.apply.steered_bench import NOON, SteeredBench, sent

RATE = "leader.replication.throttled.rate"
LIST = "leader.replication.throttled.replicas"


@pytest.fixture
def bench(tmp_path: Path) -> SteeredBench:
    return SteeredBench(tmp_path)


# ---- requests -----------------------------------------------------------------------------------


def test_a_rate_is_changed_while_moves_are_under_way(bench: SteeredBench) -> None:
    files, seen = bench.begin(), list[set[str]]()
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    bench.clock.at(6, lambda: seen.append(bench.rates()))
    bench.clock.at(7, bench.cluster.finish_moves)
    bench.clock.at(9, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert seen == [{"5000"}]
    record = files.record()
    assert list(record.replies.values()) == [Reply()]
    assert (record.rate, [each.rate for each in record.rate_changes]) == (5000, [5000])
    assert not bench.throttles()


def test_the_sender_is_told_when_every_broker_has_confirmed(bench: SteeredBench) -> None:
    """The run in this thread, the sender in another, as in two terminals."""
    files, done = bench.begin(), list[Requested]()
    asked, answered = threading.Event(), threading.Event()

    def send_rate() -> None:
        asked.set()
        request = new_request(RequestKind.RATE, rate=5000)
        done.append(send(bench.cluster, bench.runs, None, request, Waiting()))
        answered.set()

    sender = threading.Thread(target=send_rate)

    def wait_for_request() -> None:
        sender.start()
        while not files.requests():
            asked.wait(0.01)

    bench.clock.at(2, wait_for_request)
    bench.clock.at(5, lambda: answered.wait(10))
    bench.clock.at(6, bench.cluster.finish_moves)
    bench.clock.at(8, bench.cluster.finish_moves)
    with bench.runs.held():
        assert bench.carry_out(files).complete
    sender.join()
    assert done == [Requested(files, done[0].request, Reply(), at_work=True)]


def test_a_broker_that_does_not_confirm_is_named(bench: SteeredBench) -> None:
    files = bench.begin()
    bench.clock.at(2, lambda: bench.cluster.stop_broker(B3))
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    bench.clock.at(6, lambda: bench.cluster.start_broker(B3))
    bench.clock.at(7, bench.cluster.finish_moves)
    bench.clock.at(20, bench.cluster.finish_moves)
    bench.watch(files, 15)
    assert bench.carry_out(files).complete
    assert list(files.record().replies.values()) == [Reply(("3",))]
    assert "broker 3 did not report its new throttle" in bench.notes
    assert not bench.throttles()


def test_a_broker_that_was_down_gets_the_new_rate_when_it_is_back(bench: SteeredBench) -> None:
    files, seen = bench.begin(), list[set[str]]()
    bench.clock.at(2, lambda: bench.cluster.stop_broker(B3))
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    bench.clock.at(6, lambda: bench.cluster.start_broker(B3))
    bench.clock.at(7, bench.cluster.finish_moves)
    bench.clock.at(18, lambda: seen.append(bench.rates()))
    bench.clock.at(20, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert seen == [{"5000"}]


def test_requests_are_carried_out_once_and_also_those_sent_to_a_dead_run(
    bench: SteeredBench,
) -> None:
    files = bench.begin()
    first = sent(files, RequestKind.RATE, rate=5000)
    bench.clock.at(3, die)
    with pytest.raises(Killed):
        bench.carry_out(files)
    assert files.record().rate == 5000
    second = sent(files, RequestKind.RATE, rate=7000)
    settle(bench.cluster, bench.runs, Waiting(), bench.notes.append)
    assert bench.rates() == {"7000"}  # of the move that goes on meanwhile
    assert files.record().rate == 7000
    bench.clock.at(10, bench.cluster.finish_moves)
    bench.clock.at(12, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    record = files.record()
    assert record.replies == {first.id: Reply(), second.id: Reply()}
    assert [each.rate for each in record.rate_changes] == [5000, 7000]


def test_a_request_that_was_being_carried_out_is_not_begun_again(bench: SteeredBench) -> None:
    files = bench.begin()
    request = sent(files, RequestKind.RATE, rate=5000)
    files.write(lines.request_taken(request, at=1.0))
    files.write(lines.settings_changed(9000, 1, Steering()))  # resumed with another throttle
    bench.clock.at(2, lambda: bench.seen.append((2, str(bench.rates()), 0, True)))
    bench.clock.at(3, bench.cluster.finish_moves)
    bench.clock.at(5, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert bench.seen[0][1] == "{'9000'}"
    assert files.record().replies == {request.id: Reply()}


def test_log_directories_have_a_rate_of_their_own(bench: SteeredBench) -> None:
    plan = Plan((Reassignment(T0, (B1, B2), ("/data/b", "any")),), {T0: (B1, B2)})
    bench.plan = plan
    files = bench.steered(Steering(log_dir_rate=300))
    seen: list[set[str]] = []
    bench.clock.at(2, lambda: seen.append(bench.rates()))
    bench.clock.at(3, lambda: sent(files, RequestKind.RATE, log_dir_rate=400))
    bench.clock.at(6, lambda: seen.append(bench.rates()))
    bench.clock.at(7, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert seen == [{"300"}, {"400"}]
    assert files.record().rate == 1000  # the other throttle stays
    assert not bench.throttles()


def test_a_broker_that_did_not_take_a_new_rate_gets_it_later(bench: SteeredBench) -> None:
    files, seen = bench.begin(), list[set[str]]()
    former = ConfigChange(RATE, value="1000")
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    bench.clock.at(5, lambda: bench.cluster.alter_configs({broker_resource(B4): [former]}))
    for moment in (6, 25):
        bench.clock.at(moment, lambda: seen.append(bench.rates()))
    for moment in (26, 28):
        bench.clock.at(moment, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert seen == [{"1000", "5000"}, {"5000"}]
    assert "broker 4 did not take its last throttle; it is set again" in bench.notes


def test_another_refused_request_leaves_the_history_of_the_throttle(bench: SteeredBench) -> None:
    files = bench.begin()
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    bench.clock.at(4, lambda: sent(files, RequestKind.CONTINUE))
    for moment in (6, 8):
        bench.clock.at(moment, bench.cluster.finish_moves)
    changes = bench.carry_out(files).rate_changes
    assert [reply and reply.refused for reply in files.record().replies.values()][1]
    assert [change.rate for change in changes] == [5000]


def test_a_run_without_a_throttle_takes_over_no_foreign_one(bench: SteeredBench) -> None:
    foreign = ConfigChange("leader.replication.throttled.rate", value="5")
    bench.cluster.alter_configs({broker_resource(B4): [foreign]})
    files = bench.begin(rate=None)
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    bench.clock.at(6, bench.cluster.finish_moves)
    bench.clock.at(9, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    (reply,) = files.record().replies.values()
    assert reply is not None
    assert "which this run did not set" in reply.refused
    assert bench.throttles().brokers == {"4": {"leader.replication.throttled.rate": "5"}}


def test_a_run_without_a_throttle_can_be_given_one(bench: SteeredBench) -> None:
    files, seen = bench.begin(rate=None), list[set[str]]()
    bench.clock.at(2, lambda: sent(files, RequestKind.RATE, rate=5000))
    bench.clock.at(5, lambda: seen.append(bench.rates()))
    bench.clock.at(6, bench.cluster.finish_moves)
    bench.clock.at(9, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert seen == [{"5000"}]
    assert not bench.throttles()


def test_requests_are_kept_from_other_users_and_cut_lines_left_out(bench: SteeredBench) -> None:
    files = bench.begin()
    sent(files, RequestKind.PAUSE)
    path = files.directory / "requests.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("ab") as cut:
        cut.write(b'\n{"id":"x","ki')
    sent(files, RequestKind.CONTINUE)
    assert len(files.requests()) == 3  # the cut one is a line now, and no request
    bench.clock.at(2, bench.cluster.finish_moves)
    bench.clock.at(4, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert list(files.record().replies.values()) == [Reply(), Reply()]
    assert os.listdir(files.directory).count("requests.jsonl") == 1


# ---- pauses and windows -------------------------------------------------------------------------


def test_a_pause_lets_moves_end_and_leaves_no_throttle(bench: SteeredBench) -> None:
    files = bench.begin()
    bench.clock.at(2, lambda: sent(files, RequestKind.PAUSE))
    bench.watch(files, 5)
    bench.clock.at(6, bench.cluster.finish_moves)
    bench.watch(files, 10, 500)
    bench.clock.at(501, lambda: sent(files, RequestKind.CONTINUE))
    bench.watch(files, 505)
    bench.clock.at(510, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert bench.seen == [
        (5, "moving", 1, True),
        (10, "paused", 0, False),
        (500, "paused", 0, False),
        (505, "moving", 1, True),
    ]
    assert not bench.throttles()


@pytest.mark.parametrize(
    ("place", "foreign"),
    [
        (broker_resource(B4), ConfigChange(RATE, value="5")),
        (topic_resource("t"), ConfigChange(LIST, value="0:1")),
    ],
)
def test_a_throttle_that_another_client_sets_during_a_pause_is_left_to_it(
    bench: SteeredBench, place: ConfigResource, foreign: ConfigChange
) -> None:
    files, reasons = bench.begin(), list[str]()
    bench.clock.at(2, lambda: sent(files, RequestKind.PAUSE))
    bench.clock.at(6, bench.cluster.finish_moves)
    bench.clock.at(20, lambda: bench.cluster.alter_configs({place: [foreign]}))
    bench.clock.at(30, lambda: sent(files, RequestKind.CONTINUE))
    bench.watch(files, 60)
    bench.clock.at(60, lambda: reasons.append(files.record().why))
    removal = ConfigChange(foreign.name, ConfigOp.DELETE)
    bench.clock.at(61, lambda: bench.cluster.alter_configs({place: [removal]}))
    bench.watch(files, 80)
    bench.clock.at(90, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    assert bench.seen == [(60, "paused", 0, True), (80, "moving", 1, True)]
    named = f"{place} has {foreign.name} = {foreign.value}"
    assert reasons == [f"{named}, which this run did not set"]
    assert not bench.throttles()


def test_a_window_does_not_open_over_the_throttle_of_another_client(bench: SteeredBench) -> None:
    files = bench.steered(Steering(windows=(parse_window("13:00-14:00"),), until=NOON + 5400))
    foreign = ConfigChange(RATE, value="1000")  # by chance as this run's
    bench.clock.at(1800, lambda: bench.cluster.alter_configs({broker_resource(B4): [foreign]}))
    outcome = bench.carry_out(files, interval_s=60.0)
    assert (outcome.stopped, outcome.moved) == (True, 0)
    assert bench.throttles().brokers == {"4": {RATE: "1000"}}


def test_pausing_twice_and_continuing_what_is_not_paused_is_refused(bench: SteeredBench) -> None:
    files = bench.begin()
    kinds = [RequestKind.CONTINUE, RequestKind.PAUSE, RequestKind.PAUSE, RequestKind.CONTINUE]
    for kind in kinds:
        sent(files, kind)
    bench.clock.at(2, bench.cluster.finish_moves)
    bench.clock.at(4, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    replies = [reply and reply.refused for reply in files.record().replies.values()]
    assert replies == ["is not paused", "", "is paused already", ""]


HOUR = 3600.0


def test_nothing_moves_and_nothing_is_throttled_outside_of_a_window(bench: SteeredBench) -> None:
    files = bench.steered(Steering(windows=(parse_window("13:00-13:30"),)))
    bench.watch(files, 0.5 * HOUR, 1.1 * HOUR)  # before it opens, and in it
    bench.watch(files, 1.6 * HOUR)
    bench.clock.at(2 * HOUR, bench.cluster.finish_moves)  # the first move ends after it
    bench.watch(files, 2.2 * HOUR, 20 * HOUR, 25.1 * HOUR)
    bench.clock.at(25.2 * HOUR, bench.cluster.finish_moves)  # the second on the next day
    assert bench.carry_out(files, interval_s=120.0).complete
    assert bench.seen == [
        (0.5 * HOUR, "paused", 0, False),
        (1.1 * HOUR, "moving", 1, True),
        (1.6 * HOUR, "moving", 1, True),  # it may end, under its throttle
        (2.2 * HOUR, "paused", 0, False),
        (20 * HOUR, "paused", 0, False),
        (25.1 * HOUR, "moving", 1, True),
    ]
    assert not bench.throttles()
    paused = [at for at, state in bench.states if state is RunState.PAUSED]
    assert max(at for at in paused if at < 2 * HOUR) == HOUR  # until the window opens
    assert min(at for at in paused if at > 2 * HOUR) - 2 * HOUR <= 120.0  # and from its last move


HARD = Steering(windows=(parse_window("11:00-12:30"),), hard_window=True)


def test_a_hard_window_sends_back_what_is_under_way(bench: SteeredBench) -> None:
    files = bench.steered(HARD)
    bench.watch(files, 0.3 * HOUR)
    bench.clock.at(0.4 * HOUR, lambda: setattr(bench.cluster, "hold_moves", False))
    bench.watch(files, 0.7 * HOUR)
    replicas: list[object] = []
    bench.clock.at(0.8 * HOUR, lambda: replicas.append(bench.replicas()))
    assert bench.carry_out(files, interval_s=120.0).complete  # on the next day
    assert [each[1:] for each in bench.seen] == [("moving", 1, True), ("paused", 0, False)]
    assert replicas == [{0: (B1, B2), 1: (B2, B3)}]
    assert "t-0 is sent back to where it was" in bench.notes
    assert not [note for note in bench.notes if "someone else" in note]


def test_a_move_on_its_way_back_is_waited_for(bench: SteeredBench) -> None:
    files = bench.steered(HARD)
    way_back = ReplicaAssignment((B1, B2, B4), removing=(B4,))

    def reverting(found: dict[TopicPartition, ReplicaAssignment]) -> object:
        return found | ({T0: way_back} if 0.5 < bench.clock.seconds / HOUR < 0.8 else {})

    bench.faulty.change_response("reassignments", reverting)
    bench.watch(files, 0.7 * HOUR, 0.9 * HOUR)
    bench.clock.at(23.2 * HOUR, bench.cluster.finish_moves)
    bench.clock.at(23.4 * HOUR, bench.cluster.finish_moves)
    assert bench.carry_out(files, interval_s=120.0).complete
    assert [each[1:] for each in bench.seen] == [("moving", 0, True), ("paused", 0, False)]
    assert not [note for note in bench.notes if "someone else" in note]
    assert bench.replicas() == {0: (B4, B2), 1: (B3, B4)}


def test_a_run_that_was_killed_while_moves_went_back_is_resumed(bench: SteeredBench) -> None:
    files = bench.steered(HARD)
    way_back = ReplicaAssignment((B1, B2, B4), removing=(B4,))

    def reverting(found: dict[TopicPartition, ReplicaAssignment]) -> object:
        return found | ({T0: way_back} if 0.5 < bench.clock.seconds / HOUR < 0.8 else {})

    bench.faulty.change_response("reassignments", reverting)
    bench.clock.at(0.55 * HOUR, die)
    with pytest.raises(Killed):
        bench.carry_out(files, interval_s=120.0)
    assert files.record().sent_back == {T0}
    port, options = bench.faulty.port, RunOptions(Limits(1000, each_way=1), steering=HARD)
    proposal = propose_resume(port, bench.runs, None, options)
    for moment in (23.2, 23.4):
        bench.clock.at(moment * HOUR, bench.cluster.finish_moves)
    _, outcome = carry_out(port, bench.runs, proposal, bench.pacing_by_clock(120.0))
    assert outcome.complete
    assert files.record().sent_back == frozenset()
    assert bench.replicas() == {0: (B4, B2), 1: (B3, B4)}


def test_a_run_stops_when_its_time_is_over(bench: SteeredBench) -> None:
    files = bench.steered(Steering(until=NOON + 60))
    bench.clock.at(100, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert (outcome.stopped, outcome.moved, list(outcome.left)) == (True, 1, [T1])
    assert files.record().state is RunState.STOPPED
    assert not bench.throttles()


# ---- a throttle that adapts ---------------------------------------------------------------------


def filling(bench: SteeredBench, bytes_per_second: int, growth: int = 0) -> None:
    """Replicas on broker 4 fill at a rate; the others are large, and grow."""

    def size_on(broker: BrokerId) -> int:
        now = int(bench.clock.seconds)
        return now * bytes_per_second if broker == B4 else 10**9 + now * growth

    def sized(found: dict[BrokerId, tuple[LogDirDescription, ...]]) -> object:
        moving = bench.cluster.reassignments()
        return {
            broker: tuple(
                replace(
                    each,
                    replicas=tuple(
                        StoredReplica(tp, size_on(broker), 0)
                        for tp in (T0, T1)
                        if any(stored.tp == tp for stored in each.replicas)
                        or (broker == B4 and tp in moving and each.path == "/data/a")
                    ),
                )
                for each in answer
            )
            for broker, answer in found.items()
        }

    bench.faulty.change_response("log_dirs", sized)


@pytest.mark.parametrize("speed", [1.0, 60.0])
def test_rates_are_per_second_of_the_clusters_own_time(bench: SteeredBench, speed: float) -> None:
    bench.speed = speed
    filling(bench, 6000)
    files = bench.steered(Steering())
    for moment in (10, 20):
        bench.clock.at(moment, bench.cluster.finish_moves)
    bench.carry_out(files)
    copying = [each for each in bench.progress if each.moving and each.bytes_done == 12_000]
    assert [each.bytes_per_second for each in copying] == [6000 / speed]


ADAPTIVE = Steering(adaptive=RateRange(1000, 4000))


def test_an_adaptive_throttle_rises_while_it_is_used_and_its_history_is_kept(
    bench: SteeredBench,
) -> None:
    filling(bench, 4000)
    files = bench.steered(ADAPTIVE)
    for moment in (300, 302):
        bench.clock.at(moment, bench.cluster.finish_moves)
    seen: list[set[str]] = []
    bench.clock.at(20, lambda: seen.append(bench.rates()))
    bench.clock.at(290, lambda: seen.append(bench.rates()))
    outcome = bench.carry_out(files)
    assert outcome.complete
    assert seen == [{"1500"}, {"4000"}]
    rates = [change.rate for change in outcome.rate_changes]
    assert rates == [1500, 2250, 3375, 4000]
    times = [change.at - NOON for change in outcome.rate_changes]
    assert all(later - earlier >= RISE_INTERVAL_S for earlier, later in pairwise(times))
    assert files.record().rate == 4000


def test_an_adaptive_throttle_that_is_not_used_does_not_rise(bench: SteeredBench) -> None:
    filling(bench, 10)
    files = bench.steered(ADAPTIVE)
    for moment in (300, 302):
        bench.clock.at(moment, bench.cluster.finish_moves)
    assert bench.carry_out(files).rate_changes == ()


def test_times_that_a_metrics_system_reports_hold_the_throttle_and_halve_it(
    bench: SteeredBench,
) -> None:
    """Unknown up to the second 60, fine up to 100, then out of bounds for a while."""

    def reported(signals: Signals) -> Signals:
        now = bench.clock.seconds
        if now < 60:
            return replace(signals, at=None, unread="no answer")
        return replace(signals, slow="flushes to disk take 2.0 s on b3" if 100 <= now < 105 else "")

    filling(bench, 4000)
    files = bench.steered(ADAPTIVE)
    bench.more_signals = reported
    for moment in (110, 112):
        bench.clock.at(moment, bench.cluster.finish_moves)
    changes = bench.carry_out(files).rate_changes
    assert [change.rate for change in changes] == [1500, 2250, 3375, 1687]
    assert 60 <= changes[0].at - NOON < 62
    assert changes[-1].why == "flushes to disk take 2.0 s on b3"
    assert "the throttle does not rise: no times of brokers from Prometheus" in bench.notes


@pytest.mark.parametrize("latency_s", [0.4, 2.0])
def test_a_broker_that_stands_still_for_two_seconds_is_noticed(
    bench: SteeredBench, latency_s: float
) -> None:
    filling(bench, 4000)
    files = bench.steered(ADAPTIVE)
    stands_still = {B2: latency_s}
    bench.clock.at(100, lambda: bench.cluster.latency_s.update(stands_still))
    bench.clock.at(102, bench.cluster.latency_s.clear)
    for moment in (110, 112):
        bench.clock.at(moment, bench.cluster.finish_moves)
    rates = [change.rate for change in bench.carry_out(files).rate_changes]
    whys = [change.why for change in files.record().rate_changes]
    if latency_s < 1:
        assert rates == [1500, 2250, 3375, 4000]
    else:
        assert rates == [1500, 2250, 3375, 4000, 2000]
        assert whys[-1].startswith("broker 2 responds in")


def test_a_read_that_takes_seconds_longer_than_usual_is_noticed(bench: SteeredBench) -> None:
    """The broker stood still while the poll itself waited for it, and answers the probe again."""
    filling(bench, 4000)
    files = bench.steered(ADAPTIVE)

    def slow(found: object) -> object:
        bench.clock.seconds += 2.0
        return found

    bench.clock.at(100, lambda: bench.faulty.change_response("reassignments", slow, times=1))
    for moment in (110, 112):
        bench.clock.at(moment, bench.cluster.finish_moves)
    whys = [change.why for change in bench.carry_out(files).rate_changes]
    assert whys[-1] == "reading the cluster took 2.0 s longer than before"


def test_probes_that_time_out_count_as_slow(bench: SteeredBench) -> None:
    filling(bench, 4000)
    files = bench.steered(ADAPTIVE, rate=4000)
    late: dict[BrokerId, float | KedgeError] = {B1: 0.1, B3: RequestTimedOut("no answer")}
    bench.faulty.change_response("round_trips", lambda _: late)
    bench.clock.at(12, bench.cluster.finish_moves)
    bench.clock.at(14, bench.cluster.finish_moves)
    change, *_ = bench.carry_out(files).rate_changes
    assert (change.rate, change.why) == (2000, "broker 3 responds in 1.5 s")


def in_sync(bench: SteeredBench, *brokers: BrokerId) -> None:
    """These replicas of the first partition are in sync, of which there must be two."""
    change = ConfigChange("min.insync.replicas", value="2")
    bench.cluster.alter_configs({topic_resource("t"): [change]})
    next(iter(bench.cluster._partitions())).isr = brokers


BELOW = "1 partition below min.insync.replicas (t-0)"


def test_a_partition_of_the_plan_that_falls_below_its_minimum_halves_the_rate(
    bench: SteeredBench,
) -> None:
    filling(bench, 4000)
    in_sync(bench, B1, B2)  # the replica that is being added is no sign of trouble
    files = bench.steered(ADAPTIVE)
    bench.clock.at(20, lambda: in_sync(bench, B1))
    bench.clock.at(24, lambda: in_sync(bench, B1, B2))
    for moment in (28, 30):
        bench.clock.at(moment, bench.cluster.finish_moves)
    changes = bench.carry_out(files).rate_changes
    assert [(change.rate, change.why) for change in changes] == [
        (1500, "the cluster copes"),
        (1000, BELOW),
    ]


def test_a_partition_that_was_below_its_minimum_counts_once_it_was_in_sync(
    bench: SteeredBench,
) -> None:
    filling(bench, 4000)
    in_sync(bench, B1)
    files = bench.steered(ADAPTIVE)
    bench.clock.at(40, lambda: in_sync(bench, B1, B2))
    bench.clock.at(50, lambda: in_sync(bench, B1))
    for moment in (58, 60):
        bench.clock.at(moment, bench.cluster.finish_moves)
    whys = [change.why for change in bench.carry_out(files).rate_changes]
    assert whys[:3] == ["the cluster copes", "the cluster copes", "the cluster copes"]
    assert whys[3:] == [BELOW]


def test_a_rate_that_is_refused_is_not_the_rate_of_the_run(bench: SteeredBench) -> None:
    filling(bench, 4000)
    files, seen = bench.steered(ADAPTIVE), list[object]()
    refusal = Unauthorised("Missing permission: AlterConfigs on Cluster")
    bench.clock.at(10, lambda: bench.faulty.fail("alter_configs", refusal, times=1))
    bench.clock.at(50, lambda: seen.append((bench.rates(), files.record().rate)))
    bench.clock.at(
        50, lambda: seen.append(files.record().lease.brokers == bench.throttles().brokers)
    )
    for moment in (58, 60):
        bench.clock.at(moment, bench.cluster.finish_moves)
    outcome = bench.carry_out(files)
    assert outcome.complete
    assert seen == [({"1000"}, 1000), True]
    assert [change.rate for change in outcome.rate_changes] == [1500, 1000]
    assert f"the throttle stays at 1000 bytes/s: {refusal}" in bench.notes
    assert not bench.throttles()


def test_a_broker_that_does_not_report_an_adapted_rate_is_named(bench: SteeredBench) -> None:
    filling(bench, 4000)
    files = bench.steered(ADAPTIVE)
    silent = {broker_resource(B4): RequestTimedOut("no answer")}
    bench.clock.at(
        10, lambda: bench.faulty.change_response("describe_configs", lambda found: found | silent)
    )
    for moment in (58, 60):
        bench.clock.at(moment, bench.cluster.finish_moves)
    assert bench.carry_out(files).rate_changes
    assert "broker 4 did not report its new throttle" in bench.notes


def test_trouble_outside_of_the_plan_halves_the_rate(bench: SteeredBench) -> None:
    bench.cluster.create_topics([TopicCreation("other", assignment={0: (B1, B3)})])
    filling(bench, 4000)
    files = bench.steered(ADAPTIVE, rate=4000)
    bench.clock.at(20, lambda: bench.cluster.stop_broker(B3))
    bench.clock.at(32, lambda: bench.cluster.start_broker(B3))
    bench.clock.at(40, bench.cluster.finish_moves)
    bench.clock.at(48, bench.cluster.finish_moves)
    changes = bench.carry_out(files).rate_changes
    assert (changes[0].rate, changes[0].why) == (2000, "broker 3 down")


def test_producers_that_write_more_than_the_throttle_raise_it_or_are_told_of(
    bench: SteeredBench,
) -> None:
    filling(bench, 900, growth=3000)
    files = bench.steered(ADAPTIVE)
    for moment in (100, 102):
        bench.clock.at(moment, bench.cluster.finish_moves)
    changes = bench.carry_out(files).rate_changes
    assert "moves cannot end at less" in [change.why for change in changes]
    assert changes[-1].rate > 3000


def test_a_fixed_throttle_below_what_producers_write_is_told_with_the_broker(
    bench: SteeredBench,
) -> None:
    filling(bench, 900, growth=3000)
    files = bench.begin()
    for moment in (100, 102):
        bench.clock.at(moment, bench.cluster.finish_moves)
    bench.carry_out(files)
    (note,) = [each for each in bench.notes if each.startswith("throttle too low")]
    assert "1000 bytes/s" in note
    assert "broker 4" in note or "broker 1" in note


def test_a_throttle_below_what_producers_are_known_to_write_is_refused(
    bench: SteeredBench,
) -> None:
    growth = {T0: 5000.0, T1: 2000.0}
    options = RunOptions(Limits(4000, 2), growth=growth)
    with pytest.raises(RefusedCommand, match="broker 4 needs 7700 bytes/s"):
        preview(bench.cluster, bench.plan, options)
    one_at_a_time = replace(options, limits=Limits(5500, 1))
    assert preview(bench.cluster, bench.plan, one_at_a_time).options == one_at_a_time
    adapts = replace(options, steering=Steering(adaptive=RateRange(1000, 9000)))
    assert preview(bench.cluster, bench.plan, adapts).options.limits.rate == 7700
    too_low = replace(options, steering=ADAPTIVE)
    with pytest.raises(RefusedCommand, match="too low"):
        preview(bench.cluster, bench.plan, too_low)


# ---- moves that do not get on -------------------------------------------------------------------


def test_a_stuck_move_is_explained_and_waited_for(bench: SteeredBench) -> None:
    files = bench.steered(Steering(stuck_after_s=120))
    for moment in (300, 302):
        bench.clock.at(moment, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    (note,) = [each for each in bench.notes if "is stuck" in each]
    assert note.startswith(
        "t-0 is stuck: no new bytes for 2 min: broker 4 has not created the replica"
    )


def test_a_stuck_move_is_cancelled_on_request_and_the_rest_goes_on(bench: SteeredBench) -> None:
    files = bench.steered(Steering(stuck_after_s=120, cancel_stuck=True))

    def finish_others() -> None:
        """Only the way back of the first move, and the second move, ever end."""
        moving = bench.cluster.reassignments()
        if T0 not in moving or moving[T0].target == (B1, B2):
            bench.cluster.finish_moves()

    for moment in range(10, 400, 10):
        bench.clock.at(moment, finish_others)
    outcome = bench.carry_out(files)
    assert (outcome.moved, list(outcome.refused)) == (1, [T0])
    assert "no new bytes for 2 min" in str(outcome.refused[T0])
    assert bench.replicas() == {0: (B1, B2), 1: (B3, B4)}
    record = files.record()
    assert record.state is RunState.FAILED
    assert list(record.set_aside) == [T0]
    assert not bench.throttles()


def test_moves_for_a_broker_that_stays_down_are_set_aside(bench: SteeredBench) -> None:
    third = Reassignment.anywhere(T1, (B3, B1))
    bench.plan = Plan((bench.plan.partitions[0], third), {T0: (B1, B2), T1: (B2, B3)})
    bench.cluster.hold_moves = False
    files = bench.steered(Steering(stuck_after_s=120))
    record = files.record()
    options = RunOptions(Limits(record.rate, record.each_way), steering=record.steering)
    judged = preview(bench.cluster, files.plan(), options)
    bench.cluster.stop_broker(B4)
    outcome = Executor(bench.faulty.port, files, judged, bench.pacing_by_clock()).carry_out()
    assert (outcome.moved, list(outcome.refused)) == (1, [T0])
    assert str(outcome.refused[T0]) == "broker 4 is down for 2 min"
    assert files.record().state is RunState.FAILED
    bench.cluster.start_broker(B4)
    assert bench.carry_out(files).complete  # resumed


def test_a_request_to_a_run_that_ended_is_refused(bench: SteeredBench) -> None:
    files = bench.begin()
    bench.clock.at(2, bench.cluster.finish_moves)
    bench.clock.at(4, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
    for kind in RequestKind:
        with pytest.raises(RefusedCommand, match="is done"):
            send(bench.cluster, bench.runs, None, new_request(kind, rate=5000), Waiting())
    assert files.requests() == []


# ---- leaving a run to another process ------------------------------------------------------------


def test_a_run_is_left_as_it_is_when_another_process_asks_for_it(bench: SteeredBench) -> None:
    files = bench.begin()
    bench.clock.at(3, lambda: sent(files, RequestKind.LEAVE))
    with pytest.raises(RunLeft, match="left to another process"):
        bench.carry_out(files)
    assert files.record().state is RunState.MOVING
    assert bench.cluster.reassignments(), "its moves go on"
    assert bench.throttles(), "under their throttles"


def test_a_process_that_continues_a_run_does_not_leave_it_for_an_earlier_request(
    bench: SteeredBench,
) -> None:
    files = bench.begin()
    sent(files, RequestKind.LEAVE)
    bench.clock.at(4, bench.cluster.finish_moves)
    bench.clock.at(8, bench.cluster.finish_moves)
    assert bench.carry_out(files).complete
