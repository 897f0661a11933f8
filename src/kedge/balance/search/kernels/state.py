"""The arrays that the search works on, with a name for every field.

Loads are scaled so that an average broker at the best possible level carries 1 of each resource;
targets and hard limits are scaled alike, and bytes are counted in the unit of disk. Each broker
lists its replicas as slots (partition × K + column) in any sequence; `slot_position` is the index
of a slot in its list, so that removing one costs no search.

Fields that one loop reads together lie side by side: `replica_cache` repeats for each listed
replica the load of its partition, `slack` what the target of a broker leaves. Reading them there
takes a third of the time of looking them up in the partition and the broker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kedge.balance.goals.problem import Bools, Floats, Int32s

Records = Any  # arrays of records: numpy has no types for their fields
Load = tuple[float, float, float, float]  # disk, in, out, cpu of one replica, scaled

HUGE = 1e300  # a target or a budget that nothing exceeds
TINY_SIZE = 1e-30  # size of an empty replica on its initial broker: a moved one counts 0
EPSILON = 1e-9  # an excess below this is a rounding error of sums
NO_OVERLOAD = 1e9  # as `overload_penalty`: no broker may be pushed beyond its target

BROKER = np.dtype(
    [
        ("load", np.float64, 4),
        ("target", np.float64, 4),
        ("hard_limit", np.float64, 4),
        ("scale", np.float64, 4),  # 1 ÷ (capacity at the best level); 0 where not counted
        ("price", np.float64, 4),  # of load on this kind of broker, from the joint bound
    ]
)
BROKER_STATUS = np.dtype(
    [
        ("rack", np.int32),
        ("replicas", np.int32),
        ("max_replicas", np.int32),
        ("moved_in", np.int32),
        ("moved_out", np.int32),
        ("must_empty", np.int32),
        ("may_receive", np.int32),
        ("may_give", np.int32),
    ]
)
PARTITION = np.dtype([("leader", np.float64, 4), ("follower", np.float64, 4), ("size", np.float64)])
PARTITION_RULE = np.dtype(
    [("rack_limit", np.int32), ("movable", np.int32), ("leader_movable", np.int32)]
)
CACHED_REPLICA = np.dtype(
    [
        ("load", np.float64, 4),
        ("copy_cost", np.float64),  # bytes that leaving costs; HUGE where the replica must stay
    ]
)
TOTALS = np.dtype(
    [
        ("bytes", np.float64),
        ("moves", np.float64),
        ("max_bytes", np.float64),
        ("max_moves", np.float64),
        ("max_moves_per_broker", np.float64),
    ]
)


class State(NamedTuple):
    """Arrays of one search; B brokers, P partitions, K columns, M entries in each list.

    They are few and wide: a kernel passes all of them to every function that it calls, and each
    adds to the time of compilation.
    """

    broker: Records  # BROKER[B]
    status: Records  # BROKER_STATUS[B]
    partition: Records  # PARTITION[P]
    rule: Records  # PARTITION_RULE[P]
    initial: Int32s  # [P, K]: the assignment that the plan starts from
    current: Int32s  # [P, K]: the assignment found so far
    slots: Int32s  # [B, M]: the replicas of each broker
    replica_cache: Records  # CACHED_REPLICA[B, M]
    slack: Floats  # [B, 4]: target − load, at least 0; −1 where a broker may not receive
    slot_position: Int32s  # [P × K]
    totals: Records  # TOTALS[1]


class DrainParams(NamedTuple):
    """How `drain` scores the replicas that leave a broker and the brokers that take them."""

    relief_value: Floats  # [B, 4]: bytes that a unit of relief is worth on each broker
    move_price: float  # of one move, in bytes
    shape_weight: float  # how much the shape of a replica's load counts in what leaves
    fill_weight: float  # how much it counts in where the replica goes
    candidates: float  # replicas that are offered to every broker
    overload_penalty: float  # of pushing a broker beyond its target; NO_OVERLOAD forbids it


class AnnealParams(NamedTuple):
    """How `anneal` draws steps and what it charges for them."""

    rack_brokers: Int32s  # brokers, rack by rack
    rack_starts: Int32s  # where each rack starts in `rack_brokers`
    focus: Int32s  # only replicas of these brokers are drawn; empty: of all
    load_price: Floats  # [B, 4]: of a unit of load
    steps: int
    hot: float  # temperature at first and at last
    cold: float
    move_price: float  # of one move, beside its bytes
    penalty: float  # of load beyond a target at first; ten times that at last


class PriceAnnealParams(NamedTuple):
    """How `anneal_by_price` draws steps and what it charges for them; G racks."""

    pair_partition: Int32s  # [N]: pairs of a partition and a broker that are drawn
    pair_broker: Int32s  # [N]
    is_candidate: Bools  # [P, B]: the same pairs
    load_price: Floats  # [B, 4]: of a unit of load
    rack_load: Floats  # [G, 4]: of all brokers of a rack; changes with every step
    rack_target: Floats  # [G, 4]: beyond which the brokers of a rack cannot all be in target
    rack_scale: Floats  # [4]: 1 ÷ the target of an average broker; 0 where not counted
    steps: int
    hot: float  # temperature at first and at last
    cold: float
    move_price: float  # of one move, beside its bytes
    penalty: float  # of load beyond a target at first; ten times that at last


def copied(state: State) -> State:
    """The same state; what the search changes is in arrays of its own."""
    return state._replace(
        broker=state.broker.copy(),
        status=state.status.copy(),
        current=state.current.copy(),
        slots=state.slots.copy(),
        replica_cache=state.replica_cache.copy(),
        slack=state.slack.copy(),
        slot_position=state.slot_position.copy(),
        totals=state.totals.copy(),
    )
