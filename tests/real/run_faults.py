"""`python -m tests.real.run_faults`: what goes wrong while a plan is applied, on real brokers.

Each fault happens once while `kedge apply` moves six partitions of two topics under a throttle,
with a producer on one of them. Afterwards the moves that the fault concerns are set aside with a
reason, the others are in place, no reassignment is left, nor a throttle of Kedge on brokers that
are up, and every acknowledged record is there once. The exit code is 1 if any fault ends otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from jvm import KAFKA_3_9, KAFKA_4_1, memory_directory
from kedge.cluster.kafka_log import RUNS_TOPIC
from kedge.model import BrokerId, TopicPartition
from tests.real.brokers_apart import BrokersApart, brokers_apart
from tests.real.identified import IdentifiedProducer, lost_and_doubled, read_all
from tests.real.kedge_cluster import until
from tests.real.live_cluster import LiveCluster
from tests.real.operator import RECORD_BYTES, Done, Entry, Operator, Replicas, ended

RELEASES = {"4.1": KAFKA_4_1, "3.9": KAFKA_3_9}
ORDERS, LEDGER, BYSTANDER = "faulty-orders", "faulty-ledger", "faulty-bystander"
MOVES: dict[TopicPartition, tuple[Replicas, Replicas]] = {
    TopicPartition(ORDERS, 0): ((1, 2), (4, 2)),
    TopicPartition(ORDERS, 1): ((2, 1), (3, 1)),
    TopicPartition(ORDERS, 2): ((1, 2), (3, 2)),
    TopicPartition(ORDERS, 3): ((2, 1), (4, 1)),
    TopicPartition(LEDGER, 0): ((1, 2), (4, 2)),
    TopicPartition(LEDGER, 1): ((2, 1), (3, 1)),
}
AFTER = {tp: after for tp, (_, after) in MOVES.items()}
BYTES_EACH = 2_000_000
PACE = ("--throttle", "400kB", "--moves-per-broker", "1", "--interval", "0.2")
FAST = ("--throttle", "20MB", "--interval", "0.2")
STUCK = ("--stuck-after", "8s")
SETTLED_S = 60.0


class Trial:
    """The topics of a plan with data and a producer, and an operator who applies the plan."""

    def __init__(
        self,
        cluster: LiveCluster,
        directory: Path,
        *,
        user: Operator | None = None,
        state: str = "",
    ) -> None:
        self.cluster = cluster
        self.operator = Operator(cluster, directory, state=state)
        self.user = user or self.operator  # who applies the plan
        self.process: subprocess.Popen[str] | None = None
        for topic in (ORDERS, LEDGER):
            tps = {tp.partition: ids for tp, (ids, _) in MOVES.items() if tp.topic == topic}
            self.operator.create(topic, tps)
            self.operator.fill(topic, tps, BYTES_EACH)
        self.operator.create(BYSTANDER, {0: (1, 2)})
        self.operator.fill(BYSTANDER, [0], BYTES_EACH)
        self.plan = str(self.operator.plan_file({tp: Entry(ids) for tp, ids in AFTER.items()}))
        self.producer = IdentifiedProducer(
            cluster.bootstrap, ORDERS, name="order", pause_s=0.01
        ).start()

    # ---- the run --------------------------------------------------------------------------------

    def apply(self, *options: str, plan: str = "") -> None:
        """Start the run; returns when its first moves are under way."""
        self.process = self.user.start("apply", plan or self.plan, *PACE, *options)
        until(lambda: self.has_ended or bool(self.moving), SETTLED_S)
        assert not self.has_ended, self.process.communicate()

    @property
    def has_ended(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None

    @property
    def moving(self) -> set[TopicPartition]:
        """The partitions of the plan that are being moved."""
        return MOVES.keys() & self.operator.admin.reassignments().keys()

    @property
    def waiting(self) -> list[TopicPartition]:
        """The partitions of the plan that have not begun to move."""
        now = self.operator.replicas([ORDERS, LEDGER])
        return [tp for tp in MOVES if tp not in self.moving and now[tp] == MOVES[tp][0]]

    def end(self) -> Done:
        """The end of the run."""
        assert self.process is not None
        return ended(self.process)

    # ---- what must be true afterwards -----------------------------------------------------------

    def must_be_in_place(self, *, but: dict[TopicPartition, Replicas] | None = None) -> None:
        """Every partition is where the plan puts it, except some that are elsewhere."""
        wanted = {tp: ids for tp, ids in (AFTER | (but or {})).items() if ids}
        topics = sorted({tp.topic for tp in wanted})
        found = self.operator.replicas(topics)
        wrong = {tp: (found[tp], ids) for tp, ids in wanted.items() if found[tp] != ids}
        assert not wrong, f"found and wanted: {wrong}"

    def must_be_clean(self) -> None:
        """Nothing moves, no throttle is set, and every acknowledged record is there once."""
        until(lambda: not self.operator.admin.reassignments(), SETTLED_S)
        self.operator.assert_no_throttles()
        self.must_keep_records()

    def must_keep_records(self) -> None:
        """Every acknowledged record can be read, once."""
        self.producer.stop()
        read = read_all(self.cluster.bootstrap, ORDERS, 4)
        identified = [value for value in read if len(value) < RECORD_BYTES]
        lost, doubled = lost_and_doubled(self.producer.acked, identified)
        assert self.producer.acked
        wrong = {"lost": lost, "twice": doubled, "failed": dict(self.producer.failed)}
        assert not any(wrong.values()), wrong

    def close(self) -> None:
        """Leave the cluster as it was found, whatever the trial has come to."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.producer.stop()
        restart(self.cluster)
        moving = self.operator.admin.reassignments()
        self.operator.admin.alter_reassignments(dict.fromkeys(moving))
        self.operator.attempt("throttle", "--clear")
        there = set(self.operator.admin.topic_names())
        names = (ORDERS, LEDGER, BYSTANDER, RUNS_TOPIC)
        self.operator.delete(*(name for name in names if name in there))
        self.operator.close()


