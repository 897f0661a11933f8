"""Builds the arrays of a replay from changes and their environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from kedge.execution.move_status import Target
from kedge.execution.prediction.environment import BrokerEnvironment, Disk, Environment
from kedge.execution.prediction.flow_model import (
    IN_LINK_COLUMN,
    IN_THROTTLE_COLUMN,
    OUT_LINK_COLUMN,
    OUT_THROTTLE_COLUMN,
    READ_COLUMN,
    WIDTH,
    WRITE_COLUMN,
    Delays,
    Deltas,
    FlowModel,
    ResourceKind,
)
from kedge.execution.prediction.traffic_changes import Led, Traffic, traffic_of
from kedge.execution.progress import Limits
from kedge.execution.scheduler import CRITICAL, SlotMoves
from kedge.model import BrokerId, TopicPartition
from kedge.model.columns import Int32s, Int64s, offsets_of, ragged_of_lists
from kedge.plan import Change, PartitionReplica

COPY_FRACTION_MIN = 0.05  # of a disk or link that copies get, however much traffic it carries

Sizes = Mapping[TopicPartition, int]
Leaders = Mapping[TopicPartition, BrokerId | None]


@dataclass(frozen=True, slots=True)
class Names:
    """What the indexes of a model stand for; a space is a broker with a directory or with none."""

    brokers: tuple[BrokerId, ...]
    spaces: tuple[tuple[BrokerId, str | None], ...]
    disks: tuple[tuple[BrokerId, str], ...]

    def resource(self, index: int) -> tuple[ResourceKind, BrokerId, str | None]:
        """The kind of a resource, its broker, and the directory of a disk."""
        kind, place = divmod(index, len(self.brokers))
        if kind < ResourceKind.DISK:
            return ResourceKind(kind), self.brokers[place], None
        return ResourceKind.DISK, *self.disks[index - ResourceKind.DISK * len(self.brokers)]

    @property
    def links(self) -> slice:
        """The resources that are links."""
        return slice(0, ResourceKind.OUT_THROTTLE * len(self.brokers))

    @property
    def throttles(self) -> slice:
        """The resources that are throttles."""
        count = len(self.brokers)
        return slice(ResourceKind.OUT_THROTTLE * count, ResourceKind.DISK * count)


@dataclass(slots=True)
class Places:
    """Indexes of brokers, disks and spaces; remembers how many replicas a directory has."""

    environment: Environment
    names: Names
    broker: dict[BrokerId, int]
    disk: dict[tuple[BrokerId, str], int]
    space: dict[tuple[BrokerId, str | None], int]
    replicas: dict[tuple[BrokerId, str], int] = field(
        default_factory=dict[tuple[BrokerId, str], int]
    )

    def resource(self, kind: ResourceKind, broker: BrokerId) -> int:
        """The index of a link or throttle."""
        return kind * len(self.broker) + self.broker[broker]

    def disk_resource(self, broker: BrokerId, path: str | None) -> int:
        """The index of a disk; -1 where the directory is unknown."""
        place = -1 if path is None else self.disk.get((broker, path), -1)
        return -1 if place < 0 else ResourceKind.DISK * len(self.broker) + place

    def current_dir(self, replica: PartitionReplica) -> str | None:
        """The directory of a replica; None where unknown."""
        disks = self.environment.brokers[replica.broker].disks
        return disks[0].path if len(disks) == 1 else self.environment.log_dirs.get(replica)

    def new_dir(self, broker: BrokerId, wanted: str | None) -> str:
        """The directory of a new replica: the one wanted, or that with the fewest replicas."""
        paths = [each.path for each in self.environment.brokers[broker].disks]
        path = wanted if wanted in paths else min(paths, key=lambda p: self.replicas[broker, p])
        self.replicas[broker, path] += 1
        return path

    def spaces(self, broker: BrokerId, path: str | None) -> list[int]:
        """The spaces that bytes in a directory count for: the directory's and the broker's."""
        keys = ((broker, path), (broker, None))
        return list(dict.fromkeys(self.space[key] for key in keys if key in self.space))


def places_of(environment: Environment) -> Places:
    """Number the brokers, disks and spaces of an environment."""
    ids = tuple(sorted(environment.brokers))
    disks = [(b, d.path) for b in ids for d in environment.brokers[b].disks]
    several = {b for b in ids if len(environment.brokers[b].disks) > 1}
    spaces: list[tuple[BrokerId, str | None]] = [
        *((b, path) for b, path in disks if b in several),
        *((b, None) for b in ids),
    ]
    return Places(
        environment,
        Names(ids, tuple(spaces), tuple(disks)),
        {b: place for place, b in enumerate(ids)},
        {key: place for place, key in enumerate(disks)},
        {key: place for place, key in enumerate(spaces)},
        {(b, d.path): d.replicas for b in ids for d in environment.brokers[b].disks},
    )


def with_all_brokers(environment: Environment, changes: Iterable[Change]) -> Environment:
    """The environment with every broker that a change names."""
    named = {b for change in changes for b in (*change.before, *change.after)}
    brokers = {**dict.fromkeys(sorted(named), BrokerEnvironment()), **environment.brokers}
    no_disks = {b: e for b, e in brokers.items() if not e.disks}
    for broker, each in no_disks.items():
        brokers[broker] = BrokerEnvironment(
            (Disk(),), each.link_in, each.link_out, each.bytes_in, each.bytes_out
        )
    return replace(environment, brokers=brokers)


@dataclass(slots=True)
class _Copies:
    """Rows of copies, and what their moves free."""

    count: list[int] = field(default_factory=list[int])
    size: list[int] = field(default_factory=list[int])
    growth: list[float] = field(default_factory=list[float])
    uses: list[list[int]] = field(default_factory=list[list[int]])
    space: list[list[int]] = field(default_factory=list[list[int]])
    source: list[int] = field(default_factory=list[int])
    target: list[list[int]] = field(default_factory=list[list[int]])
    freed: list[dict[int, float]] = field(default_factory=list[dict[int, float]])
    there: dict[int, float] = field(default_factory=dict[int, float])  # beside the bytes in use


def build_model(
    changes: Sequence[Change],
    sizes: Sizes,
    leaders: Leaders,
    limits: Limits,
    environment: Environment,
    target: Target,
    critical: float = CRITICAL,
) -> tuple[FlowModel, Names]:
    """The model of changes that start in this sequence, and the names of its indexes."""
    environment = with_all_brokers(environment, changes)
    places = places_of(environment)
    traffic = traffic_of(changes, leaders, environment, places, throttled=limits.rate is not None)
    copies = _Copies()
    for change in changes:
        _add_change(
            copies, change, sizes.get(change.tp, 0), leaders, places, limits, target, traffic
        )
    limit, load, floor = _capacities(environment, places, limits, traffic)
    share = np.ones(len(limit))
    share[places.names.throttles] = environment.timing.throttle_share
    moves = SlotMoves(np.array(copies.source, np.int32), _padded(copies.target))
    start, rows = _rows_of_ends(moves, len(places.broker))
    used, room = _disk_space(environment, places)
    used[list(copies.there)] += list(copies.there.values())
    timing = environment.timing
    model = FlowModel(
        moves,
        offsets_of(np.array(copies.count, np.int64)),
        start,
        rows,
        np.array(copies.size, np.float64),
        np.array(copies.growth, np.float64),
        np.array(copies.uses, np.int32).reshape(-1, WIDTH),
        np.array(copies.space, np.int32).reshape(-1, 2),
        limit,
        floor,
        share,
        load,
        _deltas(traffic.when_in_sync),
        _deltas(traffic.when_ended),
        _deltas(copies.freed),
        used,
        room,
        Delays(timing.poll_s, timing.start_s, timing.in_sync_s, timing.delete_s, timing.read_s),
        limits.each_way,
        critical,
    )
    return model, places.names


def _add_change(
    copies: _Copies,
    change: Change,
    size: int,
    leaders: Leaders,
    places: Places,
    limits: Limits,
    target: Target,
    traffic: Traffic,
) -> None:
    """Add the copies of a change: to other brokers, then between directories."""
    led = Led.of(change, leaders)
    wanted = {replica.broker: path for replica, path in target.log_dirs_of(change).items()}
    growth = places.environment.appended.get(change.tp, 0.0)
    freed: dict[int, float] = {}
    targets: list[int] = []

    arrived = places.environment.arrived

    def add(broker: BrokerId, path: str, uses: list[int]) -> None:
        copies.size.append(max(0, size - arrived.get(PartitionReplica(*change.tp, broker), 0)))
        copies.growth.append(growth)
        copies.uses.append(uses)
        copies.space.append([*places.spaces(broker, path), -1][:2])
        targets.append(places.broker[broker])

    def free(broker: BrokerId, path: str | None) -> None:
        for space in places.spaces(broker, path):
            freed[space] = freed.get(space, 0.0) + size

    def count(replica: PartitionReplica, path: str, *, counted: int) -> None:
        """A copy in progress takes what has arrived of it, and counts for so much so far."""
        for space in places.spaces(replica.broker, path) if replica in arrived else ():
            there = min(size, arrived[replica]) - counted
            copies.there[space] = copies.there.get(space, 0.0) + there

    for broker in change.added:
        replica = PartitionReplica(*change.tp, broker)
        present = places.current_dir(replica) if replica in arrived else None
        path = places.new_dir(broker, present or wanted.get(broker))
        if present is not None:
            count(replica, present, counted=size)
        add(broker, path, _uses_between(places, led, broker, path, change, limits))
        traffic.add_copy(led, broker, path, growth)
    within = [b for b in change.after if b in change.before and b in wanted]
    for broker in within:
        present = places.current_dir(PartitionReplica(*change.tp, broker))
        if present is not None and present != wanted[broker]:
            path = places.new_dir(broker, wanted[broker])
            count(PartitionReplica(*change.tp, broker), path, counted=0)
            add(broker, path, _uses_within(places, broker, (present, path), limits))
            traffic.add_copy_within(broker, path, growth)
            free(broker, present)
    for broker in change.removed:
        free(broker, places.current_dir(PartitionReplica(*change.tp, broker)))
    copies.count.append(len(targets))
    copies.source.append(places.broker[led.leader] if change.added else -1)
    copies.target.append(targets)
    copies.freed.append(freed)


def _uses_between(
    places: Places, led: Led, broker: BrokerId, path: str, change: Change, limits: Limits
) -> list[int]:
    uses = [-1] * WIDTH
    source_dir = places.current_dir(PartitionReplica(*change.tp, led.leader))
    uses[READ_COLUMN] = places.disk_resource(led.leader, source_dir)
    uses[OUT_LINK_COLUMN] = places.resource(ResourceKind.OUT_LINK, led.leader)
    uses[IN_LINK_COLUMN] = places.resource(ResourceKind.IN_LINK, broker)
    uses[WRITE_COLUMN] = places.disk_resource(broker, path)
    if limits.rate is not None:
        uses[OUT_THROTTLE_COLUMN] = places.resource(ResourceKind.OUT_THROTTLE, led.leader)
        uses[IN_THROTTLE_COLUMN] = places.resource(ResourceKind.IN_THROTTLE, broker)
    return uses


def _uses_within(
    places: Places, broker: BrokerId, paths: tuple[str, str], limits: Limits
) -> list[int]:
    uses = [-1] * WIDTH
    uses[READ_COLUMN] = places.disk_resource(broker, paths[0])
    uses[WRITE_COLUMN] = places.disk_resource(broker, paths[1])
    if limits.rate_within is not None:
        uses[IN_THROTTLE_COLUMN] = places.resource(ResourceKind.LOG_DIR_THROTTLE, broker)
    return uses


def _capacities(
    environment: Environment, places: Places, limits: Limits, traffic: Traffic
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each resource: its limit, its live traffic, and the least that copies get."""
    brokers = [environment.brokers[b] for b in places.names.brokers]
    rates, count = environment.rates, len(brokers)
    throttle, within = (
        inf if rate is None else float(rate) for rate in (limits.rate, limits.rate_within)
    )
    disks = [environment.brokers[b].disks for b in places.names.brokers]
    limit = np.array(
        [each.link_out or rates.network for each in brokers]
        + [each.link_in or rates.network for each in brokers]
        + [throttle] * (2 * count)
        + [within] * count
        + [rates.disk] * sum(map(len, disks)),
        np.float64,
    )
    load = np.array(
        [each.bytes_out for each in brokers]
        + [each.bytes_in for each in brokers]
        + [0.0] * (3 * count)
        + [disk.bytes_in for each in disks for disk in each],
        np.float64,
    )
    for resource, amount in traffic.before.items():
        load[resource] += amount
    floor = limit * COPY_FRACTION_MIN
    floor[places.names.throttles] = 0.0
    return limit, load, floor


