"""The controller of a cluster: a timeline of what it did, its state machines, moves by phase."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from kedge import wiring
from kedge.watch.cluster_changes import PHASES, ChangeKind, Move, MovePhase, moves_of
from kedge.watch.proposals import MAY_FOLLOW
from kedge.web.api.clusters import view_of
from kedge.web.api.requests import ClusterName, Reader, ServicesOf, answer

router = APIRouter(prefix="/api/v1/clusters/{cluster}/controller", tags=["controller"])


class StateMachine(BaseModel):
    """A table of states: which states may follow each."""

    name: str
    states: list[str]
    may_follow: dict[str, list[str]]


class PhaseShown(BaseModel):
    """A phase of a reassignment, and what is seen in it."""

    name: MovePhase
    text: str


class ControllerShown(BaseModel):
    """The controller now, the tables that it goes by, and the phases of a reassignment."""

    controller: int | None
    machines: list[StateMachine]
    phases: list[PhaseShown]
    moving: int


class ChangeShown(BaseModel):
    """One line of the timeline; `count` partitions or topics are concerned."""

    number: int
    at: float
    kind: ChangeKind
    text: str
    count: int
    brokers: list[int]


class TimelineShown(BaseModel):
    """Changes, newest first."""

    changes: list[ChangeShown]


class MoveShown(BaseModel):
    """The reassignment of one partition, with its phase and the replicas that still copy."""

    topic: str
    partition: int
    leader: int
    replicas: list[int]
    adding: list[int]
    removing: list[int]
    isr: list[int]
    missing: list[int]
    phase: MovePhase


class MovesShown(BaseModel):
    """How many reassignments are under way, by phase, and a page of them."""

    total: int
    by_phase: dict[MovePhase, int]
    moves: list[MoveShown]


@router.get("", response_model=ControllerShown)
def show_controller(cluster: ClusterName, _: Reader, services: ServicesOf) -> Response:
    """Which node is the controller, and the tables of states that it goes by."""
    view = view_of(services, cluster)
    tables = wiring.controller_state_tables()
    tables["proposal"] = {
        state.value: sorted(each.value for each in after) for state, after in MAY_FOLLOW.items()
    }
    machines = [
        {"name": name, "states": list(table), "may_follow": table} for name, table in tables.items()
    ]
    return answer(
        {
            "controller": view.controller,
            "machines": machines,
            "phases": [{"name": phase.value, "text": text} for phase, text in PHASES.items()],
            "moving": int(view.moving.sum()),
        }
    )


@router.get("/events", response_model=TimelineShown)
def list_changes_of_cluster(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only those with higher numbers")] = 0,
    limit: Annotated[int, Query(ge=1, le=2000)] = 200,
) -> Response:
    """What the controller did since this server started: brokers, leaders, ISRs, moves by phase."""
    return answer({"changes": services.timelines[cluster].after(after, limit)})


@router.get("/reassignments", response_model=MovesShown)
def list_reassignments(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The reassignments under way, each with its phase, a page of them at a time."""
    moves = list(moves_of(view_of(services, cluster).snapshot).values())
    by_phase = {phase.value: sum(move.phase is phase for move in moves) for phase in MovePhase}
    rows = [_move_row(move) for move in moves[offset : offset + limit]]
    return answer({"total": len(moves), "by_phase": by_phase, "moves": rows})


def _move_row(move: Move) -> dict[str, object]:
    return {
        "topic": move.tp.topic,
        "partition": move.tp.partition,
        "leader": move.leader,
        "replicas": list(move.replicas),
        "adding": list(move.adding),
        "removing": list(move.removing),
        "isr": list(move.isr),
        "missing": list(move.missing),
        "phase": move.phase.value,
    }
