"""decide: one request and the situation in, records and an answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kedge.metadata.acls import CreateAcls, DeleteAcls, create_acls, delete_acls
from kedge.metadata.activation import Activate, WriteNoOp, activate, write_no_op
from kedge.metadata.brokers import (
    RegisterBroker,
    RegisterController,
    UnregisterBroker,
    register_broker,
    register_controller,
    unregister_broker,
)
from kedge.metadata.configs import AlterConfigs, ReplaceConfigs, alter_configs, replace_configs
from kedge.metadata.decision import Decision, Situation
from kedge.metadata.directories import AssignDirectories, assign_directories
from kedge.metadata.elections import (
    ElectLeaders,
    ElectPreferred,
    ElectUnclean,
    elect_leaders,
    elect_preferred,
    elect_unclean,
)
from kedge.metadata.features import UpdateFeatures, update_features
from kedge.metadata.heartbeats import (
    FenceStaleBroker,
    Heartbeat,
    fence_stale_broker,
    heartbeat,
)
from kedge.metadata.isr_changes import AlterPartition, alter_partition
from kedge.metadata.more_partitions import CreatePartitions, create_partitions
from kedge.metadata.producer_ids import AllocateProducerIds, allocate_producer_ids
from kedge.metadata.quotas import AlterQuotas, alter_quotas
from kedge.metadata.reassignments import (
    AlterReassignments,
    ListReassignments,
    alter_reassignments,
    list_reassignments,
)
from kedge.metadata.refusal import Refused
from kedge.metadata.scram import AlterScram, alter_scram
from kedge.metadata.soft import SoftState, followed
from kedge.metadata.topics import CreateTopics, DeleteTopics, create_topics, delete_topics

HANDLERS: Mapping[type, Callable[[Situation, Any], Decision[Any]]] = {
    Activate: activate,
    AllocateProducerIds: allocate_producer_ids,
    AlterConfigs: alter_configs,
    AlterPartition: alter_partition,
    AlterQuotas: alter_quotas,
    AlterReassignments: alter_reassignments,
    AlterScram: alter_scram,
    AssignDirectories: assign_directories,
    CreateAcls: create_acls,
    CreatePartitions: create_partitions,
    CreateTopics: create_topics,
    DeleteAcls: delete_acls,
    DeleteTopics: delete_topics,
    ElectLeaders: elect_leaders,
    ElectPreferred: elect_preferred,
    ElectUnclean: elect_unclean,
    FenceStaleBroker: fence_stale_broker,
    Heartbeat: heartbeat,
    ListReassignments: list_reassignments,
    RegisterBroker: register_broker,
    RegisterController: register_controller,
    ReplaceConfigs: replace_configs,
    UnregisterBroker: unregister_broker,
    UpdateFeatures: update_features,
    WriteNoOp: write_no_op,
}


def decide(at: Situation, request: Any) -> Decision[Any]:
    """What a request writes and is answered; a refused one is answered with an ApiError.

    The soft state in the result is the one after the records have been replayed.
    """
    if isinstance(request, Heartbeat):
        soft = at.soft.contacted(request.broker, request.broker_epoch, at.now_ms)
        at = replace(at, soft=soft)
    try:
        made = HANDLERS[type(request)](at, request)
    except Refused as refused:
        return Decision(refused.error, (), at.soft)
    return replace(made, soft=_soft_after(at, made))


def _soft_after(at: Situation, made: Decision[Any]) -> SoftState:
    soft = at.soft if made.soft is None else made.soft
    soft = followed(soft, at.image, (versioned.record for versioned in made.records))
    if made.shuts_down is None:
        return soft
    state = soft.brokers[made.shuts_down]
    if state.shutting_down:
        return soft
    end = at.next_offset + len(made.records) - 1
    return soft.with_broker(made.shuts_down, replace(state, shutdown_offset=end))
