"""Winning, keeping and losing the role of the controller.

Exactly one process holds the role: whoever created the claim in the store. Claiming it raises the
controller epoch in the same step, and every write of a controller is made on condition that the
epoch is still its own. So a controller that was declared dead but is not can write nothing.

A failed condition is not yet the loss of the role: the controller looks who holds it, and resigns
only if that is somebody else.

A controller that is no broker may be told to take over (`Settings.take_over`): Kafka's brokers are
always candidates, and whenever one of them has won the role, it is taken from it in one step.
"""

from __future__ import annotations

from kedge.controller.context import Context, Registration
from kedge.controller.effects import (
    ClaimRole,
    LeaveRole,
    ReadBrokers,
    ReadController,
    RecordMessage,
    ReleaseRole,
    Script,
)
from kedge.controller.failover import take_over
from kedge.errors import ControllerMoved, KedgeError
from kedge.model import BrokerId


def on_started(context: Context) -> Script[None]:
    """Run for the role."""
    yield from elect(context)


def on_controller_changed(context: Context) -> Script[None]:
    """Look who holds the role; resign if we thought that we did; run for it if nobody does.

    A claim that was created and deleted again before anybody looked is told as created only. If
    all candidates left it at that, as Kafka's do, nobody would ever run.
    """
    was_active = context.active
    holder: BrokerId | None = yield ReadController()
    # a claim of our own that we do not remember does not make us the controller: `elect` gives it
    # up and wins the role anew
    context.active_controller = None if holder == context.me and not was_active else holder
    if was_active and not context.active:
        yield from resign(context)
    if context.active_controller is None or context.settings.take_over:
        yield from elect(context)


def on_role_vacated(context: Context) -> Script[None]:
    """The holder is gone: run for the role."""
    yield from on_controller_changed(context)
    yield from elect(context)


def on_session_ended(context: Context) -> Script[None]:
    """The store has dropped our claim with our session."""
    context.active_controller = None
    yield from resign(context)


def elect(context: Context) -> Script[None]:
    """Claim the role if nobody holds it; if we win, take over."""
    if context.active:
        return
    holder: BrokerId | None = yield ReadController()
    if holder == context.me:
        # a claim of our own that we do not remember: an earlier life's, or one whose take-over
        # failed half-way. What we know is not what it knew, so it has to be won anew.
        yield ReleaseRole()
        holder = yield ReadController()
    context.active_controller = holder
    if holder is not None and not (yield from may_depose(context, holder)):
        return
    try:
        context.epoch = yield ClaimRole(holder)
        context.active_controller = context.me
        yield RecordMessage(f"controller {context.me} elected with epoch {context.epoch}")
        yield from take_over(context)
    except ControllerMoved:
        yield from on_controller_changed(context)
    except Exception as failure:
        # whatever it was: half a take-over is none, and must not go on as if it were one
        if isinstance(failure, KedgeError) and failure.retriable:
            raise
        yield RecordMessage(f"becoming the controller failed: {failure}")
        yield from release_and_resign(context)


def may_depose(context: Context, holder: BrokerId) -> Script[bool]:
    """Whether we are to take the role from its holder: from a broker, if we were told to; never
    from another controller of our own kind, which is registered as no broker."""
    if not context.settings.take_over:
        return False
    brokers: dict[BrokerId, Registration] = yield ReadBrokers()
    return holder in brokers


def resign(context: Context) -> Script[None]:
    """Forget everything; nothing is written."""
    yield RecordMessage(f"controller {context.me} resigns")
    holder = context.active_controller
    context.reset()
    context.active_controller = holder
    yield LeaveRole()


def release_and_resign(context: Context) -> Script[None]:
    """Give the role up on purpose, so that somebody is elected afresh."""
    context.active_controller = yield ReadController()
    if context.active:
        context.active_controller = None
        yield ReleaseRole()
        yield from resign(context)
