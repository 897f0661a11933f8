"""Which script an event runs: one `match`."""

from __future__ import annotations

from typing import Any

from kedge.controller import events as e
from kedge.controller.brokers import on_broker_modified, on_brokers_changed
from kedge.controller.configs import on_config_changes_noted
from kedge.controller.context import Context
from kedge.controller.deletion import on_deletions_requested, on_replicas_deleted
from kedge.controller.effects import RecordWords, Script, TakeProducerIds
from kedge.controller.election import (
    on_controller_changed,
    on_role_vacated,
    on_session_ended,
    on_started,
)
from kedge.controller.isr import IsrAnswer, on_isr_change_requested, on_isr_changes_noted
from kedge.controller.log_dirs import on_leader_and_isr_answered, on_log_dir_failures_noted
from kedge.controller.partitions import try_online
from kedge.controller.preferred import (
    on_election_requested,
    on_preferred_election_planned,
    on_rebalance_due,
)
from kedge.controller.reassignment import (
    list_reassignments,
    maybe_complete,
    on_plan_edited,
    on_reassignment_planned,
    on_reassignment_requested,
)
from kedge.controller.settings import Settings
from kedge.controller.shutdown import ShutdownAnswer, on_shutdown_requested
from kedge.controller.topics import on_topic_modified, on_topics_changed
from kedge.model.error_codes import ErrorCode


def script_for(context: Context, event: e.Event) -> Script[Any]:
    """The script that an event runs. Its return value is the answer to whoever asked."""
    match event:
        case e.Started():
            return on_started(context)
        case e.ControllerChanged():
            return on_controller_changed(context)
        case e.RoleVacated():
            return on_role_vacated(context)
        case e.SessionEnded() | e.StopRequested():
            return on_session_ended(context)
        case e.SettingsChanged(settings):
            return on_settings_changed(context, settings)
        case _ if context.active:
            return script_when_active(context, event)
        case _:
            return nothing(refusal(event))


def script_when_active(context: Context, event: e.Event) -> Script[Any]:
    """The scripts of a controller that holds the role."""
    match event:
        case e.BrokersChanged():
            return on_brokers_changed(context)
        case e.BrokerModified(broker):
            return on_broker_modified(context, broker)
        case e.TopicsChanged():
            return on_topics_changed(context)
        case e.TopicModified(topic):
            return on_topic_modified(context, topic)
        case e.DeletionsRequested():
            return on_deletions_requested(context)
        case e.ReassignmentPlanned():
            return on_reassignment_planned(context)
        case e.ReassignmentPlanEdited():
            return on_plan_edited()
        case e.ReassignedIsrChanged(tp):
            return maybe_complete(context, tp)
        case e.PreferredElectionPlanned():
            return on_preferred_election_planned(context)
        case e.IsrChangesNoted():
            return on_isr_changes_noted(context)
        case e.LogDirFailuresNoted():
            return on_log_dir_failures_noted(context)
        case e.ConfigChangesNoted():
            return on_config_changes_noted(context)
        case e.RebalanceDue():
            return on_rebalance_due(context)
        case e.UncleanElectionEnabled(topic):
            return try_online(context, topic)
        case _:
            return script_of_message(context, event)


def script_of_message(context: Context, event: e.Event) -> Script[Any]:
    """The scripts of what brokers and operators say to a controller that holds the role."""
    match event:
        case e.LeaderAndIsrAnswered() | e.ReplicasDeleted() if is_stale_epoch(context, event):
            return nothing(None)
        case e.LeaderAndIsrAnswered():
            return on_leader_and_isr_answered(context, event)
        case e.UpdateMetadataAnswered():
            return on_update_metadata_answered(event)
        case e.ReplicasDeleted():
            return on_replicas_deleted(context, event)
        case e.ElectionRequested():
            return on_election_requested(context, event)
        case e.ReassignmentRequested():
            return on_reassignment_requested(context, event)
        case e.ReassignmentsListed(partitions):
            return nothing(list_reassignments(context, partitions))
        case e.IsrChangeRequested():
            return on_isr_change_requested(context, event)
        case e.ShutdownRequested():
            return on_shutdown_requested(context, event)
        case e.ProducerIdsRequested():
            return on_producer_ids_requested(context, event)
        case _:
            return nothing(None)


def refusal(event: e.Event) -> Any:
    """What a caller is told by a controller that does not hold the role."""
    if isinstance(event, e.ShutdownRequested):
        # what Kafka's "controller moved" looks like to a broker
        return answer_with(event, ErrorCode.STALE_CONTROLLER_EPOCH)
    return answer_with(event, ErrorCode.NOT_CONTROLLER)


def told_when_fenced(event: e.Event) -> Any:
    """What a caller is told whose event came to a write that another controller fenced off."""
    if isinstance(event, e.IsrChangeRequested):
        # so does Kafka; the leader asks again, and by then knows whom
        return told_when_failed(event)
    return refusal(event)


def told_when_failed(event: e.Event) -> Any:
    """What a caller is told whose event came to an end that nobody expected."""
    return answer_with(event, ErrorCode.UNKNOWN_SERVER_ERROR)


def answer_with(event: e.Event, code: ErrorCode) -> Any:
    """One error in the form of the event's answer; None for events that nobody waits for."""
    match event:
        case e.ElectionRequested(partitions):
            return dict.fromkeys(sorted(partitions), code)
        case e.IsrChangeRequested():
            return IsrAnswer(code)
        case e.ShutdownRequested():
            return ShutdownAnswer(code)
        case e.ReassignmentRequested() | e.ReassignmentsListed() | e.ProducerIdsRequested():
            return code
        case _:
            return None


def is_stale_epoch(context: Context, event: e.LeaderAndIsrAnswered | e.ReplicasDeleted) -> bool:
    """Whether an answer belongs to an earlier controller epoch of this process, or to an earlier
    registration of the broker: other requests have been sent to the broker since.

    Kafka counts such an answer. A directory that failed before a restart then stays offline after
    it, and a replica that the restarted broker has created again counts as deleted.
    """
    known = context.registered.get(event.broker)
    registration = None if known is None else known.epoch
    return event.asked_in_epoch not in (None, context.epoch) or (
        event.broker_epoch not in (None, registration)
    )


def nothing(answer: Any) -> Script[Any]:
    """A script that only answers."""
    return answer
    yield


def on_settings_changed(context: Context, settings: Settings) -> Script[None]:
    """Decide by these settings from the next event on."""
    context.settings = settings
    return
    yield


def on_update_metadata_answered(event: e.UpdateMetadataAnswered) -> Script[None]:
    """There is nothing to do about a refusal but to note it."""
    if event.error is not ErrorCode.NONE:
        yield RecordWords(f"broker {event.broker} refused UpdateMetadata: {event.error.name}")


def on_producer_ids_requested(
    context: Context, event: e.ProducerIdsRequested
) -> Script[tuple[int, int] | ErrorCode]:
    """The next block of producer ids (KIP-730)."""
    known = context.registered.get(event.broker)
    if known is None:
        return ErrorCode.BROKER_ID_NOT_REGISTERED
    if known.epoch != event.broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    return (yield TakeProducerIds(event.broker))
