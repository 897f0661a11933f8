"""The effects that scripts yield: plain values that the runtime executes.

Every effect is for a whole batch, so that ten thousand partitions cost one pipelined round trip.
The result of an effect is the value of its `yield`. A write that lost against another client's is a
result, and the script decides.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from kedge.controller.effects.loop import (
    CloseLinks,
    Enqueue,
    OpenLinks,
    RecordMessage,
    RecordPartitions,
    RecordReplicas,
    Reply,
    ScheduleRebalance,
    Send,
)
from kedge.controller.effects.store import (
    AllocateProducerIds,
    AssignTopicIds,
    ClaimRole,
    ConfigChanges,
    CreateLeaderships,
    DeleteNotifications,
    DeletePreferredElection,
    DeleteTopic,
    InitialiseFeatures,
    LeaveRole,
    NotificationKind,
    Notifications,
    ReadBroker,
    ReadBrokers,
    ReadConfigChanges,
    ReadController,
    ReadDeletionRequests,
    ReadInitialisedPartitions,
    ReadLeaderships,
    ReadNotifications,
    ReadPreferredElection,
    ReadReassignmentPlan,
    ReadTopicRecords,
    ReadTopics,
    ReadUncleanAllowed,
    ReadUncleanDefault,
    ReleaseRole,
    RemoveDeletionRequests,
    StoreAssignment,
    StoreReassignmentPlan,
    TopicRecord,
    WriteLeaderships,
    WriteOutcome,
)

Effect = (
    ReadController
    | ClaimRole
    | ReleaseRole
    | LeaveRole
    | InitialiseFeatures
    | ReadBrokers
    | ReadBroker
    | ReadTopics
    | ReadTopicRecords
    | AssignTopicIds
    | StoreAssignment
    | ReadInitialisedPartitions
    | ReadUncleanAllowed
    | ReadUncleanDefault
    | ReadLeaderships
    | WriteLeaderships
    | CreateLeaderships
    | ReadDeletionRequests
    | RemoveDeletionRequests
    | DeleteTopic
    | ReadReassignmentPlan
    | StoreReassignmentPlan
    | ReadPreferredElection
    | DeletePreferredElection
    | ReadNotifications
    | DeleteNotifications
    | ReadConfigChanges
    | AllocateProducerIds
    | OpenLinks
    | CloseLinks
    | Send
    | Enqueue
    | ScheduleRebalance
    | Reply
    | RecordPartitions
    | RecordReplicas
    | RecordMessage
)

T = TypeVar("T")
Script = Generator[Effect, Any, T]


def then_always(main: Script[None], last: Script[None]) -> Script[None]:
    """Run one script and then another, whether or not the first one raises.

    Not `finally`: a script that is dropped in the middle, as by a crash, must yield no more
    effects.
    """
    try:
        yield from main
    except Exception:
        yield from last
        raise
    yield from last


__all__ = [
    "AllocateProducerIds",
    "AssignTopicIds",
    "ClaimRole",
    "CloseLinks",
    "ConfigChanges",
    "CreateLeaderships",
    "DeleteNotifications",
    "DeletePreferredElection",
    "DeleteTopic",
    "Effect",
    "Enqueue",
    "InitialiseFeatures",
    "LeaveRole",
    "NotificationKind",
    "Notifications",
    "OpenLinks",
    "ReadBroker",
    "ReadBrokers",
    "ReadConfigChanges",
    "ReadController",
    "ReadDeletionRequests",
    "ReadInitialisedPartitions",
    "ReadLeaderships",
    "ReadNotifications",
    "ReadPreferredElection",
    "ReadReassignmentPlan",
    "ReadTopicRecords",
    "ReadTopics",
    "ReadUncleanAllowed",
    "ReadUncleanDefault",
    "RecordMessage",
    "RecordPartitions",
    "RecordReplicas",
    "ReleaseRole",
    "RemoveDeletionRequests",
    "Reply",
    "ScheduleRebalance",
    "Script",
    "Send",
    "StoreAssignment",
    "StoreReassignmentPlan",
    "TopicRecord",
    "WriteLeaderships",
    "WriteOutcome",
    "then_always",
]
