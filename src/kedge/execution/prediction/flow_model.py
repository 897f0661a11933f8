"""The arrays of a replay: moves, their copies, and the resources and disks that they use.

A *copy* brings one replica to one broker, or to another log directory of its broker. Brokers, disk
spaces and resources are indexes; lists of unequal length are concatenated, with offsets.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from kedge.execution.scheduler import SlotMoves
from kedge.model.columns import Floats, Int32s, Int64s

# the columns of `uses`: what a copy takes at its source, then at its destination
READ_COLUMN, OUT_LINK_COLUMN, OUT_THROTTLE_COLUMN = 0, 1, 2
WRITE_COLUMN, IN_LINK_COLUMN, IN_THROTTLE_COLUMN = 3, 4, 5
WIDTH = 6


class ResourceKind(IntEnum):
    """What a copy takes bandwidth of; resource = kind * brokers + broker, disks come last."""

    OUT_LINK = 0
    IN_LINK = 1
    OUT_THROTTLE = 2
    IN_THROTTLE = 3
    LOG_DIR_THROTTLE = 4
    DISK = 5


class Deltas(NamedTuple):
    """Changes of the traffic on resources, or of the bytes on disks, by copy or by move."""

    start: Int64s  # [N + 1]
    place: Int64s
    amount: Floats


class Delays(NamedTuple):
    """Seconds, as the replay uses them."""

    poll: float
    start: float
    in_sync: float
    delete: float
    read: float = 0.0


class FlowModel(NamedTuple):
    """A plan and its cluster as arrays."""

    moves: SlotMoves
    move_copies: Int64s  # [N + 1]: where the copies of each move start
    end_rows_start: Int64s  # [2B + 1]: where the moves of each end start; senders, then receivers
    end_rows: Int64s
    size: Floats  # [F]
    growth: Floats  # [F]: bytes per second appended while the copy runs
    uses: Int32s  # [F, WIDTH]
    space: Int32s  # [F, 2]: the log directory that a copy fills, and its broker
    limit: Floats  # [R]: bytes per second
    floor: Floats  # [R]: what copies get however much traffic there is
    share: Floats  # [R]: of what traffic leaves of the limit, the part that copies get
    load: Floats  # [R]: traffic that is not a copy, before the first move
    when_in_sync: Deltas  # by copy: what its replica takes from then on
    when_ended: Deltas  # by move: what the removed replicas no longer take
    freed: Deltas  # by move: bytes of the removed replicas
    space_used: Floats  # [D]
    space_limit: Floats  # [D]: inf where unknown
    delays: Delays
    each_way: int
    critical: float


class Replayed(NamedTuple):
    """What happened in a replay, in seconds from the first observation; inf: never."""

    start: Floats  # [N]
    end: Floats  # [N]: all copies are in sync
    copied: Floats  # [F]: when each copy had all bytes
    space_peak: Floats  # [D]
    space_peak_at: Floats
    space_full_at: Floats
    peak_rate: Floats  # [R]: the highest rate of all copies together
    peak_total: Floats  # [R]: the same with the traffic that is there meanwhile
    flight_peak: Floats  # [2B]: most bytes of copies under way at once; out, then in
    course: Floats  # [D + 2B, steps]: the most of each disk and flight, by step
    course_step: float  # seconds
    bottleneck: Int64s  # [F]: of a copy that never ends, the resource that holds it up
    events: int
    seen: float  # when the run has observed the last end
