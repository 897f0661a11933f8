"""Drain: take from the broker furthest beyond its target what costs least, until none is beyond.

Of a broker's replicas the ones are tried that relieve most for each byte: relief counts only what
is over, weighed by the multipliers of the bytes bound (what the bound would pay for it), and a
little for taking away in the proportions in which the broker is over. Each is offered to every
broker that would stay within its own target; the best pair of replica and place is done.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.layout import (
    CARRIES,
    COPY,
    COUNT,
    ELECTABLE,
    EMPTY,
    FOLLOWER,
    HAIR,
    HARD,
    HARMFUL,
    HUGE,
    INVERSE,
    KAPPA,
    LEADER,
    LOAD,
    MU,
    NO_HARM,
    NU,
    PRICE,
    RECEIVES,
    TARGET,
    TOLL,
    TOP,
    State,
)
from kedge.balance.problem import Floats
from kedge.balance.state import affordable, allowed, excess, put_first, shift
from kedge.jit import compiled, within_kernels


@compiled
def drain(st: State, weight: Floats, how: Floats, rounds: int) -> int:
    """Relieve brokers, the worst first; says how many are still beyond their targets."""
    brokers = len(st.holder)
    beyond = np.full(brokers, -1.0)  # −1: no need to look at it (again)
    for b in range(brokers):
        if not st.holder[b, EMPTY]:
            beyond[b] = excess(st, b)
    for _ in range(rounds):
        worst = int(np.argmax(beyond))
        if beyond[worst] <= 0:
            break
        to = _hand_over(st, worst)
        if to < 0:
            to = _send_away(st, worst, weight, how)
        if to < 0:
            beyond[worst] = -1.0
            continue
        beyond[worst] = excess(st, worst)
        if beyond[to] >= 0:
            beyond[to] = excess(st, to)
    left = 0
    for b in range(brokers):
        if excess(st, b) > 0 and not st.holder[b, EMPTY]:
            left += 1
    return left


@within_kernels
def _hand_over(st: State, b: int) -> int:
    """Let another replica lead where that relieves the broker and overloads nobody.

    Says which broker leads in its stead, -1 for none.
    """
    width = st.now.shape[1]
    cargo = st.cargo[b]
    best_p, best_k, best = -1, -1, 0.0
    over = np.zeros(4)
    for r in range(4):
        gap = (st.broker[b, LOAD + r] - st.broker[b, TARGET + r]) * st.broker[b, INVERSE + r]
        over[r] = max(0.0, gap)
    if over[2] <= HAIR and over[3] <= HAIR:
        return -1
    for i in range(st.holder[b, COUNT]):
        slot = st.items[b, i]
        p = slot // width
        if slot != p * width:
            continue
        most = 0.0  # leading is a part of what it carries: few have to be looked up
        for r in range(4):
            most += min(cargo[i, CARRIES + r] * st.broker[b, INVERSE + r], over[r])
        if most <= best * 0.5 or not st.rule[p, ELECTABLE]:
            continue
        relief = 0.0
        for r in range(4):
            if over[r] > 0:
                extra = st.part[p, LEADER + r] - st.part[p, FOLLOWER + r]
                relief += min(extra * st.broker[b, INVERSE + r], over[r])
        if relief <= best * 0.5:
            continue
        for k in range(1, width):
            to = st.now[p, k]
            if to < 0 or st.holder[to, EMPTY]:
                continue
            fits, fill = True, 0.0
            for r in range(4):
                extra = st.part[p, LEADER + r] - st.part[p, FOLLOWER + r]
                if st.broker[to, LOAD + r] + extra > min(
                    st.broker[to, TARGET + r], st.broker[to, HARD + r]
                ):
                    fits = fits and extra <= 0
                x = extra * st.broker[to, INVERSE + r]
                fill += x * (
                    2
                    * (st.broker[to, LOAD + r] - st.broker[to, TARGET + r])
                    * st.broker[to, INVERSE + r]
                    + x
                )
                fill += (
                    x * st.broker[to, PRICE + r]
                    - extra * st.broker[b, PRICE + r] * st.broker[b, INVERSE + r]
                )
            if fits and relief - fill > best:
                best_p, best_k, best = p, k, relief - fill
    if best_p < 0:
        return -1
    to = st.now[best_p, best_k]
    put_first(st, best_p, best_k)
    return to


@within_kernels
def _send_away(st: State, b: int, weight: Floats, how: Floats) -> int:
    """Move the replica whose leaving is worth most for its bytes to where it fits best.

    Says where it went, -1 for nowhere.
    """
    width = st.now.shape[1]
    broker, cargo = st.broker, st.cargo[b]
    mu = how[MU]
    kappa = how[KAPPA] * max(0.1, min(1.0, weight[b, 0]))
    top = int(how[TOP])
    rows = np.full(top, -1, np.int64)
    scores = np.full(top, -1e300)
    gains = np.zeros(top)
    reliefs = np.zeros(top)
    over, paid, away, scale = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4)
    for r in range(4):
        scale[r] = broker[b, INVERSE + r]
        gap = (broker[b, LOAD + r] - broker[b, TARGET + r]) * scale[r]
        over[r] = max(0.0, gap)
        paid[r] = weight[b, r]
        away[r] = mu * max(-0.3, gap) + broker[b, PRICE + r]
    for i in range(st.holder[b, COUNT]):
        price = kappa + cargo[i, COPY]
        if price >= HUGE:
            continue
        gain, relief = 0.0, 0.0
        for r in range(4):
            x = cargo[i, CARRIES + r] * scale[r]
            spared = min(x, over[r])
            relief += spared
            gain += paid[r] * spared + x * away[r]
        if relief <= 0 or gain <= scores[top - 1] * price:
            continue
        score = gain / price
        at = top - 1
        while at > 0 and scores[at - 1] < score:
            scores[at], rows[at] = scores[at - 1], rows[at - 1]
            gains[at], reliefs[at] = gains[at - 1], reliefs[at - 1]
            at -= 1
        scores[at], rows[at], gains[at], reliefs[at] = score, i, gain, relief
    best_slot, best_to, best = -1, -1, -1e300
    for i in range(top):
        if rows[i] < 0:
            break
        slot = st.items[b, rows[i]]
        p = slot // width
        to, fill = best_place(st, p, slot == p * width, b, reliefs[i], weight, how)
        if to < 0:
            continue
        score = (gains[i] - fill) / (kappa + cargo[rows[i], COPY])
        if score > best:
            best_slot, best_to, best = slot, to, score
    if best_slot >= 0:
        shift(st, best_slot // width, best_slot % width, best_to)
    return best_to


@within_kernels
def best_place(
    st: State, p: int, leads: bool, b: int, relief: float, weight: Floats, how: Floats
) -> tuple[int, float]:
    """The broker that has most of what the replica brings to spare.

    It may be pushed a little beyond its own target, if that is less than what is relieved.
    """
    broker, holder, spare = st.broker, st.holder, st.spare
    x0, x1, x2, x3 = follower_or_leader(st, p, leads)
    nu, harm, toll = how[NU], how[HARMFUL], how[TOLL]
    strict = harm >= NO_HARM
    best, least = -1, 1e300
    for to in range(len(holder)):
        # most brokers are full of something: they are passed over before anything is weighed
        if strict:
            if x0 > spare[to, 0] or x1 > spare[to, 1] or x2 > spare[to, 2] or x3 > spare[to, 3]:
                continue
        elif not holder[to, RECEIVES]:
            continue
        fill, pushed, priced = 0.0, 0.0, 0.0
        for r in range(4):
            x = x0 if r == 0 else x1 if r == 1 else x2 if r == 2 else x3
            scale = broker[to, INVERSE + r]
            gap = (broker[to, LOAD + r] - broker[to, TARGET + r]) * scale
            x *= scale
            pushed += max(0.0, min(gap + x, x))
            fill += x * (2 * gap + x)
            priced += x * (toll * weight[to, r] + broker[to, PRICE + r])
        if not strict and pushed * harm > relief:
            continue
        fill = nu * fill + priced + (0.0 if strict else harm * pushed)
        if fill >= least:
            continue
        if not allowed(st, p, b, to) or not affordable(st, p, b, to):
            continue
        if (
            broker[to, LOAD] + x0 <= broker[to, HARD]
            and broker[to, LOAD + 1] + x1 <= broker[to, HARD + 1]
            and broker[to, LOAD + 2] + x2 <= broker[to, HARD + 2]
            and broker[to, LOAD + 3] + x3 <= broker[to, HARD + 3]
        ):
            best, least = to, fill
    return best, least


@within_kernels
def follower_or_leader(st: State, p: int, leads: bool) -> tuple[float, float, float, float]:
    """What a replica carries in its role."""
    if leads:
        return (
            st.part[p, LEADER],
            st.part[p, LEADER + 1],
            st.part[p, LEADER + 2],
            st.part[p, LEADER + 3],
        )
    return (
        st.part[p, FOLLOWER],
        st.part[p, FOLLOWER + 1],
        st.part[p, FOLLOWER + 2],
        st.part[p, FOLLOWER + 3],
    )