def _disk_space(environment: Environment, places: Places) -> tuple[np.ndarray, np.ndarray]:
    used: list[float] = []
    room: list[float] = []
    for broker, path in places.names.spaces:
        each = environment.brokers[broker]
        disks = [disk for disk in each.disks if path in (None, disk.path)]
        known = [disk.capacity for disk in disks if disk.capacity is not None]
        whole = sum(known) if len(known) == len(disks) else None
        used.append(sum(disk.used for disk in disks))
        capacity = whole if path is not None or whole is not None else each.disk_capacity
        room.append(inf if capacity is None else capacity)
    return np.array(used, np.float64), np.array(room, np.float64)


def _rows_of_ends(moves: SlotMoves, brokers: int) -> tuple[Int64s, Int64s]:
    """The moves of each end, ascending: brokers as senders, then as receivers."""
    out_row = np.flatnonzero(moves.source >= 0)
    in_row, column = np.nonzero(moves.target >= 0)
    end = np.concatenate([moves.source[out_row], brokers + moves.target[in_row, column]])
    rows = np.concatenate([out_row, in_row])
    by_end = np.lexsort((rows, end))
    start = np.searchsorted(end[by_end], np.arange(2 * brokers + 1))
    return start.astype(np.int64), rows[by_end].astype(np.int64)


def _padded(lists: list[list[int]]) -> Int32s:
    matrix = ragged_of_lists(lists).padded()
    return matrix if matrix.shape[1] else np.full((len(lists), 1), -1, np.int32)


def _deltas(changes: Sequence[Mapping[int, float]]) -> Deltas:
    lengths = np.array([len(each) for each in changes], np.int64)
    return Deltas(
        offsets_of(lengths),
        np.array([place for each in changes for place in each], np.int64),
        np.array([amount for each in changes for amount in each.values()], np.float64),
    )
