"""Predictions beside a slow replay, the bound, and what rules a plan out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import MalformedInput, Unsatisfiable
from kedge.execution import Limits, Target
from kedge.execution.prediction import (
    BrokerEnvironment,
    Disk,
    Environment,
    Prediction,
    ProblemKind,
    RateFactors,
    Rates,
    Timing,
    predict,
    refuse_problems,
)
from kedge.execution.prediction import fair_share as shares
from kedge.execution.prediction.learned_rates import (
    Draw,
    RateRecord,
    drawn_factors,
    learned_rates,
    rate_line,
    read_rates,
)
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica
from kedge.sim.fair_rates import fair_rates
from tests.execution.slow_replay import Slow

GB = 10**9
QUICK = Timing(start_s=0.31, in_sync_s=0.27, delete_s=7.3, throttle_s=0.0)
SHARES = (0.75, 0.92, 1.0)  # of a throttle
READING = replace(QUICK, read_s=0.23)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def moves(*lists: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Change]:
    return [
        Change(TopicPartition("t", n), ids(*before), ids(*after))
        for n, (before, after) in enumerate(lists)
    ]


def predicted(
    changes: list[Change], size: int, limits: Limits, environment: Environment | None = None
) -> Prediction:
    sizes = {change.tp: size for change in changes}
    leaders = {change.tp: change.before[0] for change in changes}
    return predict(changes, sizes, leaders, limits, environment or Environment())


# ---- worked examples ----------------------------------------------------------------------------


def test_the_worked_example_of_the_package() -> None:
    changes = moves(((1, 2), (4, 2)), ((1, 3), (5, 3)))
    found = predicted(changes, 100 * GB, Limits(100_000_000, 1))
    starts, ends = ([getattr(each, at) for each in found.moves] for at in ("start", "end"))
    assert starts == pytest.approx([0.5, 1088.5])
    assert ends == pytest.approx([1087.757, 2175.757], abs=1e-3)
    assert found.bound_seconds == pytest.approx(2000.0)
    assert found.bound_by == "broker 1 sending at the throttle"
    seen = 2176.0  # the first poll after 2175.257 s
    assert found.seconds == pytest.approx(0.5 + seen + 0.2 + 0.5)
    assert found.moves[0].under_replicated_seconds == pytest.approx(1087.257, abs=1e-3)
    assert not found.problems


def test_a_partition_that_grows_must_catch_up() -> None:
    changes = moves(((1,), (2,)))
    tp = changes[0].tp
    quiet = predicted(changes, 10 * GB, Limits(100_000_000))
    busy = predicted(
        changes, 10 * GB, Limits(100_000_000), Environment(appended={tp: 50_000_000.0})
    )
    assert quiet.moving_seconds == pytest.approx(100 / 0.92 + 0.3)
    # half of the rate is for what is appended
    assert busy.moving_seconds == pytest.approx(200 / 0.92 + 0.3)


def test_moves_and_disks_have_the_times_of_the_whole_run() -> None:
    changes = moves(*[((1, 2), (3, 2))] * 6)
    disk = (Disk("", 0.0, 1000.0 * GB),)
    around = Environment({BrokerId(3): BrokerEnvironment(disk)})
    found = predicted(changes, 10 * GB, Limits(50_000_000), around)
    last = max(each.end or 0.0 for each in found.moves)
    assert last > 60 * GB / 46_000_000
    assert last <= found.seconds - 0.7 <= last + 1.0  # the last observation, elections, release
    (peak,) = (each for each in found.disks if each.broker == 3)
    assert (peak.peak, peak.at) == pytest.approx((60.0 * GB, last - 0.2))
    assert found.moving_seconds == pytest.approx(last - 0.5)


def test_a_throttle_that_never_binds_costs_only_the_time_to_set_and_remove_it() -> None:
    changes = moves(*[((1, 2), (3, 2))] * 6)
    samples = [RateFactors(throttle=share) for share in (0.75, 1.0, 1.2)]
    sizes, leaders = {c.tp: 10 * GB for c in changes}, {c.tp: BrokerId(1) for c in changes}

    def found(rate: int | None) -> Prediction:
        return predict(changes, sizes, leaders, Limits(rate), Environment(), samples=samples)

    free, throttled = found(None), found(10 * GB)
    assert throttled.moving_seconds == free.moving_seconds
    assert throttled.seconds == pytest.approx(free.seconds + 1.0)
    assert throttled.seconds_p10 == throttled.seconds_p90 == throttled.seconds


def test_copies_get_their_share_of_a_throttle_or_what_a_slower_disk_brings() -> None:
    changes = moves(((1,), (2,)), ((1,), (3,)))
    sizes = {changes[0].tp: 46 * GB, changes[1].tp: 92 * GB}
    leaders = {c.tp: BrokerId(1) for c in changes}
    around = Environment(rates=Rates(1e9, 70e6))
    found = predict(changes, sizes, leaders, Limits(60_000_000), around)
    slow = predict(changes, sizes, leaders, Limits(100_000_000), around)
    assert found.moves[0].end == pytest.approx(0.5 + 0.3 + 92 * GB / 55.2e6)
    assert slow.moves[0].end == pytest.approx(0.5 + 0.3 + 92 * GB / 70e6)


def test_a_run_whose_reads_take_time_polls_later_and_at_once_after_it_was_idle() -> None:
    timing = Timing(poll_s=15.0, read_s=1.0, throttle_s=0.0, throttle_share=1.0)
    changes = moves(((1,), (2,)), ((1,), (2,)))
    found = predicted(changes, 6 * GB, Limits(100_000_000, 1), Environment(timing=timing))
    ends = [each.end for each in found.moves]
    assert ends == pytest.approx([1.1 + 60.2, 66.0 + 61.3])  # seen 2 + 4 * 16 seconds later
    assert found.seconds == pytest.approx(2 * 66.0 + 0.2 + 0.5)
    tiny = predicted(changes[:1], 1000, Limits(100_000_000, 1), Environment(timing=timing))
    assert tiny.seconds == pytest.approx(2.0 + 0.2 + 0.5)


def test_draws_of_delays_vary_the_time_of_reads() -> None:
    timing = Timing(poll_s=15.0, read_s=1.0, throttle_s=0.0, throttle_share=1.0)
    changes = moves(((1,), (2,)))
    sizes, leaders = {changes[0].tp: 6 * GB}, {changes[0].tp: ids(1)[0]}
    around = Environment(timing=timing)
    draw = [RateFactors(delays=2.0)]
    found = predict(changes, sizes, leaders, Limits(100_000_000), around, samples=draw)
    assert found.seconds_p10 == pytest.approx(4.0 + 4 * 17.0 + 2 * 0.7)


def test_slow_hardware_widens_the_range_only_where_no_throttle_hides_it() -> None:
    changes = moves(((1,), (2,)))
    samples = [RateFactors(1.0, factor) for factor in np.linspace(0.5, 1.0, 11).tolist()]
    arguments = ({changes[0].tp: 100 * GB}, {changes[0].tp: BrokerId(1)})

    def spread(rate: int | None) -> float:
        found = predict(changes, *arguments, Limits(rate), Environment(), samples=samples)
        return found.seconds_p90 / found.seconds_p10

    assert spread(10_000_000) == 1.0
    assert spread(None) > 1.5


def test_a_throttle_that_delivers_less_makes_moves_longer_by_as_much() -> None:
    changes = moves(((1,), (2,)))
    sizes, leaders = {changes[0].tp: 92 * GB}, {changes[0].tp: BrokerId(1)}
    samples = [RateFactors(throttle=share, delays=2.0) for share in (0.5, 0.8, 1.0)]

    def called(
        function: Callable[[RateFactors], float], draws: Iterable[RateFactors]
    ) -> list[float]:
        return [function(each) for each in reversed(list(draws))]

    limits = Limits(100_000_000)
    found = predict(
        *(changes, sizes, leaders, limits, Environment()), samples=samples, in_parallel=called
    )
    assert found.moving_seconds == pytest.approx(1000.3)
    assert found.seconds == 1001.0 + 0.5 + 0.2 + 0.5
    assert (found.seconds_p10, found.seconds_p90) == pytest.approx((1001 + 2.4, 2001 + 2.4), abs=1)
    free = predict(changes, sizes, leaders, Limits(None), Environment(), samples=samples)
    assert free.seconds_p90 == pytest.approx(free.seconds + 0.2)


def test_no_draw_is_faster_than_the_busiest_broker_at_its_throttle() -> None:
    changes = moves(((1,), (2,)))
    sizes, leaders = {changes[0].tp: 100 * GB}, {changes[0].tp: BrokerId(1)}
    fast, limits = [RateFactors(throttle=1.2)], Limits(100_000_000)
    found = predict(changes, sizes, leaders, limits, Environment(), samples=fast)
    assert found.bound_seconds == 1000
    assert found.seconds == pytest.approx(1089.2)
    assert found.seconds_p10 == 1000 + 1.2


def test_moves_that_begin_and_end_late_count_once_for_each_round_of_the_busiest_broker() -> None:
    changes = moves(*[((1,), (2,))] * 5)
    sizes, leaders = {c.tp: GB for c in changes}, {c.tp: BrokerId(1) for c in changes}
    late, limits = [RateFactors(moves=3.0)], Limits(None, 2)
    found = predict(changes, sizes, leaders, limits, Environment(), samples=late)
    assert found.seconds_p10 == pytest.approx(found.seconds + 3 * 2 * (0.1 + 0.2))


def test_copies_between_log_directories_have_their_own_throttle_and_disks() -> None:
    tp = TopicPartition("t", 0)
    change = Change(tp, ids(1, 2), ids(1, 2))
    replica = PartitionReplica("t", 0, BrokerId(1))
    disks = (Disk("/a", 10.0 * GB, 100.0 * GB, 1), Disk("/b", 0.0, 100.0 * GB, 0))
    around = Environment({BrokerId(1): BrokerEnvironment(disks)}, log_dirs={replica: "/a"})
    found = predict(
        [change],
        {tp: 10 * GB},
        {tp: BrokerId(1)},
        Limits(100_000_000),
        around,
        target=Target({replica: "/b"}),
    )
    assert found.moving_seconds == pytest.approx(100 / 0.92 + 0.3)
    peaks = {each.log_dir: each.peak for each in found.disks if each.broker == 1}
    assert peaks == pytest.approx({"/a": 10.0 * GB, "/b": 10.0 * GB, None: 20.0 * GB})
    assert "copying between log directories" in found.bound_by
    assert found.moves[0].under_replicated_seconds == 0.0  # the ISR stays whole


def test_a_log_directory_throttle_that_is_too_low_is_named_with_the_rate_that_works() -> None:
    tp = TopicPartition("t", 0)
    replica = PartitionReplica("t", 0, BrokerId(1))
    disks = (Disk("/a", 10.0 * GB, 100.0 * GB, 1), Disk("/b", 0.0, 100.0 * GB, 0))
    around = Environment(
        {BrokerId(1): BrokerEnvironment(disks)},
        appended={tp: 20_000_000.0},
        log_dirs={replica: "/a"},
    )

    def found(limits: Limits) -> Prediction:
        change, target = Change(tp, ids(1), ids(1)), Target({replica: "/b"})
        return predict([change], {tp: GB}, {tp: BrokerId(1)}, limits, around, target=target)

    (problem,) = found(Limits(None, 2, log_dir_rate=10_000_000)).problems
    assert "would never end at a throttle of 10 MB/s" in problem.what
    assert problem.hint.startswith("use --log-dir-throttle 20")
    assert not found(Limits(None, 2, log_dir_rate=problem.rate_needed)).problems


def test_a_new_replica_goes_to_the_directory_with_the_fewest_replicas() -> None:
    changes = moves(((1,), (2,)))
    disks = (Disk("/a", 0.0, 50.0 * GB, 3), Disk("/b", 45.0 * GB, 50.0 * GB, 1))
    around = Environment({BrokerId(2): BrokerEnvironment(disks)})
    found = predicted(changes, 10 * GB, Limits(100_000_000), around)
    assert [(p.broker, p.log_dir) for p in found.problems] == [(2, "/b")]


# ---- over time -----------------------------------------------------------------------------------


def test_the_course_has_the_fill_of_disks_and_the_bytes_in_flight_by_step() -> None:
    """Broker 3 fills at 46 MB/s each from two moves, and again from the third."""
    changes = moves(*[((1, 2), (3, 2))] * 3)
    found = predicted(changes, 46 * GB, Limits(100_000_000))
    course = found.course
    freed, disk = course.disks
    sender, receiver = course.brokers
    assert (freed.broker, disk.broker, disk.log_dir) == (1, 3, None)
    assert (sender.broker, receiver.broker) == (1, 3)
    assert sender.out == receiver.into
    assert set(sender.into) == set(receiver.out) == {0}
    ends = [course.start + course.step * (n + 1) for n in range(len(disk.bytes))]
    for end, filled, flying in zip(ends, disk.bytes, receiver.into, strict=True):
        if end < 1000:
            assert filled == pytest.approx(92_000_000 * (end - 0.6))
            assert flying == 92 * GB
        elif end > 1020:
            assert flying == 46 * GB
    assert disk.bytes[-1] == 138 * GB
    assert ends[-2] < (found.moves[-1].end or 0.0) <= ends[-1]


def test_a_run_much_longer_than_its_bound_has_longer_steps() -> None:
    found = predicted(moves(*[((1,), (2,))] * 40), 1_000, Limits(100_000_000, 1))
    (disk,) = found.course.disks
    assert found.moving_seconds > 40 * found.bound_seconds
    assert 100 <= len(disk.bytes) <= 200
    assert len(disk.bytes) * found.course.step == pytest.approx(
        found.moving_seconds, abs=found.course.step
    )
    assert disk.bytes[-1] == 40_000
    assert list(disk.bytes) == sorted(disk.bytes)


def test_a_large_plan_has_fewer_steps() -> None:
    changes = moves(*[((n,), (n + 1,)) for n in range(1, 1_000, 2)])
    found = predicted(changes, GB, Limits(100_000_000))
    assert {len(disk.bytes) for disk in found.course.disks} <= set(range(30, 67))


# ---- what rules a plan out ----------------------------------------------------------------------


def test_a_plan_that_fills_a_disk_is_refused_with_broker_and_moment() -> None:
    changes = moves(((1,), (2,)), ((1,), (3,)))
    disk = (Disk("", 95.0 * GB, 100.0 * GB),)
    around = Environment({BrokerId(2): BrokerEnvironment(disk)})
    found = predicted(changes, 10 * GB, Limits(100_000_000, 1), around)
    (problem,) = found.problems
    assert (problem.kind, problem.broker) == (ProblemKind.DISK_FULL, 2)
    assert problem.at == pytest.approx(0.5 + 0.1 + 50.0 / 0.92)
    with pytest.raises(Unsatisfiable, match=r"broker 2 would be full after 55 s: it would need"):
        refuse_problems(found)


def test_space_that_a_removed_replica_frees_in_time_is_used() -> None:
    """Broker 2 sends 10 GB away and then receives 10 GB; its files are gone a minute later."""
    changes = moves(((2,), (3,)), ((1,), (2,)))
    disk = (Disk("", 95.0 * GB, 100.0 * GB),)

    def problems(delete_s: float) -> int:
        around = Environment(
            {BrokerId(2): BrokerEnvironment(disk)}, timing=Timing(delete_s=delete_s)
        )
        limits, sizes = Limits(100_000_000, 1), {changes[0].tp: GB, changes[1].tp: 6 * GB}
        leaders = {change.tp: change.before[0] for change in changes}
        return len(predict(changes, sizes, leaders, limits, around).problems)

    assert problems(delete_s=1.0) == 0
    assert problems(delete_s=600.0) == 1


def test_a_throttle_below_what_followers_take_never_ends_and_names_the_rate_that_does() -> None:
    """8 MB/s of each follower of the moved partition count for the throttle of the leader."""
    changes = moves(((1, 2, 3), (4, 2, 3)))
    tp = changes[0].tp
    around = Environment(appended={tp: 8_000_000.0})
    found = predicted(changes, GB, Limits(20_000_000), around)
    (problem,) = found.problems
    assert (found.seconds, problem.kind, problem.broker) == (inf, ProblemKind.NEVER_ENDS, 1)
    assert problem.rate_needed == pytest.approx(24_000_000, rel=0.01)
    assert not predicted(changes, GB, Limits(problem.rate_needed), around).problems
    with pytest.raises(Unsatisfiable, match=r"would never end at a throttle of 20 MB/s"):
        refuse_problems(found)


def test_replicas_that_have_arrived_go_on_taking_the_rate_of_their_broker() -> None:
    """Each replica alone could be copied; three of them leave too little for the last one."""
    changes = moves(((1,), (9,)), ((2,), (9,)), ((3,), (9,)))
    changes = [replace(c, after=(c.before[0], BrokerId(9))) for c in changes]
    around = Environment(appended={c.tp: 4_000_000.0 for c in changes})
    found = predicted(changes, GB // 10, Limits(11_000_000, 1), around)
    assert [(p.kind, p.broker) for p in found.problems] == [(ProblemKind.NEVER_ENDS, 9)]
    assert [each.end is None for each in found.moves] == [False, False, True]


# ---- laws ----------------------------------------------------------------------------------------


@st.composite
def plans(draw: st.DrawFn) -> tuple[list[Change], dict[TopicPartition, int], Limits, Environment]:
    brokers = range(1, 6)
    changes: list[Change] = []
    for number in range(draw(st.integers(1, 8))):
        before = draw(st.lists(st.sampled_from(brokers), min_size=1, max_size=3, unique=True))
        after = draw(st.lists(st.sampled_from(brokers), min_size=1, max_size=3, unique=True))
        if before != after:
            changes.append(Change(TopicPartition("t", number), ids(*before), ids(*after)))
    sizes = {c.tp: draw(st.integers(100, 5_000)) for c in changes}
    grows = draw(st.booleans())
    appended = {c.tp: draw(st.floats(0.5, 3.0)) for c in changes if grows}
    consumed = {c.tp: draw(st.floats(0.0, 5.0)) for c in changes if grows}
    incoming: defaultdict[BrokerId, float] = defaultdict(float)
    outgoing: defaultdict[BrokerId, float] = defaultdict(float)
    used: defaultdict[BrokerId, float] = defaultdict(float)
    for change in changes:
        growth = appended.get(change.tp, 0.0)
        sent = growth * (len(change.before) - 1) + consumed.get(change.tp, 0.0)
        outgoing[change.before[0]] += sent
        for broker in change.before:
            incoming[broker] += growth
            used[broker] += sizes[change.tp]
    around = {
        b: BrokerEnvironment(
            (Disk("", used[b], None, 0, incoming[b]),), None, None, incoming[b], outgoing[b]
        )
        for b in ids(*brokers)
    }
    rates = Rates(draw(st.sampled_from([90.0, 300.0])), draw(st.sampled_from([80.0, 1e6])))
    limits = Limits(draw(st.sampled_from([None, 70, 100])), draw(st.integers(1, 2)))
    timing = draw(st.sampled_from([QUICK, READING]))
    timing = replace(timing, throttle_share=draw(st.sampled_from(SHARES)))
    return changes, sizes, limits, Environment(around, appended, consumed, {}, rates, timing)


@settings(max_examples=60, deadline=None)
@given(plans())
def test_a_prediction_is_what_a_slow_replay_finds(
    plan: tuple[list[Change], dict[TopicPartition, int], Limits, Environment],
) -> None:
    changes, sizes, limits, around = plan
    leaders = {change.tp: change.before[0] for change in changes}
    found = predict(changes, sizes, leaders, limits, around)
    assume_ends = all(each.end is not None for each in found.moves)
    slow = Slow(changes, sizes, leaders, limits, around)
    slow.run(found.moving_seconds + 20 if assume_ends else 2_000.0)
    if not assume_ends:
        assert len(slow.end) < len(changes)
        return
    assert [each.start for each in found.moves] == pytest.approx(
        [slow.start[c.tp] for c in changes], abs=1e-3
    )
    assert [each.end for each in found.moves] == pytest.approx(
        [slow.end[c.tp] for c in changes], rel=1e-6, abs=1e-3
    )
    for peak in found.disks:
        assert peak.peak == pytest.approx(slow.peak.get(peak.broker, 0.0), rel=1e-5, abs=0.1)
    for change in changes:  # all bytes went over the links, and what was appended meanwhile
        through = sizes[change.tp] * len(change.added) + slow.appended[change.tp]
        assert slow.sent[change.tp] == pytest.approx(through, rel=1e-6, abs=1e-2)
    highest = {each.broker: max(each.bytes) for each in found.course.disks}
    flights = {each.broker: (max(each.out), max(each.into)) for each in found.course.brokers}
    for peak in found.disks:
        assert highest.get(peak.broker, peak.before) == pytest.approx(peak.peak, abs=1)
    for broker in found.brokers:
        in_flight = (broker.in_flight_out, broker.in_flight_in)
        assert flights.get(broker.broker, (0, 0)) == pytest.approx(in_flight)
    assert found.moving_seconds >= found.bound_seconds * (1 - 1e-9)
    for broker in found.brokers:
        assert max(broker.link_in, broker.link_out) <= 1 + 1e-9


@settings(max_examples=40, deadline=None)
@given(plans(), st.floats(0.3, 1.5), st.floats(0.3, 1.5))
def test_a_draw_gives_the_time_of_a_prediction_with_its_rates(
    plan: tuple[list[Change], dict[TopicPartition, int], Limits, Environment],
    network: float,
    disk: float,
) -> None:
    changes, sizes, limits, around = plan
    leaders = {change.tp: change.before[0] for change in changes}
    factors = [RateFactors(network, disk)]
    drawn = predict(changes, sizes, leaders, limits, around, samples=factors)
    rates = Rates(around.rates.network * network, around.rates.disk * disk)
    whole = predict(changes, sizes, leaders, limits, replace(around, rates=rates))
    if drawn.seconds < inf:
        assert drawn.seconds_p10 == drawn.seconds_p90 == pytest.approx(whole.seconds)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_rates_stay_max_min_fair_while_copies_come_and_go(data: st.DataObject) -> None:
    resources, flows = 6, 12
    capacity = np.array(data.draw(st.lists(st.floats(1, 100), min_size=6, max_size=6)))
    rows = [
        data.draw(st.lists(st.integers(0, resources - 1), min_size=3, max_size=3, unique=True))
        for _ in range(flows)
    ]
    uses = np.array(rows, np.int32)
    state, active = shares.new_sharing(uses, capacity), set[int]()
    for flow in data.draw(st.lists(st.integers(0, flows - 1), min_size=1, max_size=25)):
        (shares.leave if flow in active else shares.join)(state, flow)
        active ^= {flow}
        shares.refill(state)
        shares.close_group(state)
        listed = sorted(active)
        expected = fair_rates(capacity, uses[listed]) if listed else np.zeros(0)
        assert state.rate[listed] == pytest.approx(expected, rel=1e-7)


# ---- learned rates -------------------------------------------------------------------------------


def test_rates_that_runs_have_measured_replace_the_assumed_ones_once_there_are_enough() -> None:
    records = [RateRecord(float(n), 100.0 + n, None) for n in range(5)]
    assert read_rates(b"".join(map(rate_line, records)) + b'{"at":') == records
    assert learned_rates(records[:4], Rates(7.0, 8.0)) == Rates(7.0, 8.0)
    assert learned_rates(records, Rates(7.0, 800.0)) == Rates(102.0, 800.0)
    (lowest, highest) = drawn_factors([Draw(0.0, 0.0), Draw(0.999, 0.999999)], records)
    assert (lowest.network, highest.network) == pytest.approx((100 / 102, 104 / 102))
    (lowest, highest) = drawn_factors([Draw(0.0, 0.0), Draw(0.999, 0.999999)], records[:4])
    assert (lowest.network, highest.network) == pytest.approx((0.5, 2.0), rel=2e-2)
    assert (lowest.disk, highest.disk) == pytest.approx((0.5, 2.0), rel=1e-3)


@pytest.mark.parametrize("line", [b"[]", b"{}", b'{"at":1,"disk":-1}', b'{"at":1,"disk":true}'])
def test_a_damaged_file_of_rates_is_named(line: bytes) -> None:
    with pytest.raises(MalformedInput, match="line 1 is no record of rates"):
        read_rates(line + b"\n")
