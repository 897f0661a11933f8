"""Clients' requests about configs, quotas, credentials, features and the cluster itself."""

from __future__ import annotations

from typing import Any

from kedge.kraft_rpc.raft_requests import TOPIC
from kedge.kraft_rpc.scripts import Handlers, Script, Served, code_of, message_of, wire_id
from kedge.metadata.configs import AlterConfigs, ReplaceConfigs
from kedge.metadata.features import FeatureUpdate, UpdateFeatures, UpgradeType
from kedge.metadata.quotas import AlterQuotas, QuotaAlteration
from kedge.metadata.refusal import ApiError
from kedge.metadata.scram import AlterScram, ScramDeletion, ScramUpsertion
from kedge.metadata.topic_settings import ResourceKind
from kedge.model.error_codes import ErrorCode
from kedge.protocol import messages as m
from kedge.quorum.messages import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaProgress
from kedge.topics import Alteration, Op

_CONTROLLERS = 2  # the endpoint type of controllers
_NO_ACLS = "No Authorizer is configured."


# ---- configs -------------------------------------------------------------------------------------


def incremental_alter_configs(served: Served, request: Any, version: int) -> Script:
    """IncrementalAlterConfigs: steps on single configs."""
    resources = tuple(
        (
            (resource.resource_type, resource.resource_name),
            tuple(
                Alteration(config.name, Op(config.config_operation), config.value)
                for config in resource.configs
            ),
        )
        for resource in request.resources
    )
    answer = yield AlterConfigs(resources, request.validate_only)
    row = m.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    rows = [_resource(row, resource, answer) for resource, _ in resources]
    return m.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows)


def alter_configs(served: Served, request: Any, version: int) -> Script:
    """AlterConfigs, the old form: what is not named is removed."""
    resources = tuple(
        (
            (resource.resource_type, resource.resource_name),
            {config.name: config.value for config in resource.configs},
        )
        for resource in request.resources
    )
    answer = yield ReplaceConfigs(resources, request.validate_only)
    row = m.AlterConfigsResponse.AlterConfigsResourceResponse
    rows = [_resource(row, resource, answer) for resource, _ in resources]
    return m.AlterConfigsResponse(throttle_time_ms=0, responses=rows)


def _resource(row: Any, resource: tuple[int, str], answer: Any) -> Any:
    error = answer if isinstance(answer, ApiError) else answer[resource]
    return row(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource[0],
        resource_name=resource[1],
    )


def describe_configs(served: Served, request: Any, version: int) -> Any:
    """DescribeConfigs of this very node: what its properties and the log say."""
    result = m.DescribeConfigsResponse.DescribeConfigsResult
    rows: list[Any] = []
    for asked in request.resources:
        kind, name = asked.resource_type, asked.resource_name
        known = kind == ResourceKind.BROKER and name in ("", str(served.settings.node_id))
        error = None if known else f"Unexpected broker id, expected {served.settings.node_id}"
        rows.append(
            result(
                error_code=ErrorCode.NONE if known else ErrorCode.INVALID_REQUEST,
                error_message=error,
                resource_type=kind,
                resource_name=name,
                configs=_own_configs(served, name) if known else [],
            )
        )
    return m.DescribeConfigsResponse(throttle_time_ms=0, results=rows)


def _own_configs(served: Served, name: str) -> list[Any]:
    entry = m.DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
    dynamic = served.stable.config((ResourceKind.BROKER, name))
    return [
        entry(
            name=key,
            value=value,
            read_only=False,
            config_source=2 if name else 3,
            is_sensitive=False,
            synonyms=[],
            config_type=0,
            documentation=None,
        )
        for key, value in sorted(dynamic.items())
    ]


# ---- quotas and credentials ----------------------------------------------------------------------


def alter_client_quotas(served: Served, request: Any, version: int) -> Script:
    """AlterClientQuotas."""
    entries = tuple(
        QuotaAlteration(
            tuple(sorted((part.entity_type, part.entity_name) for part in entry.entity)),
            tuple((op.key, None if op.remove else op.value) for op in entry.ops),
        )
        for entry in request.entries
    )
    answer = yield AlterQuotas(entries, request.validate_only)
    row = m.AlterClientQuotasResponse.EntryData
    rows = [
        row(
            error_code=code_of(answer if isinstance(answer, ApiError) else answer[entry.entity]),
            error_message=message_of(
                answer if isinstance(answer, ApiError) else answer[entry.entity]
            ),
            entity=[row.EntityData(entity_type=kind, entity_name=n) for kind, n in entry.entity],
        )
        for entry in entries
    ]
    return m.AlterClientQuotasResponse(throttle_time_ms=0, entries=rows)


def alter_scram(served: Served, request: Any, version: int) -> Script:
    """AlterUserScramCredentials."""
    deletions = tuple(ScramDeletion(d.name, d.mechanism) for d in request.deletions)
    upsertions = tuple(
        ScramUpsertion(u.name, u.mechanism, u.iterations, u.salt, u.salted_password)
        for u in request.upsertions
    )
    answer = yield AlterScram(deletions, upsertions)
    users = dict.fromkeys(item.name for item in (*deletions, *upsertions))
    outcomes = dict.fromkeys(users, answer) if isinstance(answer, ApiError) else answer
    row = m.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    rows = [
        row(user=user, error_code=code_of(error), error_message=message_of(error))
        for user, error in outcomes.items()
    ]
    return m.AlterUserScramCredentialsResponse(throttle_time_ms=0, results=rows)


