"""Drain: take from the broker furthest beyond its target what costs least, until none is beyond.

Of a broker's replicas the ones are tried that relieve most for each byte: relief counts only what
is over, weighed by the multipliers of the bytes bound (what the bound would pay for it), and a
little for taking away in the proportions in which the broker is over. Each is offered to every
broker that would stay within its own target; the best pair of replica and place is done.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.layout import (
    COUNT,
    ELECTABLE,
    EMPTY,
    FOLLOWER,
    GIVES,
    HAIR,
    HARD,
    INVERSE,
    LEADER,
    LOAD,
    MOVABLE,
    NO_HARM,
    PRICE,
    RECEIVES,
    SIZE,
    TARGET,
    State,
)
from kedge.balance.problem import Floats
from kedge.balance.state import affordable, allowed, excess, is_home, put_first, shift
from kedge.jit import compiled, within_kernels

KAPPA, MU, NU, TOP, HARMFUL, TOLL = 0, 1, 2, 3, 4, 5  # what `how` holds


@compiled
def drain(st: State, weight: Floats, how: Floats, rounds: int) -> int:
    """Relieve brokers, the worst first; says how many are still beyond their targets."""
    brokers = len(st.holder)
    stuck = np.zeros(brokers, np.bool_)
    for _ in range(rounds):
        worst, most = -1, 0.0
        for b in range(brokers):
            if not stuck[b] and not st.holder[b, EMPTY]:
                over = excess(st, b)
                if over > most:
                    worst, most = b, over
        if worst < 0:
            break
        if not _hand_over(st, worst) and not _send_away(st, worst, weight, how):
            stuck[worst] = True
    left = 0
    for b in range(brokers):
        if excess(st, b) > 0 and not st.holder[b, EMPTY]:
            left += 1
    return left


@within_kernels
def _hand_over(st: State, b: int) -> bool:
    """Let another replica lead where that relieves the broker and overloads nobody."""
    width = st.now.shape[1]
    best_p, best_k, best = -1, -1, 0.0
    if (st.broker[b, LOAD + 2] - st.broker[b, TARGET + 2]) * st.broker[b, INVERSE + 2] <= HAIR and (
        st.broker[b, LOAD + 3] - st.broker[b, TARGET + 3]
    ) * st.broker[b, INVERSE + 3] <= HAIR:
        return False
    for i in range(st.holder[b, COUNT]):
        slot = st.items[b, i]
        p = slot // width
        if slot != p * width or not st.rule[p, ELECTABLE]:
            continue
        relief = 0.0
        for r in range(4):
            extra = (st.part[p, LEADER + r] - st.part[p, FOLLOWER + r]) * st.broker[b, INVERSE + r]
            over = (st.broker[b, LOAD + r] - st.broker[b, TARGET + r]) * st.broker[b, INVERSE + r]
            if over > 0:
                relief += min(extra, over)
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
        return False
    put_first(st, best_p, best_k)
    return True


@within_kernels
def _send_away(st: State, b: int, weight: Floats, how: Floats) -> bool:
    """Move the replica whose leaving is worth most for its bytes to where it fits best."""
    width = st.now.shape[1]
    broker, part, items, rule = st.broker, st.part, st.items, st.rule
    mu, gives = how[MU], st.holder[b, GIVES]
    kappa = how[KAPPA] * max(0.1, min(1.0, weight[b, 0]))
    top = int(how[TOP])
    slots = np.full(top, -1, np.int64)
    scores = np.full(top, -1e300)
    gains = np.zeros(top)
    reliefs = np.zeros(top)
    over, away, scale = np.zeros(4), np.zeros(4), np.zeros(4)
    for r in range(4):
        scale[r] = broker[b, INVERSE + r]
        gap = (broker[b, LOAD + r] - broker[b, TARGET + r]) * scale[r]
        over[r] = max(0.0, gap)
        away[r] = mu * max(-0.3, gap) + broker[b, PRICE + r]
    for i in range(st.holder[b, COUNT]):
        slot = items[b, i]
        p = slot // width
        leads = slot == p * width
        if not rule[p, MOVABLE] or (leads and not rule[p, ELECTABLE]):
            continue
        role = LEADER if leads else FOLLOWER
        gain, relief = 0.0, 0.0
        for r in range(4):
            x = part[p, role + r] * scale[r]
            spared = min(x, over[r])
            relief += spared
            gain += weight[b, r] * spared + x * away[r]
        if relief <= 0:
            continue
        paid = is_home(st, p, b)
        if paid and not gives:
            continue
        score = gain / (kappa + (part[p, SIZE] if paid else 0.0))
        if score <= scores[top - 1]:
            continue
        at = top - 1
        while at > 0 and scores[at - 1] < score:
            scores[at], slots[at] = scores[at - 1], slots[at - 1]
            gains[at], reliefs[at] = gains[at - 1], reliefs[at - 1]
            at -= 1
        scores[at], slots[at], gains[at], reliefs[at] = score, slot, gain, relief
    best_slot, best_to, best = -1, -1, -1e300
    for i in range(top):
        slot = slots[i]
        if slot < 0:
            break
        p = slot // width
        to, fill = best_place(st, p, slot == p * width, b, reliefs[i], weight, how)
        if to < 0:
            continue
        paid = part[p, SIZE] if is_home(st, p, b) else 0.0
        score = (gains[i] - fill) / (kappa + paid)
        if score > best:
            best_slot, best_to, best = slot, to, score
    if best_slot < 0:
        return False
    shift(st, best_slot // width, best_slot % width, best_to)
    return True


@within_kernels
def best_place(
    st: State, p: int, leads: bool, b: int, relief: float, weight: Floats, how: Floats
) -> tuple[int, float]:
    """The broker that has most of what the replica brings to spare.

    It may be pushed a little beyond its own target, if that is less than what is relieved.
    """
    broker, holder = st.broker, st.holder
    x0, x1, x2, x3 = follower_or_leader(st, p, leads)
    nu, harm, toll = how[NU], how[HARMFUL], how[TOLL]
    strict = harm >= NO_HARM
    best, least = -1, 1e300
    for to in range(len(holder)):
        # most brokers are full of something: they are passed over before anything is weighed
        if strict and _overfills(broker[to], x0, x1, x2, x3):
            continue
        if not holder[to, RECEIVES]:
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
        if pushed * harm > relief:
            continue
        fill = nu * fill + harm * pushed + priced
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
def _overfills(broker: Floats, x0: float, x1: float, x2: float, x3: float) -> bool:
    """Whether a load would push a broker beyond its target in anything that it brings."""
    return (
        (x0 > 0 and (broker[LOAD] + x0 - broker[TARGET]) * broker[INVERSE] > 0)
        or (x1 > 0 and (broker[LOAD + 1] + x1 - broker[TARGET + 1]) * broker[INVERSE + 1] > 0)
        or (x2 > 0 and (broker[LOAD + 2] + x2 - broker[TARGET + 2]) * broker[INVERSE + 2] > 0)
        or (x3 > 0 and (broker[LOAD + 3] + x3 - broker[TARGET + 3]) * broker[INVERSE + 3] > 0)
    )


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
