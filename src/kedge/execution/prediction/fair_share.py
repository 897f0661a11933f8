"""Keeps the rates of copies max-min fair while copies start and end.

The rates are those of progressive filling (no rate can grow without reducing one that is not
larger), and only the copies that a change can reach are computed again. A change marks resources;
the copies on them form a group, which is filled with what all other copies leave. Then each other
copy on a resource of the group is checked: one that is faster than the group's share there, or
whose own bottleneck has room again, joins the group, and the group is filled once more. When no
copy joins, every copy has a saturated resource on which none is faster: the rates are max-min fair.

    a 10 MB/s, b 8 MB/s     copies 1 on a, 2 on a and b, 3 on b     rates 6, 4, 4
    3 ends                  b is marked, 2 is filled: room of a is 10 - 6, of b is 8: rate 4
                            a stays saturated, and 1 is faster than 2: 1 joins; rates 5, 5
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kedge.model.columns import Bools, Floats, Int32s, Int64s

DIRTY, GROUP, TOUCHED = 0, 1, 2
EPSILON = 1e-9


class Sharing(NamedTuple):
    """Copies and resources; the copies of a resource are a linked list of (copy, column) places."""

    uses: Int32s  # [F, W]: the resources of each copy, -1 pads
    capacity: Floats  # [R]
    rate: Floats  # [F]
    new_rate: Floats  # [F]: of the group, after `refill`
    bottleneck: Int64s  # [F]
    first: Int64s  # [R]: the first place in each list, -1 if empty
    following: Int64s  # [F * W]
    preceding: Int64s  # [F * W]
    dirty: Int64s  # [R]: resources that have changed
    is_dirty: Bools
    group: Int64s  # [F]: copies whose rates are computed again
    is_grouped: Bools
    touched: Int64s  # [R]: resources of the group
    is_touched: Bools
    room: Floats  # [R]
    sharing: Int64s  # [R]
    level: Floats  # [R]: the share at which a resource was filled, -1 if it was not
    counts: Int64s  # of dirty, group, touched


def new_sharing(uses: Int32s, capacity: Floats) -> Sharing:
    """No copy is active yet."""
    flows, width = uses.shape
    resources = len(capacity)
    return Sharing(
        uses,
        capacity.copy(),
        np.zeros(flows),
        np.zeros(flows),
        np.full(flows, -1, np.int64),
        np.full(resources, -1, np.int64),
        np.full(flows * width, -1, np.int64),
        np.full(flows * width, -1, np.int64),
        np.zeros(resources, np.int64),
        np.zeros(resources, np.bool_),
        np.zeros(flows, np.int64),
        np.zeros(flows, np.bool_),
        np.zeros(resources, np.int64),
        np.zeros(resources, np.bool_),
        np.zeros(resources),
        np.zeros(resources, np.int64),
        np.zeros(resources),
        np.zeros(3, np.int64),
    )


def mark(s: Sharing, resource: int) -> None:
    """The capacity or the copies of a resource have changed."""
    if not s.is_dirty[resource]:
        s.is_dirty[resource] = True
        s.dirty[s.counts[DIRTY]] = resource
        s.counts[DIRTY] += 1


def join(s: Sharing, flow: int) -> None:
    """A copy becomes active, at rate 0 until the next `refill`."""
    width = s.uses.shape[1]
    s.rate[flow] = 0.0
    s.bottleneck[flow] = -1
    for column in range(width):
        resource, place = s.uses[flow, column], flow * width + column
        if resource < 0:
            continue
        s.preceding[place] = -1
        s.following[place] = s.first[resource]
        if s.first[resource] >= 0:
            s.preceding[s.first[resource]] = place
        s.first[resource] = place
        mark(s, resource)


def leave(s: Sharing, flow: int) -> None:
    """A copy has ended."""
    width = s.uses.shape[1]
    for column in range(width):
        resource, place = s.uses[flow, column], flow * width + column
        if resource < 0:
            continue
        before, after = s.preceding[place], s.following[place]
        if before >= 0:
            s.following[before] = after
        else:
            s.first[resource] = after
        if after >= 0:
            s.preceding[after] = before
        mark(s, resource)
    s.rate[flow] = 0.0


def include(s: Sharing, flow: int) -> None:
    """Add a copy to the group, and its resources to those touched."""
    if s.is_grouped[flow]:
        return
    s.is_grouped[flow] = True
    s.group[s.counts[GROUP]] = flow
    s.counts[GROUP] += 1
    for column in range(s.uses.shape[1]):
        resource = s.uses[flow, column]
        if resource >= 0 and not s.is_touched[resource]:
            s.is_touched[resource] = True
            s.touched[s.counts[TOUCHED]] = resource
            s.counts[TOUCHED] += 1


def fill(s: Sharing) -> None:
    """Fill the group's resources with what the other copies leave."""
    width = s.uses.shape[1]
    for at in range(s.counts[TOUCHED]):
        resource = s.touched[at]
        room, sharing = s.capacity[resource], 0
        place = s.first[resource]
        while place >= 0:
            if s.is_grouped[place // width]:
                sharing += 1
            else:
                room -= s.rate[place // width]
            place = s.following[place]
        s.room[resource], s.sharing[resource], s.level[resource] = room, sharing, -1.0
    for at in range(s.counts[GROUP]):
        s.new_rate[s.group[at]] = -1.0
    while True:
        tightest, share = -1, np.inf
        for at in range(s.counts[TOUCHED]):
            resource = s.touched[at]
            if s.sharing[resource] > 0:
                equal = max(s.room[resource], 0.0) / s.sharing[resource]
                if equal < share:
                    tightest, share = resource, equal
        if tightest < 0:
            return
        s.level[tightest] = share
        place = s.first[tightest]
        while place >= 0:
            flow = place // width
            if s.is_grouped[flow] and s.new_rate[flow] < 0:
                s.new_rate[flow] = share
                s.bottleneck[flow] = tightest
                for column in range(width):
                    if s.uses[flow, column] >= 0:
                        s.room[s.uses[flow, column]] -= share
                        s.sharing[s.uses[flow, column]] -= 1
            place = s.following[place]


def extend(s: Sharing) -> None:
    """Add the copies outside of the group whose rates are no longer fair."""
    width = s.uses.shape[1]
    for at in range(s.counts[TOUCHED]):
        resource = s.touched[at]
        has_room = s.room[resource] > EPSILON * s.capacity[resource]
        top = 0.0
        place = s.first[resource]
        while place >= 0:
            flow = place // width
            top = max(top, s.new_rate[flow] if s.is_grouped[flow] else s.rate[flow])
            place = s.following[place]
        place = s.first[resource]
        while place >= 0:
            flow = place // width
            if not s.is_grouped[flow]:
                level, rate = s.level[resource], s.rate[flow]
                is_above = level >= 0 and rate > level * (1 + EPSILON)
                may_grow = has_room or rate < top * (1 - EPSILON)
                if is_above or (s.bottleneck[flow] == resource and may_grow):
                    include(s, flow)
            place = s.following[place]


def refill(s: Sharing) -> None:
    """Compute fair rates after changes: `new_rate` of each copy in `group`."""
    width = s.uses.shape[1]
    for at in range(s.counts[DIRTY]):
        s.is_dirty[s.dirty[at]] = False
        place = s.first[s.dirty[at]]
        while place >= 0:
            include(s, place // width)
            place = s.following[place]
    s.counts[DIRTY] = 0
    filled = 0
    while s.counts[GROUP] > filled:
        filled = s.counts[GROUP]
        fill(s)
        extend(s)


def close_group(s: Sharing) -> None:
    """Take the group's new rates over, and empty the group."""
    for at in range(s.counts[GROUP]):
        s.is_grouped[s.group[at]] = False
        s.rate[s.group[at]] = s.new_rate[s.group[at]]
    for at in range(s.counts[TOUCHED]):
        s.is_touched[s.touched[at]] = False
    s.counts[GROUP] = 0
    s.counts[TOUCHED] = 0


HELPERS = (mark, join, leave, include, fill, extend, refill, close_group)
