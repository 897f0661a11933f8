"""The few steps that may change the search's state.

Whatever changes replicas goes through `shift`, `settle`, `drop` and `put_first`: they alone keep
loads, lists and the tally in step.
"""

from __future__ import annotations

from kedge.balance.layout import (
    BYTES,
    CARRIES,
    COPY,
    COUNT,
    CRUMB,
    ELECTABLE,
    EMPTY,
    FOLLOWER,
    GIVES,
    HAIR,
    HUGE,
    INVERSE,
    LEADER,
    LIMIT,
    LOAD,
    MAX_BYTES,
    MAX_MOVES,
    MAX_PER_BROKER,
    MOVABLE,
    MOVED_IN,
    MOVED_OUT,
    MOVES,
    RACK,
    RECEIVES,
    ROOM,
    SIZE,
    TARGET,
    State,
)
from kedge.balance.problem import Int32s
from kedge.jit import compiled, within_kernels


@compiled
def fill_lists(st: State) -> None:
    """List the replicas of each broker and sum its load, from `now` alone."""
    st.holder[:, COUNT] = 0
    st.broker[:, LOAD:TARGET] = 0.0
    width = st.now.shape[1]
    for p in range(len(st.now)):
        for k in range(width):
            b = st.now[p, k]
            if b >= 0:
                _enlist(st, b, p * width + k)
                _carry(st, p, k, b, 1.0)
    renew_spares(st)


@compiled
def renew_spares(st: State) -> None:
    """What brokers may still be given, after a change of targets."""
    for b in range(len(st.holder)):
        _renew_spare(st, b)


@within_kernels
def _renew_spare(st: State, b: int) -> None:
    takes = st.holder[b, RECEIVES]
    for r in range(4):
        left = max(0.0, st.broker[b, TARGET + r] - st.broker[b, LOAD + r])
        counted = st.broker[b, INVERSE + r] > 0
        st.spare[b, r] = (left if counted else HUGE) if takes else -1.0


@within_kernels
def _enlist(st: State, b: int, slot: int) -> None:
    at = st.holder[b, COUNT]
    st.items[b, at] = slot
    st.pos[slot] = at
    st.holder[b, COUNT] += 1
    _describe(st, b, at)


@within_kernels
def _describe(st: State, b: int, at: int) -> None:
    """Write down what a replica in a broker's list is."""
    slot, row = st.items[b, at], st.cargo[b, at]
    p = slot // st.now.shape[1]
    leads = slot == p * st.now.shape[1]
    own = is_home(st, p, b)
    role = LEADER if leads else FOLLOWER
    for r in range(4):
        row[CARRIES + r] = st.part[p, role + r]
    row[COPY] = max(CRUMB, st.part[p, SIZE]) if own else 0.0
    may = st.rule[p, MOVABLE] and (st.rule[p, ELECTABLE] or not leads)
    if not may or (own and not st.holder[b, GIVES]):
        row[COPY] = HUGE


@within_kernels
def _strike(st: State, b: int, slot: int) -> None:
    st.holder[b, COUNT] -= 1
    end, at = st.holder[b, COUNT], st.pos[slot]
    last = st.items[b, end]
    st.items[b, at] = last
    st.pos[last] = at
    for column in range(COPY + 1):
        st.cargo[b, at, column] = st.cargo[b, end, column]


@within_kernels
def _carry(st: State, p: int, k: int, b: int, sign: float) -> None:
    for r in range(4):
        st.broker[b, LOAD + r] += sign * (
            st.part[p, LEADER + r] if k == 0 else st.part[p, FOLLOWER + r]
        )


@within_kernels
def is_home(st: State, p: int, b: int) -> bool:
    """A replica on this broker needs no copying."""
    found = False
    for k in range(st.home.shape[1]):
        found = found or st.home[p, k] == b
    return found


@within_kernels
def _count_copy(st: State, p: int, b: int, by: int) -> None:
    """A replica comes to (+1) or leaves (−1) a broker: copies to elsewhere than home are paid."""
    if is_home(st, p, b):
        st.holder[b, MOVED_OUT] -= by
    else:
        st.holder[b, MOVED_IN] += by
        st.tally[BYTES] += by * st.part[p, SIZE]
        st.tally[MOVES] += by


