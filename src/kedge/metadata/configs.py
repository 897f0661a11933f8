"""Configs of topics, brokers, groups and client metrics.

Steps are merged into what is set, and the whole result is validated. Topics write only what really
changes; brokers write even the same value, since that makes them read files again. All resources of
one request are one batch; those that are refused leave no records. With eligible leader replicas a
change of min.insync.replicas clears them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kedge.errors import PolicyViolation
from kedge.metadata.client_config_faults import validate_client_metrics, validate_group_configs
from kedge.metadata.config_faults import validate_topic_configs
from kedge.metadata.decision import Decision, Situation, refuse_too_many
from kedge.metadata.image import ConfigResource
from kedge.metadata.records import ClearElrRecord, ConfigRecord, Versioned
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.metadata.topic_names import name_fault
from kedge.metadata.topic_settings import MIN_ISR, ResourceKind
from kedge.model.error_codes import ErrorCode
from kedge.model.java_text import INT32_MAX, INT32_MIN, whole_number
from kedge.topics import V4_1, Alteration, AlterProposal, ConfigType, Op

VALUE_LENGTH_MAX = 32_767

# The configs that can be appended to, with their defaults. Those of groups and of client metrics
# cannot, lists or not: Kafka's controller does not know their types.
_LISTS: Mapping[int, Mapping[str, str]] = {
    ResourceKind.TOPIC: {
        key.name: key.default or "" for key in V4_1.keys.values() if key.kind is ConfigType.LIST
    },
    ResourceKind.BROKER: {
        "controller.quorum.bootstrap.servers": "",
        "controller.quorum.voters": "",
        "group.consumer.assignors": "uniform,range",
        "group.coordinator.rebalance.protocols": "classic,consumer,streams",
        "group.share.assignors": "simple",
        "kafka.metrics.reporters": "",
        "log.cleanup.policy": "delete",
        "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter",
        "process.roles": "",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.principal.to.local.rules": "DEFAULT",
        "sasl.oauthbearer.expected.audience": "",
        "ssl.cipher.suites": "",
        "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    },
}


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """IncrementalAlterConfigs."""

    resources: tuple[tuple[ConfigResource, tuple[Alteration, ...]], ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceConfigs:
    """The older AlterConfigs: what is not named is deleted."""

    resources: tuple[tuple[ConfigResource, Mapping[str, str | None]], ...]
    validate_only: bool = False


ResourceErrors = dict[ConfigResource, ApiError]


def alter_configs(at: Situation, request: AlterConfigs) -> Decision[ResourceErrors]:
    """Set, delete, append and subtract."""
    results: ResourceErrors = {}
    records: list[ConfigRecord] = []
    for resource, steps in request.resources:
        try:
            made = _stepped(at, resource, steps)
            _validate(at, resource, made, new_resource=False)
            _ask_policy(at, resource, made)
            records += made
            results[resource] = SUCCESS
        except Refused as refused:
            results[resource] = refused.error
    return _decision(at, results, records, request.validate_only)


def replace_configs(at: Situation, request: ReplaceConfigs) -> Decision[ResourceErrors]:
    """Set what is named, and delete the rest."""
    results: ResourceErrors = {}
    records: list[ConfigRecord] = []
    for resource, configs in request.resources:
        current = at.image.config(resource)
        named = [
            ConfigRecord(*resource, name, value)
            for name, value in configs.items()
            if _is_written(resource, current.get(name), value)
        ]
        deleted = [ConfigRecord(*resource, n, None) for n in sorted(current) if n not in configs]
        try:
            _validate(at, resource, [*named, *deleted], new_resource=False)
            _ask_policy(at, resource, named)
            records += [*named, *deleted]
            results[resource] = SUCCESS
        except Refused as refused:
            results[resource] = refused.error
    return _decision(at, results, records, request.validate_only)


def config_records(
    at: Situation, resource: ConfigResource, configs: Mapping[str, str], *, new_resource: bool
) -> list[Versioned]:
    """The records that set configs of one resource, validated."""
    records = [ConfigRecord(*resource, name, value) for name, value in configs.items()]
    _validate(at, resource, records, new_resource=new_resource)
    return _with_cleared_elr(at, records)


def _decision(
    at: Situation, results: ResourceErrors, records: list[ConfigRecord], validate_only: bool
) -> Decision[ResourceErrors]:
    written = _with_cleared_elr(at, records)
    refuse_too_many(len(written))
    return Decision(results, () if validate_only else tuple(written))


def _with_cleared_elr(at: Situation, records: Iterable[ConfigRecord]) -> list[Versioned]:
    written = [Versioned(record) for record in records]
    if at.elr_enabled:
        for record in records:
            if record.name == MIN_ISR:
                is_topic = record.resource_type == ResourceKind.TOPIC
                cleared = ClearElrRecord(record.resource_name if is_topic else "")
                written.append(Versioned(cleared))
    return written


def _is_written(resource: ConfigResource, before: str | None, after: str | None) -> bool:
    return before != after or resource[0] == ResourceKind.BROKER


def _stepped(
    at: Situation, resource: ConfigResource, steps: Iterable[Alteration]
) -> list[ConfigRecord]:
    current = at.image.config(resource)
    records: list[ConfigRecord] = []
    for step in steps:
        before = current.get(step.name)
        after = _after(resource, step, before)
        if _is_written(resource, before, after):
            records.append(ConfigRecord(*resource, step.name, after))
    return records


def _after(resource: ConfigResource, step: Alteration, before: str | None) -> str | None:
    if step.op is Op.SET:
        return step.value
    if step.op is Op.DELETE:
        return None
    lists = _LISTS.get(resource[0], {})
    if step.name not in lists:
        raise _invalid(f"Can't {step.op.name} to key {step.name} because its type is not LIST.")
    items = [item for item in (lists[step.name] if before is None else before).split(",") if item]
    for item in _pieces(step.value or ""):
        if step.op is Op.APPEND:
            if item not in items:
                items.append(item)
        elif item in items:
            items.remove(item)
    return ",".join(items)


def _pieces(text: str) -> list[str]:
    """Split at commas as Java does: empty pieces at the end are dropped."""
    pieces = text.split(",")
    while len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    return pieces if pieces != [""] or not text else []


# ---- validation ----------------------------------------------------------------------------------


def _validate(
    at: Situation,
    resource: ConfigResource,
    records: Iterable[ConfigRecord],
    *,
    new_resource: bool,
) -> None:
    existing = at.image.config(resource)
    configs = dict(existing)
    for record in records:
        if at.elr_enabled and record.name == MIN_ISR:
            _refuse_with_elr(record)
        if record.value is None:
            configs.pop(record.name, None)
        elif len(record.value) > VALUE_LENGTH_MAX:
            raise _invalid(
                "The configuration value cannot be added because it exceeds the maximum value "
                f"size of {VALUE_LENGTH_MAX} bytes."
            )
        else:
            configs[record.name] = record.value
    _validate_result(at, resource, configs, existing)
    if not new_resource:
        _refuse_absent(at, resource)


def _ask_policy(at: Situation, resource: ConfigResource, records: Iterable[ConfigRecord]) -> None:
    """Ask the operator's policy, last; what the older request deletes by silence is not shown."""
    if resource[0] != ResourceKind.TOPIC:
        return
    try:
        at.alter_policy(AlterProposal(resource[1], {r.name: r.value for r in records}))
    except PolicyViolation as refused:
        raise Refused(ErrorCode.POLICY_VIOLATION, str(refused)) from None


