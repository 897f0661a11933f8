"""What goes in and out of brokers while a run is at work."""

from __future__ import annotations

from kedge.execution import MoveStatus, Sizes, Statuses, work_of
from kedge.execution.flows import BrokerFlow, FlowMeter, Flows
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CHANGES = [Change(T0, (B1, B2), (B4, B2)), Change(T1, (B2,), (B4, B3))]
WAITING, MOVING, DONE = MoveStatus.WAITING, MoveStatus.MOVING, MoveStatus.DONE


def flows_at(
    meter: FlowMeter,
    now: float,
    statuses: Statuses,
    arrived: dict[tuple[TopicPartition, BrokerId], int],
    leaders: dict[TopicPartition, BrokerId | None],
) -> Flows:
    sizes = {PartitionReplica(*T0, B1): 100, PartitionReplica(*T1, B2): 50}
    sizes |= {PartitionReplica(*tp, broker): size for (tp, broker), size in arrived.items()}
    return meter.at(now, work_of(CHANGES, statuses, Sizes(sizes), leaders))


def test_bytes_come_from_the_leader_that_a_partition_had_before_it_was_over() -> None:
    meter = FlowMeter()
    begun = flows_at(meter, 0.0, {T0: WAITING, T1: WAITING}, {}, {T0: B2, T1: B2})
    assert begun.brokers == (
        BrokerFlow(B2, 0, 0, 0, 200),
        BrokerFlow(B3, 0, 50, 0, 0),
        BrokerFlow(B4, 0, 150, 0, 0),
    )
    statuses = {T0: DONE, T1: MOVING}
    arrived = {(T1, B4): 20, (T1, B3): 10}
    later = flows_at(meter, 10.0, statuses, arrived, {T0: B4, T1: B2})
    assert later.brokers == (
        BrokerFlow(B2, 0, 0, 130, 200),
        BrokerFlow(B3, 10, 50, 0, 0),
        BrokerFlow(B4, 120, 150, 0, 0),
    )


def test_a_move_that_was_over_before_came_from_the_first_replica() -> None:
    found = flows_at(FlowMeter(), 0.0, {T0: DONE, T1: WAITING}, {}, {T0: B4, T1: B2})
    assert found.brokers[0] == BrokerFlow(B1, 0, 0, 100, 100)


def test_moves_in_flight_have_a_rate_once_they_were_seen_twice() -> None:
    meter, leaders = FlowMeter(), {T0: B1, T1: B2}
    statuses = {T0: MOVING, T1: WAITING}
    (first,) = flows_at(meter, 0.0, statuses, {(T0, B4): 20}, leaders).moves
    assert (first.tp, first.source, first.destinations) == (T0, B1, (B4,))
    assert (first.bytes_done, first.bytes_per_second, first.seconds_left) == (20, 0.0, None)
    (second,) = flows_at(meter, 2.0, statuses, {(T0, B4): 60}, leaders).moves
    assert (second.bytes_per_second, second.seconds_left) == (20.0, 2.0)
    assert flows_at(meter, 3.0, {T0: DONE, T1: WAITING}, {}, leaders).moves == ()
