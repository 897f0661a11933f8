"""Reasons: why each partition changes, in a sentence.

    broker 12 holds 18 % more than its share of bytes out; moving leadership of orders-3 to 9
    costs no data

A broker's share of a resource is the mean utilisation times its capacity. The sentence names the
strongest cause: mandatory moves first (brokers that leave, replicas that are missing, racks that
are crowded), then what evens out. A change of leadership alone is explained by a load that it
changes: bytes out, cpu or the number of leaders, never by disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kedge.balance.goals.problem import Floats
from kedge.balance.output.figures import NAMES
from kedge.model.broker import Broker, BrokerState
from kedge.model.snapshot import Snapshot

WORDS = {
    "disk": "disk",
    "in": "bytes in",
    "out": "bytes out",
    "cpu": "cpu",
    "leaders": "leaders",
    "replicas": "replicas",
}
OF_LEADERS = ("out", "cpu", "leaders")  # the loads that moving leadership changes
LEAST = 0.005  # of a share: less is not worth a word


@dataclass(frozen=True, slots=True)
class BrokerCauses:
    """Why replicas leave or reach a broker, and why leadership does."""

    id: int
    gives: str
    takes: str
    gives_leadership: str
    takes_leadership: str


def broker_causes(
    snapshot: Snapshot, loads: Floats, capacity: Floats, counted: Sequence[str]
) -> list[BrokerCauses]:
    """The causes of each broker, from its loads before the plan."""
    stays = np.array([broker.state.stays for broker in snapshot.brokers], np.bool_)
    columns = [place for place, name in enumerate(NAMES) if name in counted]
    mean = loads[:, columns].sum(axis=0) / np.maximum(
        capacity[stays][:, columns].sum(axis=0), 1e-300
    )
    share = np.maximum(mean * capacity[:, columns], 1e-300)
    off = np.where(mean > 0, loads[:, columns] / share - 1, 0.0)
    names = [NAMES[place] for place in columns]
    rows: list[list[float]] = off.tolist()
    return [_causes(broker, row, names) for broker, row in zip(snapshot.brokers, rows, strict=True)]


def _causes(broker: Broker, off: list[float], names: list[str]) -> BrokerCauses:
    led = [(share, name) for share, name in zip(off, names, strict=True) if name in OF_LEADERS]
    leading = _words(broker, [share for share, _ in led], [name for _, name in led])
    return BrokerCauses(broker.id, *_words(broker, off, names), *leading)


def _words(broker: Broker, off: list[float], names: list[str]) -> tuple[str, str]:
    """Why a broker gives and why it takes, by the load that is furthest off its share."""
    gives = takes = ""
    if broker.state in (BrokerState.DRAINING, BrokerState.DEAD):
        gives = f"broker {broker.id} is {broker.state} and must end empty"
    elif off and max(off) > LEAST:
        name = names[off.index(max(off))]
        gives = (
            f"broker {broker.id} holds {100 * max(off):.0f} % more than its share of {WORDS[name]}"
        )
    if broker.state is BrokerState.NEW:
        takes = f"broker {broker.id} is new"
    elif off and min(off) < -LEAST:
        name = names[off.index(min(off))]
        takes = (
            f"broker {broker.id} holds {-100 * min(off):.0f} % less than its share of {WORDS[name]}"
        )
    return gives, takes


def reason(
    name: str,
    before: Sequence[int],
    after: Sequence[int],
    causes: Sequence[BrokerCauses],
    wanted: int,
    *,
    crowded: bool,
) -> str:
    """Why one partition goes from these brokers (indexes) to those."""
    gone = [b for b in before if b not in after]
    come = [b for b in after if b not in before]
    parts: list[str] = []
    if wanted > len(before):
        parts.append(f"{name} has {len(before)} of {wanted} replicas")
    elif wanted < len(before):
        parts.append(f"{name} has {len(before)} replicas, {wanted} are wanted")
    elif crowded:
        parts.append(f"replicas of {name} shared a rack")
    if not come and not gone:
        return _leadership(name, before, after, causes)
    parts += [causes[b].gives for b in gone if causes[b].gives][:1]
    parts += [causes[b].takes for b in come if causes[b].takes][:1]
    if not parts:
        parts.append(f"makes room on broker {causes[gone[0]].id}" if gone else "evens out")
    if after[:1] != before[:1] and after[0] in before and causes[before[0]].gives_leadership:
        parts.append(f"leadership goes to {causes[after[0]].id} at no cost")
    return "; ".join(dict.fromkeys(parts))


def _leadership(
    name: str, before: Sequence[int], after: Sequence[int], causes: Sequence[BrokerCauses]
) -> str:
    old, new = causes[before[0]], causes[after[0]]
    if before[0] == after[0]:
        return f"evens out the log directories of {name}'s brokers"
    why = old.gives_leadership or new.takes_leadership or f"evens out leaders of broker {old.id}"
    return f"{why}; moving leadership of {name} to {new.id} costs no data"
