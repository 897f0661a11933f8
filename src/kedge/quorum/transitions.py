"""Which state may follow which: one table, for the code, the tests and the documentation.

`step` refuses every change of state that has no row here. A durable change is written to
`quorum-state` before the node sends or answers anything in its new state. Prospective and Resigned
are memory only: after a restart the node is what the file says.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kedge.quorum.roles import RoleName

U, P, C, L, F, R = (
    RoleName.UNATTACHED,
    RoleName.PROSPECTIVE,
    RoleName.CANDIDATE,
    RoleName.LEADER,
    RoleName.FOLLOWER,
    RoleName.RESIGNED,
)


class Epoch(StrEnum):
    """What a change of state does to the epoch."""

    SAME = "same"
    NEXT = "+1"
    HIGHER = "higher"
    STORED = "stored"


class Transition(NamedTuple):
    """A change of state; `source` is None for the start of the process."""

    source: RoleName | None
    target: RoleName
    when: str
    epoch: Epoch
    durable: bool = True


TRANSITIONS: tuple[Transition, ...] = (
    Transition(None, U, "no leader stored, or the log has a later epoch", Epoch.STORED),
    Transition(None, F, "the stored leader is a voter", Epoch.STORED),
    Transition(None, C, "the file has a vote for itself", Epoch.STORED),
    Transition(None, R, "the file has itself as leader", Epoch.STORED),
    Transition(U, P, "election timeout", Epoch.SAME, durable=False),
    Transition(U, F, "leader learnt", Epoch.SAME),
    Transition(U, U, "vote granted", Epoch.SAME),
    Transition(U, U, "higher epoch without leader", Epoch.HIGHER),
    Transition(U, F, "higher epoch with leader", Epoch.HIGHER),
    Transition(F, P, "fetch timeout", Epoch.SAME, durable=False),
    Transition(F, F, "more endpoints of the leader", Epoch.SAME),
    Transition(F, U, "higher epoch without leader", Epoch.HIGHER),
    Transition(F, F, "higher epoch with leader", Epoch.HIGHER),
    Transition(P, C, "pre-vote won, or a voter without pre-vote", Epoch.NEXT),
    Transition(P, U, "pre-vote lost or timed out, no leader known", Epoch.SAME),
    Transition(P, F, "pre-vote lost or timed out, leader known, or leader learnt", Epoch.SAME),
    Transition(P, P, "vote granted", Epoch.SAME),
    Transition(P, U, "higher epoch without leader", Epoch.HIGHER),
    Transition(P, F, "higher epoch with leader", Epoch.HIGHER),
    Transition(C, L, "vote won", Epoch.SAME),
    Transition(C, P, "election timeout", Epoch.SAME, durable=False),
    Transition(C, F, "leader learnt", Epoch.SAME),
    Transition(C, U, "higher epoch without leader", Epoch.HIGHER),
    Transition(C, F, "higher epoch with leader", Epoch.HIGHER),
    Transition(L, R, "no majority fetches, resignation or shutdown", Epoch.SAME, durable=False),
    Transition(L, U, "higher epoch without leader", Epoch.HIGHER),
    Transition(L, F, "higher epoch with leader", Epoch.HIGHER),
    Transition(R, U, "election timeout", Epoch.NEXT),
    Transition(R, P, "start-up of the only voter", Epoch.SAME, durable=False),
    Transition(R, U, "higher epoch without leader", Epoch.HIGHER),
    Transition(R, F, "higher epoch with leader", Epoch.HIGHER),
)


def _allowed() -> dict[tuple[RoleName | None, RoleName, bool], bool]:
    """Source, target and whether the epoch rises → whether the change is durable."""
    return {
        (row.source, row.target, row.epoch in (Epoch.NEXT, Epoch.HIGHER)): row.durable
        for row in TRANSITIONS
    }


ALLOWED = _allowed()


def diagram_lines() -> list[str]:
    """The table as a Mermaid state diagram: one arrow per pair of states."""
    labels: dict[tuple[str, str], list[str]] = {}
    for row in TRANSITIONS:
        source = "[*]" if row.source is None else row.source.capitalize()
        epoch = {Epoch.NEXT: " (epoch + 1)", Epoch.HIGHER: ""}.get(row.epoch, "")
        labels.setdefault((source, row.target.capitalize()), []).append(row.when + epoch)
    arrows = [f"    {a} --> {b}: {' / '.join(whens)}" for (a, b), whens in labels.items()]
    return ["stateDiagram-v2", *arrows]


def table_lines() -> list[str]:
    """The table as Markdown."""
    return [
        "| from | to | when | epoch | durable |",
        "|---|---|---|---|---|",
        *(
            f"| {row.source or 'start'} | {row.target} | {row.when} | {row.epoch} "
            f"| {'yes' if row.durable else 'no'} |"
            for row in TRANSITIONS
        ),
    ]
