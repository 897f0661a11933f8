"""Wins, keeps and loses the role of the active controller.

One process is active: the one that created the claim in the store. The same transaction raises the
controller epoch, and every write of a controller is conditional on its own epoch. So a controller
whose session has expired can write nothing.

A failed condition is not yet the loss of the role: the controller reads the claim, and resigns only
if another process has it.

A controller that is not a broker may be configured to take over (`Settings.take_over`): Kafka's
brokers are always candidates, and when one of them has won the role, this controller takes it in
one transaction.
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
    """Read the claim; resign if the role is lost; run for it if it is vacant.

    A claim that was created and deleted between two reads fires only a "created" watch. If all
    candidates only read the claim then, as Kafka's do, no candidate would ever run.
    """
    was_active = context.active
    holder: BrokerId | None = yield ReadController()
    # a claim of an earlier run does not make this process active: `elect` releases it and claims
    # the role again
    context.active_controller = None if holder == context.me and not was_active else holder
    if was_active and not context.active:
        yield from resign(context)
    if context.active_controller is None or context.settings.take_over:
        yield from elect(context)


def on_role_vacated(context: Context) -> Script[None]:
    """Run for the role after the claim was deleted."""
    yield from on_controller_changed(context)
    yield from elect(context)


def on_session_ended(context: Context) -> Script[None]:
    """Resign after the store has deleted the claim with the session."""
    context.active_controller = None
    yield from resign(context)


def elect(context: Context) -> Script[None]:
    """Claim the role if it is vacant; if the claim succeeds, take over."""
    if context.active:
        return
    holder: BrokerId | None = yield ReadController()
    if holder == context.me:
        # a claim of an earlier run, or of a failover that failed: the context does not match it,
        # so the role has to be claimed again
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
        # a failover that failed half-way must not continue
        if isinstance(failure, KedgeError) and failure.retriable:
            raise
        yield RecordMessage(f"becoming the controller failed: {failure}")
        yield from release_and_resign(context)


def may_depose(context: Context, holder: BrokerId) -> Script[bool]:
    """Return whether to take the role from its holder.

    Only from a broker, and only if so configured; never from another Kedge controller, which is not
    registered as a broker.
    """
    if not context.settings.take_over:
        return False
    brokers: dict[BrokerId, Registration] = yield ReadBrokers()
    return holder in brokers


def resign(context: Context) -> Script[None]:
    """Reset the context; write nothing."""
    yield RecordMessage(f"controller {context.me} resigns")
    holder = context.active_controller
    context.reset()
    context.active_controller = holder
    yield LeaveRole()


def release_and_resign(context: Context) -> Script[None]:
    """Resign, and release the role if it is still held, so that another election takes place.

    The context is reset whichever controller holds the role: what a failover has read before it
    failed must not be there when this process takes over again.
    """
    holder: BrokerId | None = yield ReadController()
    if holder == context.me:
        yield ReleaseRole()
        holder = None
    context.active_controller = holder
    yield from resign(context)
