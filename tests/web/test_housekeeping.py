"""What is past its retention leaves the database; what something refers to stays."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from kedge.database import Database, open_database
from kedge.watch.policy import DAY_S
from kedge.watch.proposals import ProposalState
from kedge.watch_runtime import WatchStore
from kedge.web.audit import Audit, AuditEntry, AuditOutcome
from kedge.web.housekeeping import Housekeeping
from kedge.web.jobs.job_store import JobState
from kedge.web.settings import Retention, settings_of
from kedge.web.tables import JobRow, PlanRow, PredictionRow, SnapshotRow
from tests.watch.clusters import NOON, proposal

OLD, NEW = NOON - 100 * DAY_S, NOON - DAY_S
SETTINGS = settings_of({"clusters": {"orders": {"bootstrap_servers": "x"}}}, Path())


@pytest.fixture
def database(new_database: Callable[[], str]) -> Generator[Database]:
    found = open_database(new_database())
    found.clock = lambda: NOON
    yield found
    found.close()


def _snapshot(name: str, at: float) -> SnapshotRow:
    counts = {"partitions": 1, "brokers": 1}
    return SnapshotRow(
        id=name, cluster="orders", taken_at=at, sha256=name, who="ann", data=b"", **counts
    )


def _plan(name: str, snapshot: str, at: float) -> PlanRow:
    figures = {"summary": {}, "details": {}}
    return PlanRow(
        id=name,
        cluster="orders",
        snapshot_id=snapshot,
        created_at=at,
        who="ann",
        data=b"",
        **figures,
    )


def _prediction(name: str, plan: str, at: float) -> PredictionRow:
    figures = {"options": {}, "summary": {}}
    return PredictionRow(
        id=name, cluster="orders", plan_id=plan, created_at=at, who="ann", data=b"", **figures
    )


def _job(
    database: Database,
    kind: str,
    request: dict[str, str],
    ended_at: float | None,
    beat_at: float = OLD,
) -> str:
    state = JobState.RUNNING if ended_at is None else JobState.DONE
    row = JobRow(
        id=f"{kind} {request} {ended_at}"[:32],
        kind=kind,
        cluster="orders",
        who="ann",
        state=state.value,
        request=request,
        progress={},
        owner="server",
        beat_at=beat_at,
        created_at=OLD,
        ended_at=ended_at,
    )
    with database.begin() as session:
        session.add(row)
    return row.id


def _left(database: Database, table: type[JobRow | PlanRow | PredictionRow | SnapshotRow]) -> str:
    with database.read() as session:
        return " ".join(sorted(row.id for row in session.query(table)))


def _fill(database: Database) -> None:
    with database.begin() as session:
        session.add_all([_snapshot(f"s{n}", OLD) for n in range(5)] + [_snapshot("s5", NEW)])
        session.flush()
        old = [_plan(f"p{n}", f"s{n}", OLD) for n in range(3)]
        session.add_all([*old, _plan("p3", "s3", NEW)])
        session.flush()
        session.add_all([_prediction("r0", "p0", OLD), _prediction("r1", "p1", NEW)])


def test_documents_leave_unless_something_that_stays_refers_to_them(database: Database) -> None:
    _fill(database)
    _job(database, "run", {"plan": "p0"}, OLD)
    kept = _job(database, "run", {"plan": "p2"}, None)
    Housekeeping(database, SETTINGS).clean()
    assert _left(database, JobRow) == kept
    assert _left(database, PredictionRow) == "r1"
    assert _left(database, PlanRow) == "p1 p2 p3"
    assert _left(database, SnapshotRow) == "s1 s2 s3 s5"


def test_no_document_leaves_while_a_plan_is_made(database: Database) -> None:
    _fill(database)
    _job(database, "plan", {}, None, beat_at=database.now() - 60)
    Housekeeping(database, SETTINGS).clean()
    assert _left(database, SnapshotRow) == "s0 s1 s2 s3 s4 s5"


def test_a_plan_that_no_server_makes_any_more_keeps_no_document(database: Database) -> None:
    _fill(database)
    _job(database, "plan", {}, None, beat_at=database.now() - 2 * 3600)
    Housekeeping(database, SETTINGS).clean()
    assert "s0" not in _left(database, SnapshotRow)


def test_no_days_keep_everything(database: Database) -> None:
    _fill(database)
    Housekeeping(database, replace(SETTINGS, retention=Retention(0, 0))).clean()
    assert _left(database, PredictionRow) == "r0 r1"
    assert _left(database, SnapshotRow) == "s0 s1 s2 s3 s4 s5"


def test_the_audit_is_kept_for_its_days(database: Database) -> None:
    audit = Audit(database)
    for at in (NOON - 366 * DAY_S, NOON - 364 * DAY_S):
        database.clock = lambda at=at: at
        audit.write(AuditEntry("ann", "::1", f"at {at}", AuditOutcome.DONE, 200))
    database.clock = lambda: NOON
    Housekeeping(database, SETTINGS).clean()
    assert [each.action for each in audit.entries()] == [f"at {NOON - 364 * DAY_S}"]


@pytest.mark.parametrize(("days", "cool_down_days", "kept"), [(90, 1, "b c"), (1, 200, "a b c")])
def test_ended_proposals_leave_once_no_rule_looks_back_to_them(
    database: Database, days: int, cool_down_days: int, kept: str
) -> None:
    store = WatchStore(database, "orders", "server")
    assert store.acquire(NOON, 30.0)
    made = {name: replace(proposal(), id=name, version=1, changed_at=OLD) for name in "abc"}
    assert store.replace(replace(made["a"], state=ProposalState.REJECTED))
    assert store.replace(made["b"])
    assert store.replace(replace(made["c"], state=ProposalState.DONE, changed_at=NOON))
    cluster = SETTINGS.clusters["orders"]
    policy = replace(cluster.policy, cool_down_s=cool_down_days * DAY_S)
    clusters = {"orders": replace(cluster, policy=policy)}
    settings = replace(SETTINGS, clusters=clusters, retention=Retention(0, days))
    Housekeeping(database, settings).clean()
    assert " ".join(sorted(each.id for each in store.proposals(0.0))) == kept
