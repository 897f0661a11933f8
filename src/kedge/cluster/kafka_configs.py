"""Reads and changes configs and client quotas over Kafka's protocol.

Requests about a broker, or its loggers, go to that broker: it alone has its properties file. Any
broker has everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kedge.cluster.admin_session import Session
from kedge.cluster.batches import RESOURCES_MAX, batches
from kedge.cluster.client_messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from kedge.cluster.deadline import Deadline
from kedge.cluster.error_mapping import refusal
from kedge.cluster.port import (
    Answers,
    Changes,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    Configs,
    ConfigSource,
    ConfigSynonym,
    QuotaEntity,
    ResourceKind,
    quota_entity,
)
from kedge.errors import InvalidRequest, KedgeError, Unavailable
from kedge.model import BrokerId
from kedge.protocol.messages import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)

SOURCES = {
    1: ConfigSource.TOPIC,
    2: ConfigSource.BROKER,
    3: ConfigSource.ALL_BROKERS,
    4: ConfigSource.STATIC,
    5: ConfigSource.BUILT_IN,
    6: ConfigSource.BROKER_LOGGER,
    7: ConfigSource.CLIENT_METRICS,
    8: ConfigSource.GROUP,
}
EXACT, DEFAULT, ANY = 0, 1, 2
ANY_NAME = "*"

Where = BrokerId | None


def describe_configs(
    session: Session, resources: Sequence[ConfigResource], *, synonyms: bool
) -> dict[ConfigResource, Configs | KedgeError]:
    """Configs of resources, each from the broker that has them."""
    found: dict[ConfigResource, Configs | KedgeError] = {}
    for (node, batch), deadline in session.deadline().shares(_by_node(resources)):
        try:
            request = _describe_request(batch, synonyms=synonyms)
            answer = session.send(request, DescribeConfigsResponse, deadline, node=node)
        except KedgeError as fault:
            if node is None:
                raise
            found |= dict.fromkeys(batch, fault)
            continue
        found |= {_resource(result): _described(result) for result in answer.results}
    return {resource: found[resource] for resource in resources}


def config_names(session: Session, kind: ResourceKind) -> frozenset[str]:
    """The groups that exist or have configs, or the client metrics subscriptions (KIP-1142)."""
    deadline = session.deadline()
    names = _groups(session, deadline) if kind is ResourceKind.GROUP else frozenset[str]()
    if kind is ResourceKind.GROUP and not session.supports(ListConfigResourcesRequest, deadline):
        return names
    request = ListConfigResourcesRequest(resource_types=[int(kind)])
    answer = session.send(request, ListConfigResourcesResponse, deadline)
    error = refusal(answer.error_code, None, needs="DescribeConfigs on Cluster")
    if error is not None:
        raise error
    # version 0 lists client metrics only, whatever was requested
    return names | {r.resource_name for r in answer.config_resources if r.resource_type == kind}


def _groups(session: Session, deadline: Deadline) -> frozenset[str]:
    """Every broker lists the groups that it coordinates."""
    names: set[str] = set()
    for broker in session.refresh(deadline):
        answer = session.send(ListGroupsRequest(), ListGroupsResponse, deadline, node=broker.id)
        error = refusal(answer.error_code, None, "groups", needs="Describe on Cluster")
        if error is not None:
            raise error
        names |= {group.group_id for group in answer.groups}
    return frozenset(names)


def alter_configs(
    session: Session, changes: Changes, *, validate_only: bool
) -> Answers[ConfigResource]:
    """Change configs, each at the broker that has them."""
    answers: Answers[ConfigResource] = {}
    for (node, batch), deadline in session.deadline().shares(_by_node(changes)):
        request = _alter_request({each: changes[each] for each in batch}, validate_only)
        try:
            answer = session.send(
                request, IncrementalAlterConfigsResponse, deadline, node=node, change=True
            )
        except (InvalidRequest, Unavailable) as fault:
            if node is None:
                raise
            answers |= dict.fromkeys(batch, fault)
            continue
        for each in answer.responses:
            resource = _resource(each)
            answers[resource] = refusal(
                each.error_code,
                each.error_message,
                str(resource),
                needs=_permission("AlterConfigs", resource),
            )
    return {resource: answers[resource] for resource in changes}


def _by_node(resources: Iterable[ConfigResource]) -> list[tuple[Where, list[ConfigResource]]]:
    places: dict[Where, list[ConfigResource]] = {}
    for resource in resources:
        places.setdefault(_place(resource), []).append(resource)
    return [
        (node, batch) for node, group in places.items() for batch in batches(group, RESOURCES_MAX)
    ]


def _place(resource: ConfigResource) -> Where:
    of_one = resource.kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER)
    return BrokerId(int(resource.name)) if of_one and resource.name else None


def _describe_request(
    resources: Sequence[ConfigResource], *, synonyms: bool
) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=int(kind), resource_name=name, configuration_keys=None
            )
            for kind, name in resources
        ],
        include_synonyms=synonyms,
        include_documentation=False,
    )


def _alter_request(changes: Changes, validate_only: bool) -> IncrementalAlterConfigsRequest:
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource

    def step(change: ConfigChange) -> Any:
        return kind.AlterableConfig(
            name=change.name, config_operation=int(change.op), value=change.value
        )

    return IncrementalAlterConfigsRequest(
        resources=[
            kind(
                resource_type=int(resource.kind),
                resource_name=resource.name,
                configs=[step(change) for change in steps],
            )
            for resource, steps in changes.items()
        ],
        validate_only=validate_only,
    )


def _resource(result: Any) -> ConfigResource:
    return ConfigResource(ResourceKind(result.resource_type), result.resource_name)


def _permission(operation: str, resource: ConfigResource) -> str:
    """The permission that configs of a resource need; those of brokers belong to the cluster."""
    if resource.kind in (ResourceKind.TOPIC, ResourceKind.GROUP):
        return f"{operation} on {resource.kind.name.capitalize()} {resource.name}"
    return f"{operation} on Cluster"


def _described(result: Any) -> Configs | KedgeError:
    resource = _resource(result)
    error = refusal(
        result.error_code,
        result.error_message,
        str(resource),
        needs=_permission("DescribeConfigs", resource),
    )
    if error is not None:
        return error
    return tuple(sorted(map(_entry, result.configs), key=lambda entry: entry.name))


def _entry(config: Any) -> ConfigEntry:
    return ConfigEntry(
        config.name,
        config.value,
        SOURCES.get(config.config_source, ConfigSource.UNKNOWN),
        sensitive=config.is_sensitive,
        read_only=config.read_only,
        synonyms=tuple(
            ConfigSynonym(each.name, each.value, SOURCES.get(each.source, ConfigSource.UNKNOWN))
            for each in config.synonyms or ()
        ),
    )


# ---- client quotas ------------------------------------------------------------------------------


def describe_quotas(
    session: Session, entity: QuotaEntity, *, strict: bool
) -> dict[QuotaEntity, dict[str, float]]:
    """The quotas of the entities that match (KIP-546)."""
    kind = DescribeClientQuotasRequest
    request = kind(components=[_component(*part) for part in entity.parts], strict=strict)
    answer = session.send(request, DescribeClientQuotasResponse, session.deadline())
    error = refusal(
        answer.error_code,
        answer.error_message,
        "client quotas",
        needs="DescribeConfigs on Cluster",
    )
    if error is not None:
        raise error
    return {
        _entity(entry): {value.key: value.value for value in entry.values}
        for entry in answer.entries or ()
    }


def _component(kind: str, name: str | None) -> Any:
    match name:
        case None:
            how = DEFAULT
        case "*":
            how = ANY
        case _:
            how = EXACT
    return DescribeClientQuotasRequest.ComponentData(
        entity_type=kind, match_type=how, match=name if how == EXACT else None
    )


def alter_quotas(
    session: Session, entity: QuotaEntity, changes: Mapping[str, float | None]
) -> Answers[QuotaEntity]:
    """Set and remove quotas of one entity."""
    kind = AlterClientQuotasRequest.EntryData
    entry = kind(
        entity=[kind.EntityData(entity_type=each, entity_name=name) for each, name in entity.parts],
        ops=[
            kind.OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in changes.items()
        ],
    )
    request = AlterClientQuotasRequest(entries=[entry], validate_only=False)
    answer = session.send(request, AlterClientQuotasResponse, session.deadline(), change=True)
    return {
        _entity(each): refusal(
            each.error_code, each.error_message, "client quotas", needs="AlterConfigs on Cluster"
        )
        for each in answer.entries
    }


def _entity(entry: Any) -> QuotaEntity:
    return quota_entity((part.entity_type, part.entity_name) for part in entry.entity)
