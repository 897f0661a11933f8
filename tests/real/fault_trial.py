"""A plan that is applied to real brokers while something goes wrong, and what then must hold."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Generator
from pathlib import Path
from secrets import token_hex
from typing import Any

from kedge.cluster.port import ConfigChange, ConfigOp, broker_resource, topic_resource
from kedge.model import BrokerId, TopicPartition
from kedge.model.runs_topic import RUNS_TOPIC
from tests.real.brokers_apart import BrokersApart
from tests.real.identified import IdentifiedProducer, lost_and_doubled, read_all
from tests.real.kedge_cluster import until
from tests.real.live_cluster import LiveCluster
from tests.real.operator import RECORD_BYTES, Done, Entry, Operator, Replicas, ended

BYTES_EACH = 2_000_000
PACE = ("--throttle", "400kB", "--moves-per-broker", "1", "--interval", "0.2")
FAST = ("--throttle", "20MB", "--interval", "0.2")
STUCK = ("--stuck-after", "8s")
SETTLED_S = 60.0

Moves = dict[TopicPartition, tuple[Replicas, Replicas]]


def moves_of(orders: str, ledger: str) -> Moves:
    """Replicas before and after: brokers 1 and 2 lead, 3 and 4 get replicas."""
    return {
        TopicPartition(orders, 0): ((1, 2), (4, 2)),
        TopicPartition(orders, 1): ((2, 1), (3, 1)),
        TopicPartition(orders, 2): ((1, 2), (3, 2)),
        TopicPartition(orders, 3): ((2, 1), (4, 1)),
        TopicPartition(ledger, 0): ((1, 2), (4, 2)),
        TopicPartition(ledger, 1): ((2, 1), (3, 1)),
    }


class Trial:
    """The topics of a plan with data and a producer, and an operator who applies the plan."""

    def __init__(
        self,
        cluster: LiveCluster,
        directory: Path,
        *,
        user: Operator | None = None,
        state: str = "",
        bytes_each: int = BYTES_EACH,
    ) -> None:
        self.cluster = cluster
        self.operator = Operator(cluster, directory, state=state)
        self.user = user or self.operator  # who applies the plan
        self.process: subprocess.Popen[str] | None = None
        # A broker that was down while a replica left it may keep that replica, in ZooKeeper mode: a
        # topic of the same name would not be replicated there.
        own = token_hex(3)
        self.orders, self.ledger, self.bystander = (
            f"{name}-{own}" for name in ("orders", "ledger", "bystander")
        )
        self.moves = moves_of(self.orders, self.ledger)
        self.after = {tp: after for tp, (_, after) in self.moves.items()}
        for topic in (self.orders, self.ledger):
            tps = {tp.partition: ids for tp, (ids, _) in self.moves.items() if tp.topic == topic}
            self.operator.create(topic, tps)
            self.operator.fill(topic, tps, bytes_each)
        self.operator.create(self.bystander, {0: (1, 2)})
        self.operator.fill(self.bystander, [0], bytes_each)
        self.plan = str(self.operator.plan_file({tp: Entry(ids) for tp, ids in self.after.items()}))
        self.producer = IdentifiedProducer(
            cluster.bootstrap, self.orders, name="order", pause_s=0.01
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
        return self.moves.keys() & self.operator.admin.reassignments().keys()

    @property
    def waiting(self) -> list[TopicPartition]:
        """The partitions of the plan that have not begun to move."""
        now = self.operator.replicas([self.orders, self.ledger])
        return [tp for tp in self.moves if tp not in self.moving and now[tp] == self.moves[tp][0]]

    def end(self) -> Done:
        """The end of the run."""
        assert self.process is not None
        return ended(self.process)

    # ---- what must be true afterwards -----------------------------------------------------------

    def must_be_in_place(self, *, but: dict[TopicPartition, Replicas] | None = None) -> None:
        """Every partition is where the plan puts it, except some that are elsewhere."""
        wanted = {tp: ids for tp, ids in (self.after | (but or {})).items() if ids}
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
        read = read_all(self.cluster.bootstrap, self.orders, 4)
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
        names = (self.orders, self.ledger, self.bystander, RUNS_TOPIC)
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
    cluster: LiveCluster,
    directory: Path,
    *,
    user: Operator | None = None,
    state: str = "",
    bytes_each: int = BYTES_EACH,
) -> Generator[Trial]:
    """A trial for the time of a `with` block."""
    made = Trial(cluster, directory, user=user, state=state, bytes_each=bytes_each)
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


def alter_config(one: Trial, kind: str, name: str, config: str, value: str | None) -> None:
    """Change a config by hand."""
    place = topic_resource(name) if kind == "topic" else broker_resource(BrokerId(int(name)))
    change = (
        ConfigChange(config, ConfigOp.DELETE)
        if value is None
        else ConfigChange(config, value=value)
    )
    answers = one.operator.admin.alter_configs({place: [change]})
    assert not any(answers.values()), answers
