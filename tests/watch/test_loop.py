"""The script of one sample: what it yields, and what follows from the answers."""

from collections.abc import Callable
from dataclasses import replace

from kedge.model import TopicPartition
from kedge.watch.effects import Refused, RunPhase, RunSeen, Unreachable
from kedge.watch.findings import FindingKind
from kedge.watch.policy import Budget, Kind, Mode
from kedge.watch.proposals import ProposalState, approve, reject
from kedge.watch.samples import Observed
from tests.watch.clusters import GB, NOON, QUICK, TP, World, observed, proposal

Places = dict[TopicPartition, tuple[int, ...]]
PLACES: Places = {TopicPartition("orders", n): (1 + n % 3, 1 + (n + 1) % 3) for n in range(6)}


def steadily(cluster: Callable[[float], Observed]) -> Callable[[], Observed]:
    """The same cluster again, a minute later each time."""
    minutes = iter(range(10_000))
    return lambda: cluster(NOON + 60 * next(minutes))


def without_3() -> Callable[[], Observed]:
    return steadily(lambda at: observed(PLACES, at=at, dead=(3,)))


def only(world: World) -> ProposalState:
    (found,) = world.proposals.values()
    return found.state


def test_a_broker_that_is_down_is_proposed_for_repair_within_two_samples_and_started() -> None:
    world = World(now=without_3())
    assert world.look().findings == ()
    looked = world.look()
    assert looked.findings[0].kind is FindingKind.BROKER_DOWN
    assert [each.answer for each in looked.findings[1:]] == ["waits: broker 3 is down"] * 2
    (made,) = world.proposals.values()
    assert (made.kind, made.state, made.subject) == (Kind.REPAIR, ProposalState.RUNNING, (3,))
    assert made.plan is not None
    assert all(3 not in ids for ids in made.plan.after.values())
    assert made.cost.bytes == 10 * GB * len(made.plan.partitions)
    assert world.started == [made.id]
    assert world.effects[-3:] == ["StoreProposal", "StartRun", "StoreFindings"]


def test_a_run_is_followed_to_its_end() -> None:
    world = World(now=without_3())
    world.looks(2)
    (made,) = world.proposals
    world.look()
    assert only(world) is ProposalState.RUNNING
    world.runs[made] = RunSeen(RunPhase.DONE, bytes_copied=7)
    world.now = steadily(lambda at: observed({TP: (1, 2)}, at=at + 600))
    world.look()
    assert only(world) is ProposalState.DONE
    assert world.proposals[made].bytes_copied == 7


def test_a_run_that_was_interrupted_is_continued_and_one_that_never_began_is_taken_back() -> None:
    world = World(policy=replace(QUICK, mode=Mode.APPROVE), now=without_3())
    world.looks(2)
    (made,) = world.proposals.values()
    world.proposals[made.id] = approve(made, "ann", NOON + 61)
    world.look()
    assert world.started == [made.id]
    world.runs[made.id] = RunSeen(RunPhase.INTERRUPTED)
    world.look()
    assert world.started == [made.id, made.id]
    world.runs.clear()
    world.answer_start = Refused("busy", final=False)
    world.look()
    assert only(world) is ProposalState.APPROVED
    assert world.proposals[made.id].started_at is None


def test_a_refused_start_fails_the_proposal() -> None:
    world = World(now=without_3(), answer_start=Refused("the throttle is too low"))
    world.looks(2)
    (made,) = world.proposals.values()
    assert (made.state, made.why) == (ProposalState.FAILED, "the throttle is too low")
    world.look()
    assert any("has failed" in why for _, why in world.waiting)


def test_a_proposal_waits_while_another_process_acts_on_the_runs() -> None:
    world = World(now=without_3(), other_process=True)
    world.looks(3)
    assert only(world) is ProposalState.OPEN
    (made,) = world.proposals.values()
    assert world.waiting == ((made.id, "another process acts on the runs of this cluster"),)
    assert (world.started, made.version) == ([], 1)
    world.policy = replace(QUICK, mode=Mode.PROPOSE)
    world.other_process = False
    world.effects.clear()
    world.look()
    assert only(world) is ProposalState.OPEN
    assert "FindOtherProcess" not in world.effects, "a rule stands against a start already"
    world.policy = QUICK
    world.look()
    assert world.started == [made.id]


def test_a_start_that_was_taken_back_goes_through_all_rules_again() -> None:
    world = World(now=without_3())
    world.looks(2)
    (made,) = world.proposals
    world.runs.clear()
    world.policy = replace(QUICK, mode=Mode.PROPOSE)
    world.look()
    assert only(world) is ProposalState.OPEN
    assert world.proposals[made].why == "its run did not begin"
    assert world.started == [made]


def test_a_proposal_that_a_person_changes_meanwhile_is_left_alone() -> None:
    world = World(now=without_3())
    world.look()
    execute = world.execute

    def reject_first(effect: object) -> object:
        if type(effect).__name__ == "StoreProposal" and world.proposals:
            (made,) = world.proposals.values()
            if made.state is ProposalState.OPEN:
                world.proposals[made.id] = reject(made, "ann", NOON, "no")
        return execute(effect)

    world.execute = reject_first  # type: ignore[method-assign]
    world.look()
    assert only(world) is ProposalState.REJECTED
    assert world.started == []