def _refuse_with_elr(record: ConfigRecord) -> None:
    if record.resource_type != ResourceKind.BROKER:
        return
    if record.resource_name:
        raise _invalid(f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
    if record.value is None:
        raise _invalid(f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")


def _validate_result(
    at: Situation,
    resource: ConfigResource,
    configs: Mapping[str, str],
    existing: Mapping[str, str],
) -> None:
    kind, name = resource
    match kind:
        case ResourceKind.TOPIC:
            if not name:
                raise _invalid_request("Default topic resources are not allowed.")
            if fault := name_fault(name):
                raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
            validate_topic_configs(
                configs,
                existing=existing,
                static=at.settings.static,
                remote_storage=at.settings.remote_storage,
            )
        case ResourceKind.BROKER:
            _validate_broker_name(name)
        case ResourceKind.CLIENT_METRICS:
            validate_client_metrics(name, configs)
        case ResourceKind.GROUP:
            if not name:
                raise _invalid_request("Default group resources are not allowed.")
            validate_group_configs(configs)
        case _:
            raise _invalid_request(f"Unknown resource type {ResourceKind(kind).name}")


def _validate_broker_name(name: str) -> None:
    if not name:
        return
    broker = whole_number(name, INT32_MIN, INT32_MAX)
    if broker is None:
        raise _invalid_request("Unable to parse broker name as a base 10 number.")
    if broker < 0:
        raise _invalid_request("Invalid negative broker ID.")


def _refuse_absent(at: Situation, resource: ConfigResource) -> None:
    kind, name = resource
    if kind == ResourceKind.TOPIC and name not in at.image.topic_ids:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind == ResourceKind.BROKER and name:
        node = int(name)
        if node not in at.image.brokers and node not in at.settings.voters:
            raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {node} found.")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_CONFIG, message)


def _invalid_request(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
