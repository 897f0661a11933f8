"""Answers and records in the form of KRaft vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from kedge.metadata.acls import Acl
from kedge.metadata.image import Partition
from kedge.metadata.record_json import Json, to_json
from kedge.metadata.records import RECOVERING, Versioned
from kedge.metadata.refusal import ApiError
from kedge.metadata.topic_settings import ResourceKind
from kedge.model.error_codes import ErrorCode

Shown = Mapping[str, Any]

# records of these types are in true order; others come from hash tables in Kafka
IN_TRUE_ORDER = {"AccessControlEntry", "BrokerRegistrationChange", "RegisterBroker"}


def error(found: ApiError) -> Json:
    """A refusal, or success."""
    return {"error": found.code.name, "message": found.message}


def answer(request: Shown, found: Any) -> Any:
    """An answer as the vector shows it."""
    if isinstance(found, ApiError):
        return error(found)
    return _ANSWERS[request["op"]](request, found)


def _created(request: Shown, found: Any) -> list[Json]:
    shown: list[Json] = []
    for topic in found:
        row = {"name": topic.name, **error(topic.error)}
        if topic.error.code is ErrorCode.NONE:
            row["topicId"] = topic.topic_id
            if topic.configs is not None:
                wanted = request.get("configs_shown")
                row["numPartitions"] = topic.partitions
                row["replicationFactor"] = topic.replication_factor
                row["configs"] = {
                    name: {"value": value, "source": int(source)}
                    for name, (value, source) in sorted(topic.configs.items())
                    if not isinstance(wanted, list) or name in wanted
                }
        shown.append(row)
    return shown


def _altered(request: Shown, found: Any) -> list[Json]:
    shown: list[Json] = []
    for one in found:
        row: Json = {
            "topicId": one.topic_id,
            "partition": one.partition,
            "error": one.error.name,
        }
        if one.state is not None:
            row |= {
                "leader": one.state.leader,
                "leaderEpoch": one.state.leader_epoch,
                "partitionEpoch": one.state.epoch,
                "recovery": one.state.recovery,
                "isr": list(one.state.isr),
            }
        shown.append(row)
    return shown


def _deleted(request: Shown, found: Any) -> list[Json]:
    codes = list(found.values())
    return [{**error(e), "topic": name} for name, e in zip(request["topics"], codes, strict=True)]


def _resources(request: Shown, found: Any) -> list[Json]:
    return [
        {**error(e), "type": ResourceKind(kind).name.lower(), "name": name}
        for (kind, name), e in found.items()
    ]


def _quotas(request: Shown, found: Any) -> list[Json]:
    entities = [tuple(sorted(e["entity"].items())) for e in request["entries"]]
    return [{**error(found[entity]), "entity": dict(entity)} for entity in entities]


def _acl_text(acl: Acl) -> str:
    parts = (acl.resource_type.name, acl.pattern_type.name, acl.resource_name, acl.principal)
    return ":".join((*parts, acl.operation.name, acl.permission.name))


def _by_partition(request: Shown, found: Any) -> list[Json]:
    rows = [{"topic": t, "partition": n, **error(e)} for t, n, e in found]
    if request["op"] == "electLeaders":
        rows.sort(key=lambda row: (row["topic"], row["partition"]))
    return rows


_ANSWERS: Mapping[str, Callable[[Shown, Any], Any]] = {
    "register": lambda _, found: {"brokerEpoch": found},
    "heartbeat": lambda _, found: {
        "isCaughtUp": found.is_caught_up,
        "isFenced": found.is_fenced,
        "shouldShutDown": found.should_shut_down,
    },
    "unregister": lambda _, found: {},
    "registerController": lambda _, found: {},
    "createTopics": _created,
    "createPartitions": lambda _, found: [{"name": name, **error(e)} for name, e in found],
    "deleteTopics": _deleted,
    "alterPartition": _altered,
    "reassign": _by_partition,
    "listReassignments": lambda _, found: [
        {
            "topic": one.topic,
            "partition": one.partition,
            "replicas": list(one.replicas),
            "adding": list(one.adding),
            "removing": list(one.removing),
        }
        for one in found
    ],
    "electLeaders": _by_partition,
    "alterConfigs": _resources,
    "legacyAlterConfigs": _resources,
    "allocateProducerIds": lambda _, found: {"start": found.start, "length": found.length},
    "assignDirs": lambda _, found: [
        {
            "dir": one.directory,
            "topicId": one.topic_id,
            "partition": one.partition,
            "error": code.name,
        }
        for one, code in found
    ],
    "alterQuotas": _quotas,
    "alterScram": lambda _, found: [{"user": u, **error(e)} for u, e in sorted(found.items())],
    "createAcls": lambda _, found: [error(e) for e in found],
    "deleteAcls": lambda _, found: [
        {"error": one.error.code.name, "deleted": sorted(map(_acl_text, one.acls))} for one in found
    ],
}


def described(partition: Partition) -> Json:
    """A partition as `describe` shows it."""
    return {
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "elr": sorted(partition.elr),
        "lastKnownElr": list(partition.last_known_elr),
        "adding": list(partition.adding),
        "removing": list(partition.removing),
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "partitionEpoch": partition.epoch,
        "recovering": partition.recovery == RECOVERING,
        "directories": list(partition.directories),
    }


# ---- records -------------------------------------------------------------------------------------


def record_json(versioned: Versioned) -> Json:
    """A record with its unordered lists sorted."""
    shown = to_json(versioned)
    data = shown["data"]
    if isinstance(data.get("eligibleLeaderReplicas"), list):
        data["eligibleLeaderReplicas"] = sorted(data["eligibleLeaderReplicas"])
    if isinstance(data.get("features"), list):
        data["features"] = sorted(data["features"], key=lambda feature: feature["name"])
    return shown


def canonical(records: Iterable[Json]) -> list[Json]:
    """Runs of records of one type sorted by their keys, where Kafka's order is a hash table's."""
    out: list[Json] = []
    for kind, group in groupby(records, key=lambda record: record["type"]):
        run = list(group)
        out += run if kind in IN_TRUE_ORDER else sorted(run, key=sort_key)
    return out


def snapshot_order(records: Iterable[Json]) -> list[Json]:
    """Records of a snapshot by type and key."""

    def order(record: Json) -> tuple[Any, ...]:
        data = record["data"]
        name = data.get("name", "")
        return record["type"], data.get("brokerId", 0), name or "", sort_key(record)

    return sorted(records, key=order)


def sort_key(record: Json) -> str:
    """The key that a record is about."""
    data = record["data"]
    match record["type"]:
        case "PartitionChange" | "Partition":
            return f"{data['topicId']}/{data['partitionId']:09d}"
        case "Config":
            return f"{data['resourceType']}/{data['resourceName']}/{data['name']}"
        case "FeatureLevel":
            return data["name"]
        case "RemoveTopic":
            return data["topicId"]
        case "ClientQuota":
            return _java_json(data["entity"]) + data["key"]
        case "RemoveAccessControlEntry":
            return data["id"]
        case "ClearElr":
            return data["topicName"]
        case "UserScramCredential" | "RemoveUserScramCredential":
            return f"{data['name']}{data['mechanism']}"
        case _:
            return ""


def _java_json(entity: list[Json]) -> str:
    def text(value: str | None) -> str:
        return "null" if value is None else f'"{value}"'

    parts = (
        f'{{"entityType":{text(p["entityType"])},"entityName":{text(p["entityName"])}}}'
        for p in entity
    )
    return f"[{','.join(parts)}]"