def test_what_was_rejected_is_not_proposed_again_for_a_while() -> None:
    world = World(policy=replace(QUICK, mode=Mode.APPROVE), now=without_3())
    world.looks(2)
    (made,) = world.proposals.values()
    world.proposals[made.id] = reject(made, "ann", NOON + 70, "it comes back tonight")
    looked = world.look()
    assert len(world.proposals) == 1
    assert looked.findings[0].answer.endswith("was rejected by ann: it comes back tonight")
    later = NOON + QUICK.quiet_after_rejection_s
    world.now = steadily(lambda at: observed(PLACES, at=at + later - NOON, dead=(3,)))
    world.looks(3)
    assert len(world.proposals) == 2


def test_no_proposal_but_a_repair_while_a_broker_is_down() -> None:
    hot = {TP: (1, 3), TopicPartition("orders", 1): (1, 2), TopicPartition("orders", 2): (1, 2)}
    policy = replace(QUICK, detect=replace(QUICK.detect, broker_down_for_s=3600))
    world = World(policy, steadily(lambda at: observed(hot, at=at, dead=(3,))))
    looked = world.looks(4)
    assert world.proposals == {}
    assert "waits: broker 3 is down" in {each.answer for each in looked.findings}


def test_partitions_that_no_live_broker_has_are_told_and_not_planned() -> None:
    world = World(now=steadily(lambda at: observed({TP: (3, 4)}, at=at, dead=(3, 4))))
    world.look()
    (found,) = world.look().findings
    assert found.answer.startswith("no plan: 1 partition (orders-0) can be copied from no live")


def test_a_new_broker_is_filled_in_parts_that_fit_the_budget() -> None:
    places: Places = {TopicPartition("orders", n): (1 + n % 3, 1 + (n + 1) % 3) for n in range(12)}
    budget = Budget(bytes_per_day=30 * GB)
    world = World(
        replace(QUICK, budget=budget),
        steadily(lambda at: observed(places, at=at)),
        memory=World().memory,
    )
    world.looks(2)
    (first,) = world.proposals.values()
    assert (first.kind, first.subject, first.complete) == (Kind.FILL, (4,), False)
    assert 0 < first.cost.bytes <= 30 * GB
    assert first.plan is not None
    places.update({tp: tuple(map(int, ids)) for tp, ids in first.plan.after.items()})
    world.runs[first.id] = RunSeen(RunPhase.DONE, bytes_copied=first.cost.bytes)
    looked = world.look()
    assert "was filled in part" in looked.findings[0].why
    (_, second) = world.proposals.values()
    assert second.kind is Kind.FILL
    assert second.plan is not None
    assert not set(second.plan.before) & set(first.plan.before)
    assert dict(world.waiting)[second.id].startswith("the budget has")


def test_leaders_away_are_elected_without_a_plan() -> None:
    away = dict.fromkeys(PLACES, 2) | {TP: 2}
    world = World(now=steadily(lambda at: observed(PLACES, at=at, brokers=(1, 2, 3), leaders=away)))
    world.looks(2)
    (made,) = world.proposals.values()
    assert (made.kind, made.plan, made.cost.bytes) == (Kind.LEADERS, None, 0)
    assert set(made.elect) == {tp for tp, ids in PLACES.items() if ids[0] != 2}


def test_a_cluster_that_cannot_be_read_is_a_finding() -> None:
    world = World()
    world.now = lambda: Unreachable(NOON, "no broker could be reached")  # type: ignore[assignment,return-value]
    (found,) = world.look().findings
    assert (found.kind, found.why) == (FindingKind.UNREACHABLE, "no broker could be reached")
    assert world.history == []


def test_findings_are_kept_while_the_cluster_cannot_be_read() -> None:
    world = World(now=without_3())
    known = world.looks(2).findings
    assert known
    for minute in (3, 4):
        unread = Unreachable(NOON + 60 * minute, f"no answer in minute {minute}")
        world.now = lambda unread=unread: unread  # type: ignore[assignment,return-value]
        unreachable, *others = world.look().findings
        assert tuple(others) == known
        assert (unreachable.kind, unreachable.since) == (FindingKind.UNREACHABLE, NOON + 180)
        assert unreachable.why == unread.why
    world.now = lambda: observed(PLACES, at=NOON + 300, dead=(3,))
    assert world.look().findings[0].key == known[0].key


def test_a_stale_proposal_is_made_anew_and_its_approval_is_gone() -> None:
    places: Places = dict(PLACES)
    world = World(
        policy=replace(QUICK, mode=Mode.APPROVE),
        now=steadily(lambda at: observed(places, at=at, dead=(3,))),
    )
    world.looks(2)
    (made,) = world.proposals.values()
    world.proposals[made.id] = approve(made, "ann", NOON + 61)
    assert made.plan is not None
    moved = next(iter(made.plan.before))
    places[moved] = places[moved][::-1]
    world.look()
    states = [each.state for each in world.proposals.values()]
    assert states == [ProposalState.STALE, ProposalState.OPEN]
    assert world.started == []


def test_expired_proposals_end() -> None:
    world = World(policy=replace(QUICK, mode=Mode.APPROVE), now=without_3())
    old = proposal(Kind.REPAIR, subject=(3,), made_at=NOON - QUICK.expires_s)
    world.looks(2)
    (made,) = world.proposals.values()
    world.proposals = {made.id: replace(made, made_at=old.made_at)}
    world.look()
    assert world.proposals[made.id].state is ProposalState.EXPIRED
