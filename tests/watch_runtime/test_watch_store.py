"""The store of the loop: versions, fencing, history and events, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

import pytest

from kedge.database import Database, open_database
from kedge.errors import WriterFenced
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.policy import Mode, Policy, Webhook, WebhookForm
from kedge.watch.proposals import ProposalState, approve, reject
from kedge.watch_runtime import WatchStore
from tests.watch.clusters import NOON, proposal
from tests.watch.histories import sample

DOWN = Finding(FindingKind.BROKER_DOWN, NOON, "Broker 4 is down", (4,))


@pytest.fixture
def database(new_database: Callable[[], str]) -> Generator[Database]:
    found = open_database(new_database())
    yield found
    found.close()


@pytest.fixture
def store(database: Database) -> WatchStore:
    found = WatchStore(database, "orders", "a")
    assert found.acquire(NOON, 30.0)
    return found


def test_a_policy_comes_back_as_it_was_set(store: WatchStore) -> None:
    assert store.policy() == Policy()
    policy = Policy(mode=Mode.AUTO, webhooks=(Webhook(WebhookForm.JSON, "http://127.0.0.1/x"),))
    store.set_policy(policy)
    store.set_policy(policy)
    assert store.policy() == policy


def test_a_proposal_is_replaced_only_in_the_version_that_was_read(store: WatchStore) -> None:
    made = proposal()
    assert store.replace(made)
    assert not store.replace(made)
    approved = approve(made, "ann", NOON)
    assert store.replace(approved, fenced=False)
    assert not store.replace(reject(made, "ben", NOON, "no"), fenced=False)
    assert store.proposal(made.id) == approved


def test_ended_proposals_are_read_for_a_while(store: WatchStore) -> None:
    made = proposal()
    store.replace(made)
    store.replace(made.in_state(ProposalState.STALE, NOON + 10, "why"))
    assert len(store.proposals(NOON)) == 1
    assert store.proposals(NOON + 11) == []
    assert len(store.proposals()) == 1


def test_one_server_leads_and_a_replaced_one_writes_nothing(
    database: Database, store: WatchStore
) -> None:
    other = WatchStore(database, "orders", "b")
    assert not other.acquire(NOON + 29, 30.0)
    assert store.acquire(NOON + 29, 30.0)
    assert not other.acquire(NOON + 58, 30.0)
    assert other.acquire(NOON + 60, 30.0)
    for write in (
        lambda: store.replace(proposal()),
        lambda: store.record_sample(sample(1), 60.0, 60.0),
        lambda: store.store_findings(NOON, (), ()),
        lambda: store.begin_run(proposal(), NOON),
        lambda: store.take_back_run("p-balance"),
    ):
        with pytest.raises(WriterFenced):
            write()
    assert other.replace(proposal())
    assert WatchStore(database, "logs", "a").acquire(NOON, 30.0)


def test_a_lease_that_ran_out_gets_a_new_epoch(store: WatchStore) -> None:
    before = store.epoch
    assert store.acquire(NOON + 31, 30.0)
    assert store.epoch != before


def test_a_lead_whose_time_is_over_writes_nothing_though_no_other_server_has_taken_it(
    store: WatchStore,
) -> None:
    assert store.replace(proposal())
    assert store.acquire(NOON, 0.0)  # the process stood still for as long as its lease was
    with pytest.raises(WriterFenced, match="has run out"):
        store.record_sample(sample(1), 60.0, 60.0)


def test_what_is_under_way_is_not_continued_under_a_new_lease(store: WatchStore) -> None:
    assert store.acquire(NOON + 29, 30.0, renews_only=True)
    assert not store.acquire(NOON + 60, 30.0, renews_only=True)
    with pytest.raises(WriterFenced):
        store.replace(proposal())
    assert store.acquire(NOON + 60, 30.0)
    assert store.replace(proposal())


def test_a_run_begins_only_in_the_version_that_is_stored_as_running(store: WatchStore) -> None:
    made = proposal()
    store.replace(made)
    running = made.in_state(ProposalState.RUNNING, NOON)
    assert not store.begin_run(running, NOON)
    store.replace(running)
    assert store.begun_run(made.id) == (False, None)
    assert store.begin_run(running, NOON)
    assert store.begin_run(running, NOON)
    assert store.begun_run(made.id) == (True, None)
    store.take_back_run("another")
    assert store.begun_run(made.id) == (True, None)
    store.take_back_run(made.id)
    assert store.begun_run(made.id) == (False, None)
    store.replace(running.in_state(ProposalState.OPEN, NOON))
    assert not store.begin_run(running, NOON)


def test_the_history_is_returned_for_the_time_that_is_needed(store: WatchStore) -> None:
    found = [store.record_sample(sample(minute), 120.0, 120.0) for minute in range(5)]
    assert [each.at for each in found[-1]] == [120.0, 180.0, 240.0]


def test_before_the_recent_time_a_few_samples_stand_for_the_trend(store: WatchStore) -> None:
    found = [store.record_sample(sample(minute), 86_400.0, 600.0) for minute in range(230)]
    times = [each.at / 60 for each in found[-1]]
    assert times[-11:] == list(range(219, 230)), "all of the last ten minutes"
    assert len(times) - 11 == 110, "and every second before them"
    shown = store.samples(0.0, 1e9, 50)
    assert (len(shown), shown[-1].at) == (46, 229 * 60.0)


def test_samples_of_days_ago_are_kept_for_each_ten_minutes(store: WatchStore) -> None:
    day = 24 * 60
    for minute in [*range(60), *range(2 * day, 2 * day + 61)]:
        store.record_sample(sample(minute), 60.0, 60.0)
    old = [each.at / 60 for each in store.samples(0.0, day * 60.0)]
    assert old == [0, 10, 20, 30, 40, 50]


def test_every_change_is_an_event_until_it_is_delivered(store: WatchStore) -> None:
    store.replace(proposal())
    store.store_findings(NOON, (DOWN,), (("p-balance", "outside of window"),))
    store.store_findings(NOON, (replace(DOWN, why="for longer"),), ())
    store.store_findings(NOON, (), ())
    events = store.events_to_deliver()
    titles = [each.title for _, each in events]
    assert titles == [
        "orders: balance p-balance is open",
        "orders: broker down found",
        "orders: broker down is over",
    ]
    assert store.proposal("p-balance").waits_for == "outside of window"
    for number, _ in events:
        store.delivered(number, NOON)
    assert store.events_to_deliver() == []
