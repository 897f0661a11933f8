"""Elections of the controller: what is left of one that fails."""

from __future__ import annotations

import contextlib

import pytest

from kedge.controller.context import Context
from kedge.controller.controller_election import elect
from kedge.controller.effects import (
    ClaimRole,
    LeaveRole,
    ReadController,
    RecordMessage,
    ReleaseRole,
)
from kedge.errors import StateChangeFailed
from kedge.model import BrokerId

ME, OTHER = BrokerId(1), BrokerId(2)


@pytest.mark.parametrize("holder", [ME, OTHER, None])
def test_a_failover_that_fails_leaves_nothing_in_the_context(holder: BrokerId | None) -> None:
    context = Context(ME)
    script = elect(context)
    assert next(script) == ReadController()
    assert isinstance(script.send(None), ClaimRole)
    assert isinstance(script.send(7), RecordMessage)
    script.send(None)  # the failover has begun
    assert context.active
    context.topics.add("t")
    assert isinstance(script.throw(StateChangeFailed("a record cannot be read")), RecordMessage)
    assert script.send(None) == ReadController()
    rest = [script.send(holder)]
    with contextlib.suppress(StopIteration):
        while True:
            rest.append(script.send(None))
    assert (ReleaseRole() in rest, LeaveRole() in rest) == (holder == ME, True)
    assert (context.topics, context.epoch, context.active) == (set(), 0, False)
    assert context.active_controller == (OTHER if holder == OTHER else None)
