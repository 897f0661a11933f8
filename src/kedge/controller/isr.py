"""ISR changes that leaders make: asked of the controller, or written by themselves.

From IBP 2.7 on a leader asks (AlterPartition, KIP-497): the controller judges and writes. Before
that, the leader writes and leaves a note, and the controller only looks again. Either way the
change is told to everyone, and a move that waited for it is completed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kedge.controller.context import Context
from kedge.controller.effects import (
    DropNotes,
    NoteKind,
    Notes,
    ReadLeaderships,
    ReadNotes,
    Reply,
    Script,
    Stored,
    WriteLeaderships,
    then_always,
)
from kedge.controller.events import IsrChangeRequested, WantedIsr
from kedge.controller.leader_epochs import expel_strangers
from kedge.controller.reassignment import maybe_complete
from kedge.controller.requests import tell_metadata
from kedge.model import Leadership, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode

_FIRST_VERSION_WITH_IDS = 2
_FIRST_VERSION_WITH_INELIGIBLE = 2


@dataclass(slots=True)
class IsrAnswer:
    """The answer to a leader: one error for all, or a leadership or an error for each partition.

    Partitions of topics whose id is unknown are named by that id.
    """

    error: ErrorCode = ErrorCode.NONE
    stored: dict[TopicPartition, Leadership] = field(
        default_factory=dict[TopicPartition, Leadership]
    )
    errors: dict[TopicPartition, ErrorCode] = field(default_factory=dict[TopicPartition, ErrorCode])
    names: dict[str, str] = field(default_factory=dict[str, str])  # of topics, by their ids


def on_isr_change_requested(context: Context, event: IsrChangeRequested) -> Script[IsrAnswer]:
    """Judge what a leader wants, store what may be, tell everyone, answer; then complete moves."""
    registration = context.registered.get(event.broker)
    if registration is None or registration.epoch != event.broker_epoch:
        return IsrAnswer(ErrorCode.STALE_BROKER_EPOCH)
    answer = IsrAnswer()
    wanted = name_partitions(context, event, answer)
    judged = {tp: judge(context, event, tp, wanted[tp], answer) for tp in sorted(wanted)}
    accepted = {tp: leadership for tp, leadership in judged.items() if leadership is not None}
    if accepted:
        outcome: Stored = yield WriteLeaderships(accepted, context.epoch)
        answer.errors |= dict.fromkeys(outcome.stale, ErrorCode.INVALID_UPDATE_VERSION)
        answer.errors |= dict.fromkeys(outcome.failed, ErrorCode.UNKNOWN_SERVER_ERROR)
        answer.stored |= outcome.stored
        for tp, leadership in outcome.stored.items():
            context.lead(tp, leadership)
    yield from tell_metadata(context, context.registered, sorted(wanted))
    yield Reply(answer)
    for tp in sorted(answer.stored):
        yield from expel_strangers(context, tp, answer.stored[tp].isr)
        yield from maybe_complete(context, tp)
    for tp, code in sorted(answer.errors.items()):
        if code is ErrorCode.INELIGIBLE_REPLICA and tp in wanted:
            yield from expel_strangers(context, tp, wanted[tp].isr)
    return answer


def name_partitions(
    context: Context, event: IsrChangeRequested, answer: IsrAnswer
) -> dict[TopicPartition, WantedIsr]:
    """The wishes by partition; new versions name topics by id."""
    by_id = event.version >= _FIRST_VERSION_WITH_IDS
    wanted: dict[TopicPartition, WantedIsr] = {}
    for key, wishes in event.topics.items():
        topic = context.topic_names.get(key) if by_id else key
        if by_id and topic is not None:
            answer.names[key] = topic
        for number, wish in wishes.items():
            if topic is None:
                answer.errors[TopicPartition(key, number)] = ErrorCode.UNKNOWN_TOPIC_ID
            else:
                wanted[TopicPartition(topic, number)] = wish
    return wanted


def judge(
    context: Context,
    event: IsrChangeRequested,
    tp: TopicPartition,
    wish: WantedIsr,
    answer: IsrAnswer,
) -> Leadership | None:
    """The leadership to store; None where there is nothing to store, and why is in the answer."""
    now = context.leaderships.get(tp)
    if now is None:
        answer.errors[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None
    wanted = Leadership(
        event.broker,
        wish.isr,
        wish.leader_epoch,
        wish.partition_epoch,
        now.controller_epoch,
        wish.recovery,
    )
    if is_already(now, wanted):
        answer.stored[tp] = now
        return None
    error = refusal(context, now, wanted, event.version)
    if error is ErrorCode.NONE and takes_strangers_in(context, tp, now, wanted):
        error = ErrorCode.INELIGIBLE_REPLICA
    if error is not ErrorCode.NONE:
        answer.errors[tp] = error
        return None
    return wanted


def takes_strangers_in(
    context: Context, tp: TopicPartition, now: Leadership, wanted: Leadership
) -> bool:
    """Whether an ISR names brokers that hold no replica of the partition; Kafka stores it so.

    Where nobody else is in sync, the strangers that are may take replicas in.
    """
    members = set(context.replicas(tp))
    known = members if members.intersection(now.isr) else members.union(now.isr)
    return context.settings.safer and not known.issuperset(wanted.isr)


def is_already(now: Leadership, wanted: Leadership) -> bool:
    """Whether a wish is what is stored; its partition epoch may be an older one."""
    return wanted.partition_epoch <= now.partition_epoch and (
        wanted.leader,
        wanted.leader_epoch,
        wanted.isr,
        wanted.recovery,
    ) == (now.leader, now.leader_epoch, now.isr, now.recovery)


def refusal(context: Context, now: Leadership, wanted: Leadership, version: int) -> ErrorCode:
    """Why a wish cannot be; NONE if it can."""
    newer = wanted.partition_epoch > now.partition_epoch or wanted.leader_epoch > now.leader_epoch
    if newer:
        # the leader knows more than we do: somebody else is the controller
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < now.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if wanted.partition_epoch < now.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    recovering = wanted.recovery is Recovery.RECOVERING
    if recovering and (len(wanted.isr) > 1 or now.recovery is Recovery.RECOVERED):
        return ErrorCode.INVALID_REQUEST
    if not context.live.issuperset(wanted.isr):
        by_name = version >= _FIRST_VERSION_WITH_INELIGIBLE
        return ErrorCode.INELIGIBLE_REPLICA if by_name else ErrorCode.OPERATION_NOT_ATTEMPTED
    return ErrorCode.NONE


# ---- notes of changes that leaders wrote themselves ------------------------------------------


def on_isr_changes_noted(context: Context) -> Script[None]:
    """Look again at the partitions named; the notes go, even if looking failed."""
    notes: Notes = yield ReadNotes(NoteKind.ISR_CHANGES)
    main = look_again(context, sorted(notes.partitions))
    yield from then_always(main, drop_notes(NoteKind.ISR_CHANGES, notes))


def drop_notes(kind: NoteKind, notes: Notes) -> Script[None]:
    """Remove the notes that were read."""
    if notes.names:
        yield DropNotes(kind, notes.names)


def look_again(context: Context, partitions: list[TopicPartition]) -> Script[None]:
    """Reload leaderships, tell everyone, complete moves."""
    if not partitions:
        return
    yield from reload_leaderships(context, partitions)
    yield from tell_metadata(context, context.registered, partitions)
    for tp in partitions:
        if tp in context.leaderships:
            yield from expel_strangers(context, tp, context.leaderships[tp].isr)
        yield from maybe_complete(context, tp)


def reload_leaderships(context: Context, partitions: Iterable[TopicPartition]) -> Script[None]:
    """The context learns what is stored."""
    known = [tp for tp in partitions if tp in context.assignments]
    stored: dict[TopicPartition, Leadership] = yield ReadLeaderships(known)
    for tp, leadership in stored.items():
        context.lead(tp, leadership)
