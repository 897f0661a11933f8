"""What goes wrong during a run: each function does one thing and checks the end of the run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from kedge.model import BrokerId, TopicPartition
from kedge.model.runs_topic import RUNS_TOPIC
from tests.real.brokers_apart import BrokersApart
from tests.real.fault_trial import (
    FAST,
    SETTLED_S,
    STUCK,
    Trial,
    alter_config,
    must_end,
    named,
    restart,
)
from tests.real.kedge_cluster import until
from tests.real.live_cluster import LiveCluster
from tests.real.operator import Entry
from tests.real.rights import (
    CLUSTER_ALTER,
    CLUSTER_DESCRIBE,
    CONFIGS_ALTER,
    Right,
    grant,
    hide,
    revoke,
    show,
)

USER = "rita"  # who carries a plan out and loses rights


def foreign_move_of_planned_partitions(one: Trial) -> str:
    """Another client moves a partition that is under way, and one that waits."""
    one.apply()
    under_way, waiting = sorted(one.moving)[0], one.waiting[-1]
    elsewhere = {4: (1, 3), 3: (2, 4)}  # by the broker that the plan puts first
    targets = {tp: elsewhere[one.after[tp][0]] for tp in (under_way, waiting)}
    ids = {tp: tuple(map(BrokerId, each)) for tp, each in targets.items()}
    answers = one.operator.admin.alter_reassignments(ids)
    assert not any(answers.values()), answers
    done = one.end()
    must_end(done, 1, skipped=set(targets))
    for tp in targets:
        assert f"{tp} was moved by someone else; skipped" in done.err, done.err
    until(lambda: not one.operator.admin.reassignments(), SETTLED_S)
    one.must_be_in_place(but=targets)
    one.must_be_clean()
    return f"{under_way} and {waiting} skipped, exit code {done.code}"


def foreign_move_of_another_partition(one: Trial) -> str:
    """Another client moves a partition that is not in the plan."""
    one.apply()
    tp = TopicPartition(one.bystander, 0)
    answers = one.operator.admin.alter_reassignments({tp: (BrokerId(1), BrokerId(3))})
    assert not any(answers.values()), answers
    done = one.end()
    must_end(done, 0)
    one.must_be_in_place(but={tp: (1, 3)})
    one.must_be_clean()
    return f"complete, {tp} where the other client put it"


def topic_deleted(one: Trial) -> str:
    """A topic of the plan is deleted."""
    one.apply()
    one.operator.admin.delete_topics([one.ledger])
    done = one.end()
    must_end(done, 0, gone={tp for tp in one.moves if tp.topic == one.ledger})
    assert "is gone: its topic was deleted" in done.err, done.err
    one.must_be_in_place(but={tp: () for tp in one.moves if tp.topic == one.ledger})
    one.must_be_clean()
    assert one.ledger not in one.operator.admin.topic_names()
    return "the topic's moves are gone, the others done"


def broker_killed(one: Trial) -> str:
    """A destination is killed and stays dead; it returns after the run and the run is resumed."""
    one.apply(*STUCK)
    one.cluster.kill(4)
    done = one.end()
    to_4 = {tp for tp, ids in one.after.items() if 4 in ids}
    arrived = {tp for tp in to_4 if one.operator.replicas([tp.topic])[tp] == one.after[tp]}
    must_end(done, 1, left=to_4 - arrived, refused=to_4 - arrived)
    assert all("broker 4 is down" in row["why"] for row in done.json["refused"]), done.out
    one.must_be_in_place(but={tp: one.moves[tp][0] for tp in to_4 - arrived})
    until(lambda: not one.operator.admin.reassignments(), SETTLED_S)
    left = {row["of"] for row in done.json["throttles_left"]}
    assert left <= {"broker 4"}, left
    restart(one.cluster)
    resumed = one.user.run("resume", *FAST)
    assert resumed["complete"] is True
    one.must_be_in_place()
    one.must_be_clean()
    return f"{len(to_4 - arrived)} moves to it set aside, the others done; resumed to the end"


def broker_killed_and_returned(one: Trial) -> str:
    """A destination is killed and returns while the run waits for it."""
    one.apply()
    one.cluster.kill(4)
    one.cluster.start(4)
    done = one.end()
    must_end(done, 0)
    one.must_be_in_place()
    one.must_be_clean()
    return "complete after the broker's return"


def source_killed(one: Trial) -> str:
    """A broker that leads partitions of the plan is killed and returns."""
    one.apply()
    one.cluster.kill(2)
    one.cluster.start(2)
    done = one.end()
    must_end(done, 0)
    one.must_be_in_place()
    one.must_be_clean()
    return "complete after the broker's return"


def controller_killed(one: Trial) -> str:
    """The controller is killed while moves are under way: another one takes over."""
    assert isinstance(one.cluster, BrokersApart)
    one.apply()
    before = one.cluster.active_controller()
    one.cluster.kill(before)
    until(lambda: _controller_other_than(one.cluster, before), SETTLED_S)
    after = one.cluster.active_controller()
    if before in one.cluster.broker_ids:  # in ZooKeeper mode it is a broker too
        one.cluster.start(before)
    done = one.end()
    must_end(done, 0)
    one.must_be_in_place()
    one.must_be_clean()
    return f"complete, node {after} is the controller instead of {before}"


def _controller_other_than(cluster: LiveCluster, before: int) -> bool:
    assert isinstance(cluster, BrokersApart)
    with contextlib.suppress(AssertionError, ValueError, OSError):
        return cluster.active_controller() not in (before, -1)
    return False


def disk_full(one: Trial) -> str:
    """The log directory that moves go to has no room any more."""
    assert isinstance(one.cluster, BrokersApart)
    assert one.cluster.small_disk is not None
    path = str(one.cluster.small_disk)
    entries = {
        tp: Entry(ids, tuple(path if broker == 4 else "any" for broker in ids))
        for tp, ids in one.after.items()
    }
    plan = one.operator.plan_file(entries, "directed.json")
    one.apply(*STUCK, plan=str(plan))
    to_4 = {tp for tp, ids in one.after.items() if 4 in ids}
    until(lambda: bool(one.moving & to_4), SETTLED_S)
    filler = one.cluster.small_disk / "filler"
    try:
        fill_disk(filler)
        done = one.end()
        refused = named(done.json["refused"])
        must_end(done, 1, left=refused, refused=refused)
        assert refused
        assert refused <= to_4
        reasons = {row["why"] for row in done.json["refused"]}
        one.must_be_in_place(but={tp: one.moves[tp][0] for tp in refused})
    finally:
        filler.unlink(missing_ok=True)
        if not one.cluster.has_ended(4):
            one.cluster.kill(4)  # a log directory that failed is used again after a start
        restart(one.cluster)
    until(lambda: not one.operator.admin.reassignments(), SETTLED_S)
    assert one.user.run("resume", *FAST)["complete"] is True
    one.must_be_in_place()
    one.must_be_clean()
    return f"{len(refused)} set aside ({'; '.join(sorted(reasons))}), resumed once there was room"


def fill_disk(path: Path) -> None:
    """Write until the file system is full."""
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


def config_changed(one: Trial) -> str:
    """Another client changes configs: a retention, and throttles that the run has set."""
    one.apply()
    alter_config(one, "topic", one.orders, "retention.ms", "100000000")
    lists = "follower.replication.throttled.replicas"
    alter_config(one, "topic", one.orders, lists, None)
    alter_config(one, "broker", "3", "follower.replication.throttled.rate", "390000")
    done = one.end()
    must_end(done, 0)
    set_again = f"throttle of topic {one.orders} was removed by another client and is set again"
    assert set_again in done.err, done.err
    assert "of broker 3 was changed by another client to 390000" in done.err, done.err
    one.must_be_in_place()
    left = one.operator.throttles()
    assert left == ["broker 3: follower.replication.throttled.rate"], left
    alter_config(one, "broker", "3", "follower.replication.throttled.rate", None)
    one.must_be_clean()
    return "removed throttles set again, the changed one left to its owner"


def runs_topic_deleted(one: Trial) -> str:
    """The topic of runs is deleted while a run in the cluster is at work."""
    one.apply()
    one.operator.admin.delete_topics([RUNS_TOPIC])
    done = one.end()
    must_end(done, 0)
    assert f"topic {RUNS_TOPIC} was deleted" in done.err, done.err
    one.must_be_in_place()
    runs = one.operator.run("runs")["runs"]
    assert [run["state"] for run in runs] == ["done"], runs
    one.must_be_clean()
    return "written again by the run, which is complete"


def right_to_move_lost(one: Trial) -> str:
    """The user loses the right to start moves; it is granted again later."""
    one.apply()
    assert one.waiting, "the run is too fast for this fault"
    revoke(CLUSTER_ALTER, one.cluster.bootstrap, USER)
    done = one.end()
    refused = set(one.waiting)  # moves that began before brokers heard of it go on
    must_end(done, 1, left=refused, refused=refused)
    assert all("Missing permission: Alter on Cluster" in r["why"] for r in done.json["refused"])
    one.must_be_in_place(but={tp: one.moves[tp][0] for tp in refused})
    until(lambda: not one.operator.admin.reassignments(), SETTLED_S)
    one.operator.assert_no_throttles()
    _resume_with(one, CLUSTER_ALTER)
    return f"{len(refused)} set aside, those under way done; resumed with the right back"


def right_to_throttle_lost(one: Trial) -> str:
    """The user may neither start moves nor change throttles any more."""
    one.apply()
    assert one.waiting, "the run is too fast for this fault"
    lost = (*CLUSTER_ALTER, *CONFIGS_ALTER)
    revoke(lost, one.cluster.bootstrap, USER)
    done = one.end()
    refused = set(one.waiting)
    must_end(done, 1, left=refused, refused=refused)
    assert "the throttles of this run stay: Missing permission: " in done.err, done.err
    assert "kedge throttle --clear" in done.err
    assert len(done.json["throttles_left"]) >= 8, done.json
    one.must_be_in_place(but={tp: one.moves[tp][0] for tp in refused})
    one.operator.run("throttle", "--clear")
    one.operator.assert_no_throttles()
    _resume_with(one, lost)
    return f"{len(refused)} set aside, throttles that stay are named; resumed with the rights back"


def right_to_see_lost(one: Trial) -> str:
    """The user may not even list reassignments any more: the run is left as it is."""
    one.apply()
    lost = (*CLUSTER_DESCRIBE, *CLUSTER_ALTER)  # who may alter may describe
    revoke(lost, one.cluster.bootstrap, USER)
    done = one.end()
    assert done.code == 1, done
    (sentence,) = [line for line in done.err.splitlines() if line.startswith("kedge:")]
    assert "Missing permission: Describe on Cluster" in sentence, sentence
    assert "moves go on under their throttles; continue it with kedge resume" in sentence
    _resume_with(one, lost)
    return "left as it is in one sentence; resumed with the right back"


def topic_hidden(one: Trial) -> str:
    """The user may not see one of the two topics any more; it is shown again later."""
    one.apply()
    hide(one.ledger, one.cluster.bootstrap, USER)
    done = one.end()
    concerned = {tp for tp in one.moves if tp.topic == one.ledger}
    refused = named(done.json["refused"])
    must_end(done, 1, left=refused, refused=refused)
    assert refused
    assert refused <= concerned  # one that had ended before is not concerned
    why = f"missing permission: Describe on Topic {one.ledger}"
    assert all(why in row["why"] for row in done.json["refused"]), done.json
    until(lambda: not one.operator.admin.reassignments(), SETTLED_S)
    one.operator.assert_no_throttles()
    placed = one.operator.replicas([one.orders, one.ledger])
    assert all(placed[tp] == one.after[tp] for tp in one.moves if tp not in concerned), placed
    show(one.ledger, one.cluster.bootstrap, USER)
    until(lambda: one.user.attempt("resume", *FAST).code == 0, SETTLED_S)
    one.must_be_in_place()
    one.must_be_clean()
    return f"{len(refused)} set aside, the other topic done; resumed with the right back"


def _resume_with(one: Trial, rights: Iterable[Right]) -> None:
    grant(rights, one.cluster.bootstrap, USER)
    until(lambda: one.user.attempt("resume", *FAST).code == 0, SETTLED_S)
    one.must_be_in_place()
    one.must_be_clean()
