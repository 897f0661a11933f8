"""A plan with moves of every kind, and what must be true after commands about a run of it.

All is read from the cluster itself: replicas in their order, log directories, throttles of Kedge
and of others, cordons, on a cluster in memory as on a lab.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.apply import Run, RunStore
from kedge.apply.cordons import ALL_LOG_DIRS, CORDONED_LOG_DIRS, own_values
from kedge.cluster.port import (
    Cluster,
    ConfigChange,
    ConfigOp,
    ConfigResource,
    ConfigSource,
    TopicCreation,
    TopicDescription,
    broker_resource,
    topic_resource,
)
from kedge.errors import RefusedCommand
from kedge.execution import TABLE, Action, Reply, RequestKind, RunState, Verb, read_requests
from kedge.model import BrokerId, TopicPartition
from kedge.plan import ANY_LOG_DIR, Plan, Reassignment
from tests.apply.run_commands import Command

Layout = dict[int, tuple[BrokerId, ...]]
Places = dict[tuple[int, BrokerId], str]  # log directories by partition and broker
Throttles = dict[tuple[ConfigResource, str], str]
Cordons = dict[BrokerId, str | None]

B1, B2, B3, B4, B5, BYSTANDER = BROKERS = tuple(map(BrokerId, range(1, 7)))
BEFORE: Layout = {
    0: (B1, B2),
    1: (B2, B3),
    2: (B3, B1),
    3: (B1, B3),
    4: (B2, B1),
    5: (B5, B1),
    6: (B4, B5),
}
AFTER: Layout = {
    0: (B2, B4),  # to another broker, and the order changes
    1: (B3, B4),  # another leader
    2: (B1, B3),  # the order alone
    3: (B1, B3, B5),  # one replica more
    4: (B1,),  # one replica less
    5: (B5, B1),  # between log directories alone
    6: (B3, B5),  # to another broker and between log directories
}
OTHER_DIR = ((5, B5), (6, B3), (6, B5))  # replicas that change their log directory
WAVES = ((0, 1, 2), (3, 4), (5, 6))
NOT_ADDED_TO = (B1, B2)  # no move of the plan adds a replica there, and each way back does
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
FOREIGN_RATE = "777000000"
VERBS = {
    Command.RESUME: Verb.RESUME,
    Command.CANCEL: Verb.CANCEL,
    Command.ROLLBACK: Verb.ROLLBACK,
}
ENDS = {
    Action.CONTINUE: RunState.DONE,
    Action.CONTINUE_ROLLBACK: RunState.ROLLED_BACK,
    Action.ROLL_BACK: RunState.ROLLED_BACK,
    Action.CANCEL: RunState.CANCELLED,
    Action.CLOSE: RunState.CANCELLED,
}
ENDED = (RunState.DONE, RunState.CANCELLED, RunState.ROLLED_BACK)


# ---- before the run -----------------------------------------------------------------------------


def create_topics(cluster: Cluster, topic: str, other: str = "") -> None:
    """The topic of the plan, and one that others are busy with."""
    orders = [TopicCreation(topic, assignment=BEFORE)]
    if other:
        orders.append(TopicCreation(other, assignment={0: (BYSTANDER,)}))
    answers = cluster.create_topics(orders)
    assert not any(answers.values()), answers


def throttle_by_others(cluster: Cluster, brokers: tuple[BrokerId, ...], topic: str) -> None:
    """Throttles that no run of Kedge has set."""
    foreign: dict[ConfigResource, tuple[tuple[str, ...], str]] = {
        **{broker_resource(broker): (RATES, FOREIGN_RATE) for broker in brokers},
        topic_resource(topic): (LISTS, "*"),
    }
    changes = {
        resource: [ConfigChange(name, ConfigOp.SET, value) for name in names]
        for resource, (names, value) in foreign.items()
    }
    assert not any(cluster.alter_configs(changes).values())


def cordon_by_others(cluster: Cluster, values: Cordons) -> None:
    """Cordons that no run of Kedge has set."""
    changes = {
        broker_resource(broker): [ConfigChange(CORDONED_LOG_DIRS, ConfigOp.SET, value)]
        for broker, value in values.items()
    }
    assert not any(cluster.alter_configs(changes).values())


def new_plan(cluster: Cluster, topic: str) -> Plan:
    """The moves, with the log directories in which the replicas are not."""
    now = log_dirs(cluster, topic)
    wanted = _wanted_dirs(cluster, now)
    entries = tuple(
        Reassignment(
            TopicPartition(topic, n),
            replicas,
            tuple(wanted.get((n, broker), ANY_LOG_DIR) for broker in replicas),
        )
        for n, replicas in AFTER.items()
    )
    before = {TopicPartition(topic, n): replicas for n, replicas in BEFORE.items()}
    cluster_id = cluster.describe().cluster_id
    return Plan(entries, before, cluster_id=cluster_id, waves=WAVES)


def _wanted_dirs(cluster: Cluster, now: Places) -> Places:
    found = cluster.log_dirs([B5])[B5]
    assert isinstance(found, tuple)
    paths = sorted(each.path for each in found)
    return {place: next(p for p in paths if p != now.get(place, paths[0])) for place in OTHER_DIR}


# ---- what the cluster shows ---------------------------------------------------------------------


def layout(cluster: Cluster, topic: str) -> Layout:
    """The replicas of each partition, in their order."""
    described = cluster.describe_topics([topic])[topic]
    assert isinstance(described, TopicDescription)
    return described.replicas()


def log_dirs(cluster: Cluster, topic: str, *, future: bool = False) -> Places:
    """The log directory of each replica; with `future`, the one to which it is being copied."""
    return {
        (stored.tp.partition, broker): each.path
        for broker, found in cluster.log_dirs(BROKERS, [topic]).items()
        if isinstance(found, tuple)
        for each in found
        for stored in each.replicas
        if stored.future == future
    }


def throttles(cluster: Cluster, *topics: str) -> Throttles:
    """Every throttle of brokers and of these topics."""
    resources = [*map(broker_resource, BROKERS), *map(topic_resource, topics)]
    return {
        (resource, entry.name): entry.value
        for resource, entries in cluster.describe_configs(resources).items()
        if isinstance(entries, tuple)
        for entry in entries
        if entry.value
        and ("throttled" in entry.name or "alter.log.dirs.io.max" in entry.name)
        and entry.source in (ConfigSource.TOPIC, ConfigSource.BROKER)
    }


# ---- what must be true --------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """The cluster before the run, to compare with."""

    plan: Plan
    topics: tuple[str, ...]  # the first is that of the plan
    log_dirs: Places
    throttles: Throttles
    cordons: Cordons
    drained: frozenset[BrokerId] = frozenset()  # what a run that is done leaves cordoned

    @staticmethod
    def of(cluster: Cluster, *topics: str) -> Start:
        now = log_dirs(cluster, topics[0])
        plan = new_plan(cluster, topics[0])
        cordons = own_values(cluster, BROKERS)
        return Start(plan, topics, now, throttles(cluster, *topics), cordons)

    def check(self, cluster: Cluster, runs: RunStore, state: RunState) -> None:
        """A run that has ended has left this and nothing else."""
        assert runs.state_of(runs.chosen(None)) is state
        self.check_rest(cluster, runs)
        self.check_cordons(cluster, self.drained if state is RunState.DONE else frozenset())
        match state:
            case RunState.DONE:
                check_requests(runs.chosen(None))
                assert layout(cluster, self.topics[0]) == AFTER
                wanted = {
                    (entry.tp.partition, broker): path
                    for entry in self.plan.partitions
                    for broker, path in zip(entry.replicas, entry.log_dirs, strict=True)
                    if path != ANY_LOG_DIR
                }
                assert wanted.items() <= log_dirs(cluster, self.topics[0]).items()
            case RunState.ROLLED_BACK:
                self.check_way_back(cluster)
            case _:
                assert state is RunState.CANCELLED

    def check_rest(self, cluster: Cluster, runs: RunStore) -> None:
        """Nothing moves, each partition is where it was or where it should be, no throttle stays
        but those of others, and no process has the runs."""
        assert throttles(cluster, *self.topics) == self.throttles
        assert not any(run.record().lease for run in runs.all())
        assert not cluster.reassignments()
        assert not log_dirs(cluster, self.topics[0], future=True)
        now = layout(cluster, self.topics[0])
        assert all(now[n] in (BEFORE[n], AFTER[n]) for n in BEFORE), now
        with runs.held(patient=False):
            pass

    def check_cordons(self, cluster: Cluster, drained: frozenset[BrokerId]) -> None:
        """Every broker has the value of before, except those that were drained."""
        cordoned = dict.fromkeys(drained, ALL_LOG_DIRS)
        assert own_values(cluster, BROKERS) == {**self.cordons, **cordoned}

    def check_way_back(self, cluster: Cluster) -> None:
        """Everything is where it was, in its order, in its log directory."""
        assert layout(cluster, self.topics[0]) == BEFORE
        assert log_dirs(cluster, self.topics[0]) == self.log_dirs


def check_requests(run: Run) -> None:
    """Every request that was sent is answered, and each for another rate has changed it once.

    A request to continue is refused where the process that was paused has died: what resumes the
    run continues it.
    """
    record, sent = run.record(), read_requests(run.requests())
    assert all(record.replies.get(request.id) for request in sent), record.replies
    rates = [(each.id, each.rate) for each in sent if each.kind is RequestKind.RATE]
    assert all(record.replies[request_id] == Reply() for request_id, _ in rates), record.replies
    assert [(each.request, each.rate) for each in record.rate_changes if each.request] == rates


@dataclass(frozen=True)
class Expected:
    """What the table of states says of a command after a death."""

    command: Command
    action: Action

    @staticmethod
    def of(command: Command, runs: RunStore) -> Expected:
        return Expected(command, TABLE[VERBS[command]][runs.state_of(runs.chosen(None))].action)

    def check(
        self, start: Start, cluster: Cluster, runs: RunStore, refusal: RefusedCommand | None
    ) -> None:
        """What the command has done, or that it had nothing to do."""
        state = runs.state_of(runs.chosen(None))
        if refusal is not None:
            if self.action is not Action.REFUSE:
                # A rollback whose last step was missing is finished before the command is judged.
                assert "has moved nothing" in str(refusal) or state is RunState.ROLLED_BACK
                start.check_way_back(cluster)
            assert state in ENDED or state is RunState.CANCELLING
            if state in ENDED:
                start.check(cluster, runs, state)
        elif self.action is Action.CANCEL_ROLLBACK:
            assert runs.all()[-1].record().state is RunState.CANCELLED
            start.check_rest(cluster, runs)
            start.check_cordons(cluster, frozenset())
        else:
            # A run that was killed before it had moved anything is ended instead of rolled back.
            was_ended = self.action is Action.ROLL_BACK and state is RunState.CANCELLED
            start.check(cluster, runs, state if was_ended else ENDS[self.action])
            if self.command is Command.ROLLBACK:
                start.check_way_back(cluster)
