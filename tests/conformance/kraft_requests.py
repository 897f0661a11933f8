"""Requests of KRaft vectors, as the values that `kedge.metadata.decide` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kedge.metadata import (
    acls,
    brokers,
    configs,
    directories,
    elections,
    features,
    heartbeats,
    isr_changes,
    more_partitions,
    producer_ids,
    quotas,
    reassignments,
    scram,
    topics,
)
from kedge.metadata.image import Image
from kedge.metadata.records import Endpoint, FeatureRange
from kedge.metadata.topic_settings import ResourceKind
from kedge.topics import Alteration, Op
from tests.conformance.kraft_names import Names

Shown = Mapping[str, Any]
CLUSTER = "kraft-oracle-cluster-0"
NO_ELECTION = 7


class Requests:
    """Makes requests; topics are named, so their ids are looked up in the image."""

    def __init__(self, names: Names, image: Image) -> None:
        self._names, self._image = names, image

    def of(self, shown: Shown) -> Any:
        """The request that a step shows."""
        makers: dict[str, Callable[[Shown], Any]] = {
            "register": self._register,
            "heartbeat": self._heartbeat,
            "unregister": lambda s: brokers.UnregisterBroker(s["broker"]),
            "createTopics": self._create_topics,
            "createPartitions": self._create_partitions,
            "deleteTopics": lambda s: topics.DeleteTopics(tuple(map(self.topic_id, s["topics"]))),
            "alterPartition": self._alter_partition,
            "reassign": self._reassign,
            "listReassignments": lambda s: reassignments.ListReassignments(),
            "electLeaders": self._elect,
            "alterConfigs": self._alter_configs,
            "legacyAlterConfigs": self._replace_configs,
            "allocateProducerIds": lambda s: producer_ids.AllocateProducerIds(
                s["broker"], s["epoch"]
            ),
            "assignDirs": self._assign_dirs,
            "updateFeatures": self._update_features,
            "registerController": self._register_controller,
            "alterQuotas": self._alter_quotas,
            "alterScram": self._alter_scram,
            "createAcls": lambda s: acls.CreateAcls(tuple(map(_acl, s["acls"]))),
            "deleteAcls": lambda s: acls.DeleteAcls(tuple(map(_filter, s["filters"]))),
        }
        return makers[shown["op"]](shown)

    def topic_id(self, name: str) -> str:
        """The id of a topic, or the id that nobody has."""
        if name.startswith("none:"):
            return self._names.id_of(name)
        return self._image.topic_ids.get(name) or self._names.id_of(f"none:{name}")

    def _register(self, s: Shown) -> brokers.RegisterBroker:
        broker = s["broker"]
        return brokers.RegisterBroker(
            broker=broker,
            cluster_id=s.get("cluster", CLUSTER),
            incarnation=self._names.id_of(s.get("incarnation", f"inc:{broker}")),
            listeners=(Endpoint("PLAINTEXT", f"host{broker}", 9000 + broker),),
            features=_ranges(s["features"]),
            rack=s.get("rack"),
            directories=tuple(map(self._names.id_of, s["dirs"])),
            previous_epoch=_number(s, "previous_epoch", -1),
            version=_number(s, "version", 4),
        )

    def _heartbeat(self, s: Shown) -> heartbeats.Heartbeat:
        return heartbeats.Heartbeat(
            s["broker"],
            s["epoch"],
            s["offset"],
            want_fence=s.get("want_fence", False),
            want_shutdown=s.get("want_shut_down", False),
            offline_directories=tuple(map(self._names.id_of, s.get("offline_dirs", ()))),
        )

    def _create_topics(self, s: Shown) -> topics.CreateTopics:
        wanted = tuple(_new_topic(topic) for topic in s["topics"])
        named = frozenset(topic.name for topic in wanted) if s.get("describe") else frozenset()
        return topics.CreateTopics(wanted, s.get("validate_only", False), named)

    def _create_partitions(self, s: Shown) -> more_partitions.CreatePartitions:
        wanted = [
            more_partitions.MorePartitions(
                t["name"],
                t["count"],
                None if t.get("assignments") is None else tuple(map(tuple, t["assignments"])),
            )
            for t in s["topics"]
        ]
        return more_partitions.CreatePartitions(tuple(wanted), s.get("validate_only", False))

    def _alter_partition(self, s: Shown) -> isr_changes.AlterPartition:
        wanted = [
            isr_changes.WantedIsr(
                self.topic_id(t["topic"]),
                p["partition"],
                p["leader_epoch"],
                p["partition_epoch"],
                _members(s, p["isr"]),
                _number(p, "recovery", 0),
            )
            for t in s["topics"]
            for p in t["partitions"]
        ]
        return isr_changes.AlterPartition(s["broker"], s["epoch"], tuple(wanted))

    def _reassign(self, s: Shown) -> reassignments.AlterReassignments:
        orders = [
            reassignments.ReassignmentOrder(
                t["topic"],
                p["partition"],
                None if p.get("replicas") is None else tuple(p["replicas"]),
            )
            for t in s["topics"]
            for p in t["partitions"]
        ]
        return reassignments.AlterReassignments(tuple(orders), s.get("allow_rf_change", True))

    def _elect(self, s: Shown) -> elections.ElectLeaders:
        kind = {"preferred": 0, "unclean": 1}.get(s["type"], NO_ELECTION)
        asked = s.get("partitions")
        if asked is None:
            return elections.ElectLeaders(kind)
        return elections.ElectLeaders(kind, tuple((t, n) for t, n in asked))

    def _alter_configs(self, s: Shown) -> configs.AlterConfigs:
        resources = {
            _resource(x): tuple(
                Alteration(key, Op[op.upper()], value) for key, op, value in sorted(x["ops"])
            )
            for x in s["resources"]
        }
        return configs.AlterConfigs(tuple(resources.items()), s.get("validate_only", False))

    def _replace_configs(self, s: Shown) -> configs.ReplaceConfigs:
        resources = {_resource(x): dict(sorted(x["configs"].items())) for x in s["resources"]}
        return configs.ReplaceConfigs(tuple(resources.items()), s.get("validate_only", False))

    def _assign_dirs(self, s: Shown) -> directories.AssignDirectories:
        wanted = [
            directories.DirectoryAssignment(
                self._names.id_of(d["dir"]), self.topic_id(t["topic"]), partition
            )
            for d in s["dirs"]
            for t in d["topics"]
            for partition in t["partitions"]
        ]
        return directories.AssignDirectories(s["broker"], s["epoch"], tuple(wanted))

    def _update_features(self, s: Shown) -> features.UpdateFeatures:
        updates = tuple(
            features.FeatureUpdate(name, level, features.UpgradeType[way.upper()])
            for name, level, way in s["updates"]
        )
        return features.UpdateFeatures(updates, s.get("validate_only", False))

    def _register_controller(self, s: Shown) -> brokers.RegisterController:
        controller = s["controller"]
        return brokers.RegisterController(
            controller,
            self._names.id_of(f"inc:c{controller}"),
            (Endpoint("CONTROLLER", f"host{controller}", 9093),),
            _ranges(s.get("features", {})),
        )

    def _alter_quotas(self, s: Shown) -> quotas.AlterQuotas:
        entries = tuple(
            quotas.QuotaAlteration(
                tuple(sorted(e["entity"].items())), tuple((key, value) for key, value in e["ops"])
            )
            for e in s["entries"]
        )
        return quotas.AlterQuotas(entries, s.get("validate_only", False))

    def _alter_scram(self, s: Shown) -> scram.AlterScram:
        password = b"0123456789abcdef" * 2
        return scram.AlterScram(
            tuple(scram.ScramDeletion(*deleted) for deleted in s.get("delete", ())),
            tuple(
                scram.ScramUpsertion(name, mechanism, iterations, b"salt", password)
                for name, mechanism, iterations in s.get("upsert", ())
            ),
        )


def _number(shown: Shown, key: str, default: int) -> int:
    value = shown.get(key)
    return default if value is None else value


def _members(request: Shown, isr: list[Any]) -> tuple[tuple[int, int], ...]:
    """An ISR: brokers with their epochs, without (-1: any), or the sender itself.

    The sender may be named twice, which counts once. Before version 3 requests have no epochs.
    """
    named = [request["broker"] if isinstance(member, str) else member for member in isr]
    distinct = [member for at, member in enumerate(named) if member not in named[:at]]
    pairs = [tuple(member) if isinstance(member, list) else (member, -1) for member in distinct]
    has_epochs = _number(request, "version", 3) >= 3
    return tuple((broker, epoch if has_epochs else -1) for broker, epoch in pairs)


def _ranges(shown: Mapping[str, list[int]]) -> tuple[FeatureRange, ...]:
    return tuple(FeatureRange(name, low, high) for name, (low, high) in shown.items())


def _resource(shown: Shown) -> tuple[int, str]:
    return ResourceKind[shown["type"].upper()], shown["name"]


def _new_topic(shown: Shown) -> topics.NewTopicRequest:
    lists = [
        (a["partition"], tuple(a["replicas"])) if isinstance(a, dict) else (n, tuple(a))
        for n, a in enumerate(shown.get("assignments", ()))
    ]
    return topics.NewTopicRequest(
        shown["name"],
        _number(shown, "partitions", -1),
        _number(shown, "replication_factor", -1),
        tuple(lists),
        shown.get("configs", {}),
    )


def _enum(kind: Any, text: str) -> Any:
    return kind[text.upper()] if text.upper() in kind.__members__ else kind["UNKNOWN"]


def _acl(shown: Shown) -> acls.Acl:
    return acls.Acl(
        _enum(acls.ResourceType, shown.get("resource", "TOPIC")),
        shown.get("name", "a"),
        _enum(acls.PatternType, shown.get("pattern", "LITERAL")),
        shown.get("principal", "User:a"),
        shown.get("host", "*"),
        _enum(acls.Operation, shown.get("operation", "READ")),
        _enum(acls.Permission, shown.get("permission", "ALLOW")),
    )


def _filter(shown: Shown) -> acls.AclFilter:
    return acls.AclFilter(
        _enum(acls.ResourceType, shown.get("resource", "ANY")),
        shown.get("name"),
        _enum(acls.PatternType, shown.get("pattern", "ANY")),
        shown.get("principal"),
        None,
        _enum(acls.Operation, shown.get("operation", "ANY")),
        _enum(acls.Permission, shown.get("permission", "ANY")),
    )