@within_kernels
def shift(st: State, p: int, k: int, to: int) -> None:
    """Move the replica in a column to another broker."""
    drop(st, p, k)
    settle(st, p, k, to)


@within_kernels
def settle(st: State, p: int, k: int, to: int) -> None:
    """Put a replica in an empty column."""
    st.now[p, k] = to
    _enlist(st, to, p * st.now.shape[1] + k)
    _carry(st, p, k, to, 1.0)
    _renew_spare(st, to)
    _count_copy(st, p, to, 1)


@within_kernels
def drop(st: State, p: int, k: int) -> None:
    """Take the replica out of a column and leave the column empty."""
    b = st.now[p, k]
    _strike(st, b, p * st.now.shape[1] + k)
    _carry(st, p, k, b, -1.0)
    _renew_spare(st, b)
    _count_copy(st, p, b, -1)
    st.now[p, k] = -1


@within_kernels
def put_first(st: State, p: int, k: int) -> None:
    """Let the replica in a column lead; the one that led takes its column."""
    width = st.now.shape[1]
    old, new = st.now[p, 0], st.now[p, k]
    for r in range(4):
        extra = st.part[p, LEADER + r] - st.part[p, FOLLOWER + r]
        if old >= 0:
            st.broker[old, LOAD + r] -= extra
        st.broker[new, LOAD + r] += extra
    _renew_spare(st, new)
    if old >= 0:
        _renew_spare(st, old)
    first, other = p * width, p * width + k
    st.now[p, 0], st.now[p, k] = new, old
    st.pos[first], st.pos[other] = st.pos[other], st.pos[first]
    st.items[new, st.pos[first]] = first
    _describe(st, new, int(st.pos[first]))
    if old >= 0:
        st.items[old, st.pos[other]] = other
        _describe(st, old, int(st.pos[other]))


@within_kernels
def affordable(st: State, p: int, b: int, to: int) -> bool:
    """The budgets allow the replica of p on b to go to another broker."""
    leaves, returns = is_home(st, p, b), is_home(st, p, to)
    if leaves and not returns:
        if st.tally[BYTES] + st.part[p, SIZE] > st.tally[MAX_BYTES]:
            return False
        if st.tally[MOVES] + 1 > st.tally[MAX_MOVES]:
            return False
    most = st.tally[MAX_PER_BROKER]
    if leaves and st.holder[b, MOVED_IN] + st.holder[b, MOVED_OUT] + 1 > most:
        return False
    return returns or st.holder[to, MOVED_IN] + st.holder[to, MOVED_OUT] + 1 <= most


@within_kernels
def allowed(st: State, p: int, b: int, to: int) -> bool:
    """Hard goals let the replica of p on b (-1: a new one) go to another broker, load aside."""
    if st.holder[to, EMPTY] or st.holder[to, COUNT] >= st.holder[to, ROOM]:
        return False
    if not st.holder[to, RECEIVES] and not is_home(st, p, to):
        return False
    rack, same = st.holder[to, RACK], 0
    for k in range(st.now.shape[1]):
        at = st.now[p, k]
        if at == to:
            return False
        if at >= 0 and at != b and st.holder[at, RACK] == rack:
            same += 1
    return same < st.rule[p, LIMIT] or (b >= 0 and st.holder[b, RACK] == rack)


@within_kernels
def excess(st: State, b: int) -> float:
    """How far a broker is beyond its target, in the resource in which it is furthest."""
    most = 0.0
    for r in range(4):
        most = max(
            most, (st.broker[b, LOAD + r] - st.broker[b, TARGET + r]) * st.broker[b, INVERSE + r]
        )
    return most if most > HAIR else 0.0


@compiled
def adopt(st: State, chosen: Int32s) -> None:
    """Bring all replicas to where a placement has them; column 0 leads."""
    for p in range(len(st.now)):
        for k in range(st.now.shape[1]):
            if st.now[p, k] >= 0:
                drop(st, p, k)
        for k in range(chosen.shape[1]):
            if chosen[p, k] >= 0:
                settle(st, p, k, chosen[p, k])
