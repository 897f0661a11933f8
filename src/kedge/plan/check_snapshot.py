"""Check a plan against a snapshot: whether it starts from there, and whether it ends well.

- *Start*: `before` is what the snapshot has; what differs has drifted since the plan was made.
- *End*: replicas arrive only on brokers that stay, and no rack is more crowded than it needs to
  be: ⌈replicas / racks⌉ copies of a partition are enough. A plan may leave an old crowding as it is
  (a warning), but never make one or make it worse (an error).
- *Directories*: a replica that is sent to a log directory goes to one that its broker has.
- *Size*: the bytes of the summary are those of the replicas that are copied. Against a later
  snapshot a difference is a warning: topics grow.

Racks count only when every broker has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import chain

import numpy as np

from kedge.model import Broker, BrokerId, TopicPartition
from kedge.model.snapshot import Snapshot
from kedge.plan.differences import differences_between, rows_in
from kedge.plan.findings import Finding, Severity, warning
from kedge.plan.kafka_json import Replicas
from kedge.plan.log_dirs import ANY_LOG_DIR
from kedge.plan.plan_file import Plan


def check_snapshot(plan: Plan, snapshot: Snapshot, *, is_later: bool = False) -> list[Finding]:
    """The findings that concern executing a plan on the cluster of a snapshot.

    In a snapshot that is later than the plan, partitions may have grown.
    """
    present = snapshot.assignment.to_mapping()
    every = chain(
        same_cluster(plan, snapshot),
        drift(plan, present),
        moving(plan, snapshot),
        targets(plan, snapshot),
        directories(plan, snapshot),
        factors(plan, snapshot, present),
        left_behind(plan, snapshot, present),
        racks(plan, snapshot),
        size(plan, snapshot, present, is_later=is_later),
    )
    return list(every)


def same_cluster(plan: Plan, snapshot: Snapshot) -> Iterator[Finding]:
    """A plan for another cluster."""
    named = plan.cluster_id, snapshot.cluster_id
    if None not in named and plan.cluster_id != snapshot.cluster_id:
        what = f"the plan is for {plan.cluster_id}, the snapshot is of {snapshot.cluster_id}"
        yield Finding("cluster", "cluster_id", what)


def drift(plan: Plan, present: Mapping[TopicPartition, Replicas]) -> Iterator[Finding]:
    """Partitions that are not where the plan expects them."""
    for i, (tp, expected) in enumerate(plan.before.items()):
        now = present.get(tp)
        if now is None:
            yield Finding("unknown_partition", f"before[{i}]", f"{tp} is not in the snapshot")
        elif now != expected:
            what = f"{tp} is on {list(now)}, the plan expects {list(expected)}"
            yield Finding("drift", f"before[{i}].replicas", what)


def moving(plan: Plan, snapshot: Snapshot) -> Iterator[Finding]:
    """Partitions that are already moving."""
    busy = np.union1d(*(np.nonzero(ids >= 0)[0] for ids in (snapshot.adding, snapshot.removing)))
    if not len(busy):
        return
    under_way = {snapshot.assignment.key(row) for row in busy.tolist()}
    for i, each in enumerate(plan.partitions):
        if each.tp in under_way:
            yield warning("moving", f"partitions[{i}]", f"{each.tp} is already moving")


def targets(plan: Plan, snapshot: Snapshot) -> Iterator[Finding]:
    """Brokers that cannot hold what the plan gives or leaves them."""
    brokers = {broker.id: broker for broker in snapshot.brokers}
    fine = {broker.id for broker in snapshot.brokers if broker.state.stays}
    for i, each in enumerate(plan.partitions):
        if fine.issuperset(each.replicas):
            continue
        before = plan.before.get(each.tp, ())
        for j, broker in enumerate(each.replicas):
            place = f"partitions[{i}].replicas[{j}]"
            yield from target(brokers.get(broker), broker, place, is_new=broker not in before)


def target(
    broker: Broker | None, wanted: BrokerId, place: str, *, is_new: bool
) -> Iterator[Finding]:
    """What is wrong with one broker of a replica list."""
    if broker is None:
        yield Finding("unknown_broker", place, f"broker {wanted} is not in the snapshot")
    elif not broker.state.stays and is_new:
        yield Finding(
            "broker_state", place, f"broker {wanted} is {broker.state} and cannot receive replicas"
        )
    elif not broker.state.stays:
        yield warning(
            "broker_state", place, f"broker {wanted} is {broker.state} and keeps a replica"
        )


def directories(plan: Plan, snapshot: Snapshot) -> Iterator[Finding]:
    """Log directories that a broker does not have, where the snapshot lists its directories."""
    listed = {b.id: [each.path for each in b.log_dirs] for b in snapshot.brokers if b.log_dirs}
    if not listed:
        return
    for i, each in enumerate(plan.partitions):
        for j, (broker, path) in enumerate(zip(each.replicas, each.log_dirs, strict=True)):
            if path == ANY_LOG_DIR or path in listed.get(broker, (path,)):
                continue
            what = f"broker {broker} has no log directory {path}, but {', '.join(listed[broker])}"
            yield Finding("unknown_log_dir", f"partitions[{i}].log_dirs[{j}]", what)


def unknown_places(plan: Plan, snapshot: Snapshot, added: Collection[int]) -> Iterator[Finding]:
    """What a plan names and the snapshot lacks; brokers that are to be `added` may be absent."""
    present, known = set(snapshot.assignment.keys()), {broker.id for broker in snapshot.brokers}
    for i, each in enumerate(plan.partitions):
        if each.tp not in present:
            yield Finding(
                "unknown_partition", f"partitions[{i}]", f"{each.tp} is not in the snapshot"
            )
        for j, broker in enumerate(each.replicas):
            if broker not in known and broker not in added:
                place = f"partitions[{i}].replicas[{j}]"
                yield Finding("unknown_broker", place, f"broker {broker} is not in the snapshot")
    yield from directories(plan, snapshot)


def factors(
    plan: Plan, snapshot: Snapshot, present: Mapping[TopicPartition, Replicas]
) -> Iterator[Finding]:
    """Partitions that end with another number of replicas than wanted."""
    wanted = dict(zip(present, snapshot.wanted_rf.tolist(), strict=True))
    for i, each in enumerate(plan.partitions):
        rf = wanted.get(each.tp)
        if rf is not None and rf != len(each.replicas):
            what = f"{each.tp} ends with {len(each.replicas)} replicas, {rf} are wanted"
            yield warning("replication_factor", f"partitions[{i}].replicas", what)


def left_behind(
    plan: Plan, snapshot: Snapshot, present: Mapping[TopicPartition, Replicas]
) -> Iterator[Finding]:
    """Replicas that the plan does not touch, on brokers that should end with none."""
    leaving = [broker.id for broker in snapshot.brokers if not broker.state.stays]
    if not leaving:
        return
    touched = np.zeros(len(snapshot), np.bool_)
    planned = plan.after.keys()
    touched[[row for row, tp in enumerate(present) if tp in planned]] = True
    rest = snapshot.assignment.replicas[~touched]
    for broker in leaving:
        if count := int(np.count_nonzero(rest == broker)):
            what = f"{count} replicas stay on broker {broker}, which is to be emptied"
            yield warning("left_behind", "partitions", what)


def racks(plan: Plan, snapshot: Snapshot) -> Iterator[Finding]:
    """Partitions with more copies in one rack than there need be."""
    rack_of = {broker.id: broker.rack for broker in snapshot.brokers}
    count = len({broker.rack for broker in snapshot.brokers if broker.state.stays})
    if None in rack_of.values() or not count:
        return
    for i, each in enumerate(plan.partitions):
        after = crowding(each.replicas, rack_of)
        if after > -(-len(each.replicas) // count):
            before = crowding(plan.before.get(each.tp, ()), rack_of)
            what = f"{each.tp} has {after} replicas in one of {count} racks, {before} before"
            severity = Severity.ERROR if after > before else Severity.WARNING
            yield Finding("rack", f"partitions[{i}].replicas", what, severity)


def crowding(replicas: Replicas, rack_of: Mapping[BrokerId, str | None]) -> int:
    """The copies in the rack that has most of them; unknown brokers are not counted."""
    return max(Counter(rack_of[b] for b in replicas if b in rack_of).values(), default=0)


def size(
    plan: Plan,
    snapshot: Snapshot,
    present: Mapping[TopicPartition, Replicas],
    *,
    is_later: bool,
) -> Iterator[Finding]:
    """A count of bytes that is not what the plan copies."""
    if plan.summary is None or not all(tp in present for tp in plan.before):
        return
    before, after = plan.assignments
    sizes = snapshot.size[rows_in(snapshot.assignment, before)]
    found = differences_between(before, after).figures(sizes).bytes_moved
    said = plan.summary.bytes_moved
    if said is None or found is None or said == found:
        return
    if is_later:
        what = f"{said} when the plan was made, {found} in this snapshot"
        yield warning("summary", "summary.bytes_moved", what)
    else:
        yield Finding("summary", "summary.bytes_moved", f"says {said}, the plan has {found}")
