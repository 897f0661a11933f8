"""Selects the script of an event, and builds the error responses to its caller."""

from __future__ import annotations

from typing import Any

from kedge.controller import events as e
from kedge.controller.brokers import on_broker_modified, on_brokers_changed
from kedge.controller.configs import on_config_changes_notified
from kedge.controller.context import Context
from kedge.controller.controller_election import (
    on_controller_changed,
    on_role_vacated,
    on_session_ended,
    on_started,
)
from kedge.controller.deletion import on_deletions_requested, on_replicas_deleted
from kedge.controller.effects import AllocateProducerIds, RecordMessage, Script
from kedge.controller.isr import IsrAnswer, on_isr_change_requested, on_isr_changes_notified
from kedge.controller.log_dirs import on_leader_and_isr_answered, on_log_dir_failures_notified
from kedge.controller.partitions import try_online
from kedge.controller.preferred_election import (
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
    """Return the script of an event. Its return value is the response to the caller."""
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
            return immediate(not_controller_response(event))


def script_when_active(context: Context, event: e.Event) -> Script[Any]:
    """Return the script of an event for the active controller."""
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
        case e.IsrChangesNotified():
            return on_isr_changes_notified(context)
        case e.LogDirFailuresNotified():
            return on_log_dir_failures_notified(context)
        case e.ConfigChangesNotified():
            return on_config_changes_notified(context)
        case e.RebalanceDue():
            return on_rebalance_due(context)
        case e.UncleanElectionEnabled(topic):
            return try_online(context, topic)
        case _:
            return script_for_request(context, event)


def script_for_request(context: Context, event: e.Event) -> Script[Any]:
    """Return the script of a broker's response or a client's request."""
    match event:
        case e.LeaderAndIsrAnswered() | e.ReplicasDeleted() if is_stale_epoch(context, event):
            return immediate(None)
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
            return immediate(list_reassignments(context, partitions))
        case e.IsrChangeRequested():
            return on_isr_change_requested(context, event)
        case e.ShutdownRequested():
            return on_shutdown_requested(context, event)
        case e.ProducerIdsRequested():
            return on_producer_ids_requested(context, event)
        case _:
            return immediate(None)


def not_controller_response(event: e.Event) -> Any:
    """Return the response of a process that is not the active controller."""
    if isinstance(event, e.ShutdownRequested):
        # Kafka's ControllerMovedException as a broker sees it
        return error_response(event, ErrorCode.STALE_CONTROLLER_EPOCH)
    return error_response(event, ErrorCode.NOT_CONTROLLER)


def fenced_response(event: e.Event) -> Any:
    """Return the response to an event whose write was fenced by another controller."""
    if isinstance(event, e.IsrChangeRequested):
        # as in Kafka; the leader repeats the request to the new controller
        return failure_response(event)
    return not_controller_response(event)


def failure_response(event: e.Event) -> Any:
    """Return the response to an event whose script raised an unexpected error."""
    return error_response(event, ErrorCode.UNKNOWN_SERVER_ERROR)


def error_response(event: e.Event, code: ErrorCode) -> Any:
    """Return an error in the form of the event's response; None for events without a caller."""
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
    """Return whether a response belongs to an earlier controller epoch or broker registration.

    Other requests have been sent to the broker since. Kafka accepts such a response: a directory
    that failed before a restart then stays offline after it, and a replica that the restarted
    broker has created again counts as deleted.
    """
    known = context.registered.get(event.broker)
    registration = None if known is None else known.epoch
    return event.controller_epoch not in (None, context.epoch) or (
        event.broker_epoch not in (None, registration)
    )


def immediate(answer: Any) -> Script[Any]:
    """A script without effects that returns a response."""
    return answer
    yield


def on_settings_changed(context: Context, settings: Settings) -> Script[None]:
    """Use these settings from the next event on."""
    context.settings = settings
    return
    yield


def on_update_metadata_answered(event: e.UpdateMetadataAnswered) -> Script[None]:
    """Log an error; no action is possible."""
    if event.error is not ErrorCode.NONE:
        yield RecordMessage(f"broker {event.broker} refused UpdateMetadata: {event.error.name}")


def on_producer_ids_requested(
    context: Context, event: e.ProducerIdsRequested
) -> Script[tuple[int, int] | ErrorCode]:
    """Allocate the next block of producer ids (KIP-730)."""
    known = context.registered.get(event.broker)
    if known is None:
        return ErrorCode.BROKER_ID_NOT_REGISTERED
    if known.epoch != event.broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    return (yield AllocateProducerIds(event.broker))
