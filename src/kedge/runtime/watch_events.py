"""Maps fired watches of the store to events of the controller."""

from __future__ import annotations

from kedge.controller import events as e
from kedge.model import BrokerId, TopicPartition
from kedge.store.port import Change, WatchFired
from kedge.store.znodes import (
    BROKER_IDS,
    CONFIG_CHANGES,
    CONTROLLER,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
)

_BY_PATH_AND_CHANGE: dict[tuple[str, Change], e.Event] = {
    (CONTROLLER, Change.CREATED): e.ControllerChanged(),
    (CONTROLLER, Change.DATA): e.ControllerChanged(),
    (CONTROLLER, Change.DELETED): e.RoleVacated(),
    (BROKER_IDS, Change.CHILDREN): e.BrokersChanged(),
    (TOPICS, Change.CHILDREN): e.TopicsChanged(),
    (DELETE_TOPICS, Change.CHILDREN): e.DeletionsRequested(),
    (REASSIGN_PARTITIONS, Change.CREATED): e.ReassignmentPlanned(),
    (REASSIGN_PARTITIONS, Change.DATA): e.ReassignmentPlanEdited(),
    (REASSIGN_PARTITIONS, Change.DELETED): e.ReassignmentPlanEdited(),
    (PREFERRED_ELECTION, Change.CREATED): e.PreferredElectionPlanned(),
    (PREFERRED_ELECTION, Change.DATA): e.PreferredElectionPlanned(),
    (PREFERRED_ELECTION, Change.DELETED): e.PreferredElectionPlanned(),
    (ISR_CHANGES, Change.CHILDREN): e.IsrChangesNotified(),
    (LOG_DIR_EVENTS, Change.CHILDREN): e.LogDirFailuresNotified(),
    (CONFIG_CHANGES, Change.CHILDREN): e.ConfigChangesNotified(),
}


def event_of_watch(watch: WatchFired) -> e.Event | None:
    """Return the event of a fired watch; None if the controller ignores it."""
    known = _BY_PATH_AND_CHANGE.get((watch.path, watch.change))
    if known is not None or watch.change is not Change.DATA:
        return known
    match watch.path.split("/")[1:]:
        case ["brokers", "ids", name] if name.isdigit():
            return e.BrokerModified(BrokerId(int(name)))
        case ["brokers", "topics", topic]:
            return e.TopicModified(topic)
        case ["brokers", "topics", topic, "partitions", number, "state"] if number.isdigit():
            return e.ReassignedIsrChanged(TopicPartition(topic, int(number)))
        case _:
            return None


# Events that only mean "read again". A queued one will see all later changes too, so a second one
# is not queued; that bounds the queue under any load of the store.
DEDUPLICATED_EVENTS = (
    e.ControllerChanged,
    e.BrokersChanged,
    e.BrokerModified,
    e.TopicsChanged,
    e.TopicModified,
    e.DeletionsRequested,
    e.ReassignmentPlanEdited,
    e.ReassignedIsrChanged,
    e.IsrChangesNotified,
    e.LogDirFailuresNotified,
    e.ConfigChangesNotified,
    e.RebalanceDue,
)
