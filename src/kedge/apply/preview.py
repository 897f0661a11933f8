"""Checks a run against the cluster as it is now, and computes what it would do.

Every refusal is raised here, before a run begins: a refused command has changed nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kedge.apply.move_bytes import arrived_bytes
from kedge.apply.observe import (
    Found,
    min_isr_of,
    observe,
    observe_health,
    observe_until_confirmed,
    work_in,
)
from kedge.apply.throttles import Waiting, authorize_throttles, present_throttles
from kedge.cluster.port import Cluster
from kedge.errors import ClusterNotHealthy, RefusedCommand
from kedge.execution import (
    DIVERGED,
    SETTLED,
    Health,
    Lease,
    Limits,
    LogDirs,
    MoveStatus,
    Observation,
    Progress,
    RunKind,
    Setting,
    Steering,
    Target,
    Work,
    check_preconditions,
    goes_back,
    in_order,
    lease_for,
    named,
    refuse_foreign,
)
from kedge.execution.stuck_moves import GrowingMove, needed_rate_of_plan
from kedge.model import TopicPartition
from kedge.plan import Change, PartitionReplica, Plan

HEALTH_GRACE_S = 10.0  # a broker that just started needs seconds to get its replicas in sync
HEALTH_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What an operator chooses for a run; `growth` are the bytes per second that producers write
    to partitions, where they are known."""

    limits: Limits = field(default_factory=Limits)
    skip_drifted: bool = False
    ignore_health: bool = False
    steering: Steering = field(default_factory=Steering)
    growth: Mapping[TopicPartition, float] = field(default_factory=dict[TopicPartition, float])


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run would do.

    `own` are throttle values that Kedge's runs had set before it, `under_min_isr` partitions of the
    plan that were below `min.insync.replicas` before it, and `arrived` the bytes that copies in
    progress have already.
    """

    plan: Plan
    kind: RunKind
    options: RunOptions
    changes: list[Change]
    statuses: dict[TopicPartition, MoveStatus]
    skipped: list[TopicPartition]
    seen: Observation
    work: Work
    log_dirs_before: LogDirs
    warnings: tuple[str, ...] = ()
    own: frozenset[Setting] = frozenset()
    under_min_isr: frozenset[TopicPartition] = frozenset()
    arrived: Mapping[PartitionReplica, int] = field(default_factory=dict[PartitionReplica, int])

    @property
    def target(self) -> Target:
        """Where the partitions go."""
        return target_of(self.plan, self.kind)

    @property
    def progress(self) -> Progress:
        """How far the run is already, in figures."""
        return self.work.progress(self.options.limits)

    @property
    def bound_seconds(self) -> float | None:
        """No run is faster than its busiest broker at the throttle; None without one."""
        return self.work.bound_seconds(self.options.limits)

    def beginning_with(self, rate: int | None) -> Preview:
        """The same run, whose throttle begins with another rate."""
        limits = replace(self.options.limits, rate=rate)
        return replace(self, options=replace(self.options, limits=limits))


def target_of(plan: Plan, kind: RunKind) -> Target:
    """Where the partitions of a plan go."""
    return Target(plan.as_kafka.log_dir_moves, rollback=kind is RunKind.ROLLBACK)


def preview(
    cluster: Cluster,
    plan: Plan,
    options: RunOptions,
    *,
    kind: RunKind = RunKind.APPLY,
    own: Collection[Setting] = (),
    log_dirs_before: LogDirs | None = None,
    sent_back: Collection[TopicPartition] = (),
    waiting: Waiting | None = None,
) -> Preview:
    """Observe and check. The changes are in the sequence of the plan's waves.

    `own` are throttle values that Kedge's runs have set; `log_dirs_before` are the log directories
    that an interrupted run has recorded, `sent_back` the moves that it has cancelled.
    """
    waiting = waiting or Waiting()
    target, ordered = target_of(plan, kind), in_order(plan)
    found, statuses = observe_until_confirmed(
        lambda: observe(cluster, ordered, target),
        ordered,
        target,
        confirmed=set(sent_back),
        sleep=waiting.sleep,
    )
    seen = found.seen
    on_way_back = [c.tp for c in ordered if c.tp in sent_back and goes_back(c, seen)]
    statuses |= dict.fromkeys(on_way_back, MoveStatus.MOVING)
    diverged = sorted(tp for tp in statuses if statuses[tp] in DIVERGED)
    skipped = diverged if options.skip_drifted else []
    changes = [change for change in ordered if change.tp not in set(skipped)]
    statuses = {change.tp: statuses[change.tp] for change in changes}
    cluster_id = cluster.describe().cluster_id
    check_preconditions(plan, changes, statuses, seen, cluster_id=cluster_id)
    _check_log_dirs(found, changes, target)
    _check_rights_and_throttles(cluster, changes, statuses, seen, options, target, own)
    health = _checked_health(cluster, ordered, options, waiting)
    options = _with_needed_rate(options, changes, statuses, seen)
    kept = set(statuses)
    before = log_dirs_before or {r: p for r, p in found.log_dirs.items() if r.tp in kept}
    return Preview(
        plan,
        kind,
        options,
        changes,
        statuses,
        skipped,
        seen,
        work_in(found, changes, statuses, target, before),
        before,
        tuple(_warnings(cluster, changes)),
        frozenset(own),
        frozenset(health.planned_under_min_isr),
        arrived_bytes(changes, found, target),
    )


def _check_rights_and_throttles(
    cluster: Cluster,
    changes: Sequence[Change],
    statuses: dict[TopicPartition, MoveStatus],
    seen: Observation,
    options: RunOptions,
    target: Target,
    own: Collection[Setting],
) -> None:
    if refusal := cluster.authorize_reassignments():
        raise refusal
    rate, log_dir_rate = options.limits.rate, options.steering.log_dir_rate
    lease: Lease = lease_for(changes, statuses, seen, rate, target, log_dir_rate=log_dir_rate)
    if not lease:
        return
    authorize_throttles(cluster, lease)
    refuse_foreign(present_throttles(cluster, lease)[0], own)


def _with_needed_rate(
    options: RunOptions,
    changes: Sequence[Change],
    statuses: dict[TopicPartition, MoveStatus],
    seen: Observation,
) -> RunOptions:
    """Refuse a throttle at which moves cannot end, or begin higher with one that adapts."""
    rate, within = options.limits.rate, options.steering.adaptive
    open_changes = (change for change in changes if statuses[change.tp] not in SETTLED)
    moves = [
        GrowingMove(seen.leaders.get(c.tp), tuple(c.added), options.growth.get(c.tp, 0.0))
        for c in open_changes
    ]
    needed, broker = needed_rate_of_plan(moves, options.limits.each_way)
    if rate is None or needed <= rate:
        return options
    if within is not None and needed <= within.high:
        return replace(options, limits=replace(options.limits, rate=needed))
    raise RefusedCommand(
        f"The throttle of {rate} bytes/s is too low: producers write to the partitions that move, "
        f"and with what they write broker {broker} needs {needed} bytes/s",
        hint=f"use --throttle {needed} or more, or fewer --moves-per-broker",
    )


def _check_log_dirs(found: Found, changes: Sequence[Change], target: Target) -> None:
    """Refuse a plan that names a log directory which its broker does not have."""
    wanted = {r: path for c in changes for r, path in target.log_dirs_of(c).items()}
    for replica, path in sorted(wanted.items()):
        if path not in found.online.get(replica.broker, (path,)):
            raise RefusedCommand(
                f"Broker {replica.broker} has no log directory {path} that is online "
                f"(wanted for {replica.tp})",
                hint="make a new plan from a new snapshot",
            )


def _checked_health(
    cluster: Cluster, changes: Sequence[Change], options: RunOptions, waiting: Waiting
) -> Health:
    """The health, if the run needs to know it; a cluster that is not healthy is refused."""
    if options.ignore_health:
        return Health() if options.steering.adaptive is None else observe_health(cluster, changes)
    deadline = waiting.clock() + HEALTH_GRACE_S
    while not (health := observe_health(cluster, changes)):
        if waiting.clock() >= deadline:
            raise ClusterNotHealthy(
                f"The cluster is not healthy: {'; '.join(health.problems)}",
                hint="repair it first, or use --ignore-health",
            )
        waiting.sleep(HEALTH_PAUSE_S)
    return health


def _warnings(cluster: Cluster, changes: Sequence[Change]) -> list[str]:
    """Topics that the plan leaves with no more replicas than must be in sync."""
    fewer = {c.tp.topic: len(c.after) for c in changes if len(c.after) < len(c.before)}
    min_isr = min_isr_of(cluster, sorted(fewer))
    tight = [name for name, count in sorted(fewer.items()) if count <= min_isr.get(name, 0)]
    if not tight:
        return []
    return [
        f"{named(tight)}: no more replicas than min.insync.replicas after this plan; "
        "writes with acks=all fail when one broker is down"
    ]