def restart(cluster: LiveCluster) -> None:
    """Start every broker that is down."""
    if isinstance(cluster, BrokersApart):
        cluster.restart_what_ended()
        return
    for broker in cluster.down:
        cluster.start(broker)


@contextlib.contextmanager
def trial(
    cluster: LiveCluster, directory: Path, *, user: Operator | None = None, state: str = ""
) -> Generator[Trial]:
    """A trial for the time of a `with` block."""
    made = Trial(cluster, directory, user=user, state=state)
    try:
        yield made
    finally:
        made.close()


def named(rows: list[dict[str, Any]]) -> set[TopicPartition]:
    """The partitions of some rows of an outcome."""
    return {TopicPartition(row["topic"], row["partition"]) for row in rows}


def must_end(done: Done, code: int, **rows: set[TopicPartition]) -> None:
    """The run ended with a code, and its outcome names these partitions and no others."""
    assert done.code == code, done
    found = {
        kind: names for kind in ("left", "skipped", "refused", "gone")
        if (names := named(done.json[kind]))
    }  # fmt: skip
    assert found == rows, done
    assert "Traceback" not in done.err, done.err


# ---- faults -------------------------------------------------------------------------------------


def foreign_move_of_planned_partitions(one: Trial) -> str:
    """Another client moves a partition that is under way, and one that waits."""
    one.apply()
    under_way, waiting = sorted(one.moving)[0], one.waiting[-1]
    targets = {
        tp: ids for tp in (under_way, waiting) for ids in [(1, 3) if AFTER[tp][0] == 4 else (2, 4)]
    }
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
    tp = TopicPartition(BYSTANDER, 0)
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
    one.operator.admin.delete_topics([LEDGER])
    done = one.end()
    must_end(done, 0, gone={tp for tp in MOVES if tp.topic == LEDGER})
    assert "is gone: its topic was deleted" in done.err, done.err
    one.must_be_in_place(but={tp: () for tp in MOVES if tp.topic == LEDGER})
    one.must_be_clean()
    assert LEDGER not in one.operator.admin.topic_names()
    return "the topic's moves are gone, the others done"


