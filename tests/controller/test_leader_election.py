"""Who leads next, by each strategy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.leader_election import (
    choose_offline,
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
    without_replica,
)
from kedge.model import NO_LEADER, BrokerId, Leadership, Recovery, ReplicaAssignment
from tests.controller.stage import brokers

IDS = st.lists(st.integers(0, 5).map(BrokerId), unique=True, min_size=1).map(tuple)


def led(leader: int, *isr: int, epoch: int = 4) -> Leadership:
    return Leadership(BrokerId(leader), brokers(*isr), epoch)


def test_a_lost_leader_is_replaced_from_the_isr_in_the_order_of_replicas() -> None:
    elected = elect_offline(
        led(1, 3, 2, 1), brokers(1, 2, 3), brokers(2, 3), unclean=False, marks_recovery=True
    )
    assert elected.leadership == led(2, 3, 2, epoch=5)
    assert elected.recipients == brokers(2, 3)


def test_without_anyone_in_sync_only_an_unclean_election_finds_a_leader() -> None:
    assert choose_offline(brokers(1, 2), brokers(1), brokers(2), unclean=False) is None
    elected = elect_offline(
        led(1, 1), brokers(1, 2), brokers(2), unclean=True, marks_recovery=True
    ).leadership
    assert elected is not None
    assert (elected.leader, elected.isr, elected.recovery) == (2, (2,), Recovery.RECOVERING)


def test_old_protocols_do_not_mark_an_unclean_leader() -> None:
    elected = elect_offline(
        led(1, 1), brokers(1, 2), brokers(2), unclean=True, marks_recovery=False
    ).leadership
    assert elected is not None
    assert elected.recovery is Recovery.RECOVERED


def test_a_reassigned_leader_comes_from_the_target_and_the_isr_stays() -> None:
    assignment = ReplicaAssignment(brokers(4, 2, 1), brokers(4), brokers(1))
    elected = elect_reassigned(led(1, 1, 2, 4), assignment, brokers(1, 2, 4))
    assert elected.leadership == led(4, 1, 2, 4, epoch=5)
    assert elected.recipients == brokers(4, 2)


def test_nobody_but_the_first_replica_is_preferred() -> None:
    assert elect_preferred(led(2, 2, 3), brokers(1, 2, 3), brokers(1, 2, 3)).leadership is None
    elected = elect_preferred(led(2, 2, 1), brokers(1, 2, 3), brokers(1, 2, 3))
    assert elected.leadership == led(1, 2, 1, epoch=5)
    assert elected.recipients == brokers(1, 2, 3)


def test_a_shutdown_takes_every_leaving_broker_out_of_the_isr_but_leaves_dead_ones() -> None:
    elected = elect_for_shutdown(
        led(1, 1, 2, 3, 4), brokers(1, 2, 3, 4), brokers(1, 2, 3), {BrokerId(1), BrokerId(2)}
    )
    assert elected.leadership == led(3, 3, 4, epoch=5)
    assert elected.recipients == brokers(1, 2, 3)


def test_the_last_member_of_an_isr_stays_listed_without_leading() -> None:
    assert without_replica(led(2, 2), BrokerId(2)) == led(NO_LEADER, 2, epoch=5)
    assert without_replica(led(2, 2, 3), BrokerId(3)) == led(2, 2, epoch=5)


@given(replicas=IDS, isr=IDS, live=IDS, unclean=st.booleans(), epoch=st.integers(0, 9))
def test_an_offline_election_keeps_its_laws(
    replicas: tuple[BrokerId, ...],
    isr: tuple[BrokerId, ...],
    live: tuple[BrokerId, ...],
    unclean: bool,
    epoch: int,
) -> None:
    now = Leadership(isr[0], isr, epoch)
    elected = elect_offline(now, replicas, live, unclean=unclean, marks_recovery=True)
    new = elected.leadership
    if new is None:
        assert not set(replicas) & set(live) & set(isr)
        return
    assert new.leader in new.isr
    assert new.leader in set(replicas) & set(live)
    assert new.leader_epoch == epoch + 1
    assert set(new.isr) <= set(live)
    assert (new.leader in isr) or (unclean and new.recovery is Recovery.RECOVERING)