def create_acls(served: Served, request: Any, version: int) -> Any:
    """CreateAcls: refused, since this controller has no authorizer."""
    row = m.CreateAclsResponse.AclCreationResult
    refused = row(error_code=ErrorCode.SECURITY_DISABLED, error_message=_NO_ACLS)
    return m.CreateAclsResponse(throttle_time_ms=0, results=[refused for _ in request.creations])


def delete_acls(served: Served, request: Any, version: int) -> Any:
    """DeleteAcls: refused, since this controller has no authorizer."""
    row = m.DeleteAclsResponse.DeleteAclsFilterResult
    refused = row(error_code=ErrorCode.SECURITY_DISABLED, error_message=_NO_ACLS, matching_acls=[])
    rows = [refused for _ in request.filters]
    return m.DeleteAclsResponse(throttle_time_ms=0, filter_results=rows)


# ---- features and the quorum ---------------------------------------------------------------------


def update_features(served: Served, request: Any, version: int) -> Script:
    """UpdateFeatures: all of them, or none."""
    updates = tuple(_feature_update(u, version) for u in request.feature_updates)
    answer = yield UpdateFeatures(updates, version >= 1 and request.validate_only)
    row = m.UpdateFeaturesResponse.UpdatableFeatureResult
    rows = [row(feature=u.feature, error_code=0, error_message=None) for u in updates]
    return m.UpdateFeaturesResponse(
        throttle_time_ms=0,
        error_code=code_of(answer),
        error_message=message_of(answer),
        results=rows if version < 2 and not code_of(answer) else [],
    )


def _feature_update(update: Any, version: int) -> FeatureUpdate:
    if version == 0:
        way = UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE
    else:
        way = UpgradeType(update.upgrade_type)
    return FeatureUpdate(update.feature, update.max_version_level, way)


def describe_quorum(served: Served, request: Any, version: int) -> Script:
    """DescribeQuorum: how far every replica is."""
    topics = request.topics
    is_known = (
        len(topics) == 1
        and topics[0].topic_name == TOPIC
        and [p.partition_index for p in topics[0].partitions] == [0]
    )
    found: DescribeQuorumResponse = yield DescribeQuorumRequest(0 if is_known else -1)
    topic = m.DescribeQuorumResponse.TopicData
    error = found.partition_error or ErrorCode.NONE
    partition = topic.PartitionData(
        partition_index=0,
        error_code=error,
        error_message=None if error is ErrorCode.NONE else error.name,
        leader_id=-1 if found.leader_id is None else found.leader_id,
        leader_epoch=found.epoch,
        high_watermark=-1 if found.high_watermark is None else found.high_watermark,
        current_voters=[_replica(topic.PartitionData.ReplicaState, r) for r in found.voters],
        observers=[_replica(topic.PartitionData.ReplicaState, r) for r in found.observers],
    )
    return m.DescribeQuorumResponse(
        error_code=found.error,
        error_message=None,
        topics=[topic(topic_name=TOPIC, partitions=[partition])],
        nodes=_quorum_nodes(served) if error is ErrorCode.NONE else [],
    )


def _replica(row: Any, found: ReplicaProgress) -> Any:
    return row(
        replica_id=found.key.id,
        replica_directory_id=wire_id(found.key.directory),
        log_end_offset=-1 if found.log_end is None else found.log_end,
        last_fetch_timestamp=found.last_fetch_ms,
        last_caught_up_timestamp=found.last_caught_up_ms,
    )


def _quorum_nodes(served: Served) -> list[Any]:
    node = m.DescribeQuorumResponse.Node
    return [
        node(
            node_id=voter.key.id,
            listeners=[
                node.Listener(name=e.listener, host=e.host, port=e.port) for e in voter.endpoints
            ],
        )
        for voter in served.node.voters.all
    ]


def describe_cluster(served: Served, request: Any, version: int) -> Any:
    """DescribeCluster: the controllers, for clients that were given controllers to talk to."""
    if version < 1 or request.endpoint_type != _CONTROLLERS:
        return m.DescribeClusterResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type CONTROLLER, but we wanted "
            "an endpoint of type BROKER",
            endpoint_type=_CONTROLLERS,
            cluster_id="",
            brokers=[],
        )
    row = m.DescribeClusterResponse.DescribeClusterBroker
    registered = served.stable.controllers
    rows = [
        row(broker_id=node, host=c.end_points[0].host, port=c.end_points[0].port, rack=None)
        for node, c in registered.items()
        if c.end_points
    ]
    leader = served.node.role.leader_id
    return m.DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message=None,
        endpoint_type=_CONTROLLERS,
        cluster_id=served.settings.cluster_id,
        controller_id=-1 if leader is None else leader,
        brokers=rows,
        authorized_operations={31},
    )


HANDLERS: Handlers = {
    30: create_acls,
    31: delete_acls,
    32: describe_configs,
    33: alter_configs,
    44: incremental_alter_configs,
    49: alter_client_quotas,
    51: alter_scram,
    55: describe_quorum,
    57: update_features,
    60: describe_cluster,
}