def broker_killed(one: Trial) -> str:
    """A destination is killed and stays dead; it returns after the run and the run is resumed."""
    one.apply(*STUCK)
    one.cluster.kill(4)
    done = one.end()
    to_4 = {tp for tp, ids in AFTER.items() if 4 in ids}
    arrived = {tp for tp in to_4 if one.operator.replicas([tp.topic])[tp] == AFTER[tp]}
    must_end(done, 1, left=to_4 - arrived, refused=to_4 - arrived)
    assert all("broker 4 is down" in row["why"] for row in done.json["refused"]), done.out
    one.must_be_in_place(but={tp: MOVES[tp][0] for tp in to_4 - arrived})
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
        for tp, ids in AFTER.items()
    }
    plan = one.operator.plan_file(entries, "directed.json")
    one.apply(*STUCK, plan=str(plan))
    to_4 = {tp for tp, ids in AFTER.items() if 4 in ids}
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
        one.must_be_in_place(but={tp: MOVES[tp][0] for tp in refused})
    finally:
        filler.unlink(missing_ok=True)
    until(lambda: not one.operator.admin.reassignments(), SETTLED_S)
    if one.cluster.has_ended(4) or "offline" in done.out:
        if not one.cluster.has_ended(4):
            one.cluster.kill(4)
        restart(one.cluster)
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
    alter_config(one, "topic", ORDERS, "retention.ms", "100000000")
    lists = "follower.replication.throttled.replicas"
    alter_config(one, "topic", ORDERS, lists, None)
    alter_config(one, "broker", "3", "follower.replication.throttled.rate", "390000")
    done = one.end()
    must_end(done, 0)
    assert f"throttle of topic {ORDERS} was removed by another client and is set again" in done.err
    assert "of broker 3 was changed by another client to 390000" in done.err, done.err
    one.must_be_in_place()
    left = one.operator.throttles()
    assert left == ["broker 3: follower.replication.throttled.rate"], left
    alter_config(one, "broker", "3", "follower.replication.throttled.rate", None)
    one.must_be_clean()
    return "removed throttles set again, the changed one left to its owner"


def alter_config(one: Trial, kind: str, name: str, config: str, value: str | None) -> None:
    """Change a config by hand."""
    from kedge.cluster.port import ConfigChange, ConfigOp, broker_resource, topic_resource

    place = topic_resource(name) if kind == "topic" else broker_resource(BrokerId(int(name)))
    change = (
        ConfigChange(config, ConfigOp.DELETE)
        if value is None
        else ConfigChange(config, value=value)
    )
    answers = one.operator.admin.alter_configs({place: [change]})
    assert not any(answers.values()), answers


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


Fault = Callable[[Trial], str]
FAULTS: tuple[Fault, ...] = (
    foreign_move_of_planned_partitions,
    foreign_move_of_another_partition,
    topic_deleted,
    broker_killed,
    broker_killed_and_returned,
    source_killed,
    controller_killed,
    disk_full,
    config_changed,
    runs_topic_deleted,
)
IN_CLUSTER = frozenset({runs_topic_deleted})


def play(cluster: LiveCluster, directory: Path, fault: Fault) -> str:
    """One fault; returns what came of it."""
    directory.mkdir()
    state = "cluster" if fault in IN_CLUSTER else ""
    with trial(cluster, directory, state=state) as one:
        return fault(one)


def faults(release: str, chosen: list[Fault]) -> bool:
    """Faults on a cluster of a release; whether all ended as they must."""
    clean = True
    with (
        tempfile.TemporaryDirectory(prefix="kedge-faults-", dir=memory_directory()) as directory,
        brokers_apart(Path(directory), RELEASES[release]) as cluster,
    ):
        for number, fault in enumerate(chosen):
            name = fault.__name__.replace("_", " ")
            if fault is disk_full and cluster.small_disk is None:
                print(f"{release} {name}: left out, nothing can be mounted here", flush=True)
                continue
            began = time.monotonic()
            try:
                came = play(cluster, Path(directory) / f"trial-{number}", fault)
            except AssertionError as failure:
                clean, came = False, f"FAILED: {failure}"
            print(f"{release} {name}: {came} ({time.monotonic() - began:.0f} s)", flush=True)
    return clean


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", choices=[*RELEASES, "both"], default="both")
    parser.add_argument("--fault", action="append", choices=[each.__name__ for each in FAULTS])
    given = parser.parse_args()
    chosen = [each for each in FAULTS if not given.fault or each.__name__ in given.fault]
    releases = list(RELEASES) if given.release == "both" else [given.release]
    ends = [faults(release, chosen) for release in releases]
    return 0 if all(ends) else 1


if __name__ == "__main__":
    sys.exit(main())
