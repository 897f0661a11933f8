"""What a prediction is about: hardware, live traffic, disks, and the delays of a run.

What a snapshot does not know is assumed, and said so: without rates of topics there is no live
traffic and partitions do not grow; without capacities disks never fill.

The bytes on disks are taken to be steady: retention deletes as much as producers append. So a
replica keeps its size, and a copy in progress takes what it has of that size. What of a copy has
arrived before the prediction is `arrived`; a snapshot itself counts a replica that is being added
with its whole size.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kedge.execution.move_status import ANYWHERE, Target
from kedge.model import BrokerId, TopicPartition
from kedge.model.columns import Floats
from kedge.model.load import Resource, broker_loads
from kedge.model.snapshot import Snapshot
from kedge.plan import Change, PartitionReplica

Arrived = Mapping[PartitionReplica, int]


@dataclass(frozen=True, slots=True)
class Rates:
    """Bytes per second of each link in each direction, and of each disk."""

    network: float = 1e9
    disk: float = 200e6


@dataclass(frozen=True, slots=True)
class Timing:
    """The delays of a run, in seconds.

    `poll_s` from one observation to the next, `start_s` until copies flow, `in_sync_s` until a
    replica with all bytes is in the ISR, `delete_s` until the files of a removed replica are gone
    (Kafka's `file.delete.delay.ms`), and what it takes to set and release throttles and to elect.
    `rise_s` is how long rates rise from nothing at the beginning. `read_s` is what an observation
    takes, and the request that starts moves: beside `poll_s` it counts where time passes faster
    than that of the run.
    `throttle_share` is what copies get of what other traffic leaves of a throttle: Kafka divides
    what eleven seconds let through by ten to eleven, and a follower that is held back at one end
    fetches again up to a second later.
    The values are those of brokers of 3.9 and 4.1 beside each other (`bench/prediction`).
    """

    poll_s: float = 1.0
    start_s: float = 0.1
    in_sync_s: float = 0.2
    delete_s: float = 60.0
    throttle_s: float = 0.5
    election_s: float = 0.2
    release_s: float = 0.5
    throttle_share: float = 0.92
    rise_s: float = 0.0
    read_s: float = 0.0


def at_speed(timing: Timing, speed: float) -> Timing:
    """The delays of a run on a cluster whose time passes so many times as fast as that of the run.

    What brokers do by themselves takes as long as ever; what the run does takes more of their time.
    """
    return replace(
        timing,
        poll_s=timing.poll_s * speed,
        throttle_s=timing.throttle_s * speed,
        election_s=timing.election_s * speed,
        release_s=timing.release_s * speed,
        read_s=timing.read_s * speed,
    )


@dataclass(frozen=True, slots=True)
class Disk:
    """One log directory: bytes in use, capacity (None: unknown), replicas, live bytes/s written."""

    path: str = ""
    used: float = 0.0
    capacity: float | None = None
    replicas: int = 0
    bytes_in: float = 0.0


@dataclass(frozen=True, slots=True)
class BrokerEnvironment:
    """One broker: its disks, its links (None: as assumed), and its live traffic in bytes/s."""

    disks: tuple[Disk, ...] = (Disk(),)
    link_in: float | None = None
    link_out: float | None = None
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    disk_capacity: float | None = None


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything around the moves.

    `appended` and `consumed` are bytes per second at the leader of each partition of the plan,
    `log_dirs` the directories of their replicas, `arrived` the bytes that copies in progress have
    already; what is missing is 0 or unknown.
    """

    brokers: Mapping[BrokerId, BrokerEnvironment] = field(
        default_factory=dict[BrokerId, BrokerEnvironment]
    )
    appended: Mapping[TopicPartition, float] = field(default_factory=dict[TopicPartition, float])
    consumed: Mapping[TopicPartition, float] = field(default_factory=dict[TopicPartition, float])
    log_dirs: Mapping[PartitionReplica, str] = field(default_factory=dict[PartitionReplica, str])
    rates: Rates = field(default_factory=Rates)
    timing: Timing = field(default_factory=Timing)
    arrived: Arrived = field(default_factory=dict[PartitionReplica, int])


def environment_of(
    snapshot: Snapshot,
    partitions: Collection[TopicPartition],
    rates: Rates | None = None,
    timing: Timing | None = None,
    arrived: Arrived | None = None,
) -> Environment:
    """The environment that a snapshot describes, for moves of these partitions.

    `arrived` are the bytes of copies in progress, where they are known.
    """
    rows = [(tp, snapshot.assignment.row(tp)) for tp in partitions]
    appended, consumed = np.nan_to_num(snapshot.bytes_in), np.nan_to_num(snapshot.bytes_out)
    return Environment(
        brokers=_brokers(snapshot),
        appended={tp: float(appended[row]) for tp, row in rows if appended[row] > 0},
        consumed={tp: float(consumed[row]) for tp, row in rows if consumed[row] > 0},
        log_dirs=_log_dirs(snapshot, rows),
        rates=rates or Rates(),
        timing=timing or Timing(),
        arrived=_arrived(snapshot, rows, arrived or {}),
    )


def sizes_and_leaders(
    snapshot: Snapshot, partitions: Collection[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, BrokerId | None]]:
    """The bytes of one replica of each partition (0 where unknown), and their leaders."""
    leader = snapshot.acting_leader
    rows = [(tp, snapshot.assignment.row(tp)) for tp in partitions]
    return (
        {tp: max(int(snapshot.size[row]), 0) for tp, row in rows},
        {tp: BrokerId(int(leader[row])) for tp, row in rows},
    )


def present_changes(
    changes: Sequence[Change], snapshot: Snapshot, target: Target = ANYWHERE
) -> list[Change]:
    """The changes from where a snapshot shows the replicas; without those that are in place.

    A replica that is being added is still to be copied, but for what has arrived of it.
    """
    found: list[Change] = []
    for change in changes:
        row = snapshot.assignment.row(change.tp)
        arriving = {*snapshot.adding[row].tolist()}
        shown = snapshot.assignment.replicas_of(row)
        now = tuple(broker for broker in shown if broker not in arriving) or shown
        if now != change.after or target.log_dirs_of(change):
            found.append(Change(change.tp, now, change.after))
    return found


def of_unknown_dir(environment: Environment, changes: Sequence[Change]) -> list[PartitionReplica]:
    """The replicas of changes whose log directory is not known, on brokers with several."""
    several = {broker for broker, each in environment.brokers.items() if len(each.disks) > 1}
    present = (PartitionReplica(*c.tp, b) for c in changes for b in c.before if b in several)
    return [replica for replica in present if replica not in environment.log_dirs]


def _arrived(
    snapshot: Snapshot, rows: list[tuple[TopicPartition, int]], arrived: Arrived
) -> dict[PartitionReplica, int]:
    """What has arrived of every replica that is being added, and of copies within brokers."""
    found: dict[PartitionReplica, int] = {}
    for tp, row in rows:
        adding = {*snapshot.adding[row].tolist()}
        for broker in snapshot.assignment.replicas_of(row):
            replica = PartitionReplica(*tp, broker)
            if broker in adding or replica in arrived:
                found[replica] = arrived.get(replica, 0)
    return found


def _log_dirs(
    snapshot: Snapshot, rows: list[tuple[TopicPartition, int]]
) -> dict[PartitionReplica, str]:
    if not snapshot.log_dir_paths:
        return {}
    found: dict[PartitionReplica, str] = {}
    for tp, row in rows:
        for broker, place in zip(
            snapshot.assignment.replicas[row].tolist(), snapshot.log_dir[row].tolist(), strict=False
        ):
            if broker >= 0 and place >= 0:
                found[PartitionReplica(*tp, BrokerId(broker))] = snapshot.log_dir_paths[place]
    return found


def _brokers(snapshot: Snapshot) -> dict[BrokerId, BrokerEnvironment]:
    loads, by_dir = broker_loads(snapshot), _by_dir(snapshot)
    count = len(snapshot.log_dir_paths)
    found: dict[BrokerId, BrokerEnvironment] = {}
    for index, broker in enumerate(snapshot.brokers):
        known = {each.path: each.capacity for each in broker.log_dirs}
        used = {
            path: by_dir[index * count + place]
            for place, path in enumerate(snapshot.log_dir_paths)
            if by_dir[index * count + place][0] > 0
        }
        nothing = np.zeros(3)
        disks = tuple(
            Disk(path, float(each[1]), known.get(path), int(each[0]), float(each[2]))
            for path in sorted({*known, *used})
            for each in (used.get(path, nothing),)
        )
        bytes_in, bytes_out = (
            float(loads[index, r]) for r in (Resource.BYTES_IN, Resource.BYTES_OUT)
        )
        total, capacity = float(loads[index, Resource.DISK]), broker.capacity
        if len(disks) < 2:  # all replicas are there, also those of an unknown directory
            path = disks[0].path if disks else ""
            room = capacity.disk if path not in known or known[path] is None else known[path]
            disks = (Disk(path, total, room, 0, bytes_in),)
        found[broker.id] = BrokerEnvironment(
            disks, capacity.bytes_in, capacity.bytes_out, bytes_in, bytes_out, capacity.disk
        )
    return found


def _by_dir(snapshot: Snapshot) -> Floats:
    """float64[B * paths, 3]: replicas, bytes and live bytes/s of each directory."""
    count = len(snapshot.log_dir_paths)
    replicas = snapshot.assignment.replicas
    width = min(replicas.shape[1], snapshot.log_dir.shape[1])
    replicas, log_dir = replicas[:, :width], snapshot.log_dir[:, :width]
    row, column = np.nonzero((replicas >= 0) & (log_dir >= 0))
    key = snapshot.broker_index(replicas[row, column]).astype(np.int64) * count
    key += log_dir[row, column]
    size = np.maximum(snapshot.size, 0).astype(np.float64)[row]
    appended = np.nan_to_num(snapshot.bytes_in)[row]
    slots = len(snapshot.brokers) * count
    sums = [np.bincount(key, weights, slots) for weights in (np.ones(len(row)), size, appended)]
    return np.stack(sums, axis=1).astype(np.float64)
