"""What a scenario compares: the controller's tables, the store's tree, the requests sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from kedge.controller.context import Context
from kedge.model import TopicPartition
from kedge.model.broker_requests import BrokerRequest, LeaderAndIsr, StopReplica, UpdateMetadata
from kedge.store.port import Children, GetChildren, GetData, Node, Store
from kedge.store.znodes import (
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
    partitions_path,
    state_path,
    topic_path,
)

Case = dict[str, Any]
_RECOVERY_SINCE = 6  # version of LeaderAndIsr


# ---- state -----------------------------------------------------------------------------------


def show_state(context: Context, store: Store) -> Case:
    """Everything that is compared after a step, but for results and requests."""
    return in_order(
        {
            "active": context.active,
            "controller_epoch": context.epoch,
            "partitions": {str(tp): show_partition(context, tp) for tp in context.assignments},
            "sets": show_sets(context),
            "zk": show_store(store),
        }
    )


def in_order(state: Case) -> Case:
    """The same with the entries of a stored plan sorted: nobody promises their order."""
    plan = state["zk"].get("reassign_partitions")
    if isinstance(plan, list):
        entries = sorted(plan, key=lambda entry: (entry["topic"], entry["partition"]))
        return {**state, "zk": {**state["zk"], "reassign_partitions": entries}}
    return state


def show_partition(context: Context, tp: TopicPartition) -> Case:
    assignment, now = context.assignments[tp], context.leaderships.get(tp)
    shown: Case = {
        "state": context.partition_state(tp).value,
        "assignment": {
            "replicas": list(assignment.replicas),
            "adding": list(assignment.adding),
            "removing": list(assignment.removing),
        },
        "replica_states": {
            str(b): context.replica_states[b][tp].value
            for b in assignment.replicas
            if tp in context.replica_states.get(b, {})
        },
    }
    if now is not None:
        shown |= {
            "leader": now.leader,
            "leader_epoch": now.leader_epoch,
            "isr": list(now.isr),
            "partition_epoch": now.partition_epoch,
        }
    return shown


def show_sets(context: Context) -> Case:
    return {
        "live": sorted(context.live),
        "shutting_down": sorted(context.shutting_down),
        "being_reassigned": sorted(map(str, context.being_reassigned)),
        "topics_to_be_deleted": sorted(context.topics_to_be_deleted),
        "topics_with_deletion_started": sorted(context.topics_with_deletion_started),
        "topics_ineligible_for_deletion": sorted(context.topics_ineligible_for_deletion),
        "offline_partition_count": context.offline_partition_count,
        "preferred_replica_imbalance_count": context.preferred_replica_imbalance_count,
    }


def show_store(store: Store) -> Case:
    shown: Case = {
        "topics": {topic: show_topic(store, topic) for topic in children(store, TOPICS)},
        "delete_topics": list(children(store, DELETE_TOPICS)),
        "preferred_replica_election": read(store, PREFERRED_ELECTION) is not None,
        "isr_change_notifications": len(children(store, ISR_CHANGES)),
        "log_dir_events": len(children(store, LOG_DIR_EVENTS)),
    }
    plan = read(store, REASSIGN_PARTITIONS)
    if plan is not None:
        try:
            shown["reassign_partitions"] = orjson.loads(plan)["partitions"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            shown["reassign_partitions"] = plan.decode()
    return shown


def show_topic(store: Store, topic: str) -> Case:
    value = orjson.loads(read(store, topic_path(topic)) or b"{}")
    states: Case = {}
    for number in children(store, partitions_path(topic)):
        data = read(store, state_path(TopicPartition(topic, int(number))))
        if data is not None:
            states[number] = {k: v for k, v in orjson.loads(data).items() if k != "version"}
    return {
        "partitions": value["partitions"],
        "adding_replicas": value.get("adding_replicas", {}),
        "removing_replicas": value.get("removing_replicas", {}),
        "states": states,
    }


def children(store: Store, path: str) -> tuple[str, ...]:
    (answer,) = store.batch([GetChildren(path)])
    return answer.names if isinstance(answer, Children) else ()


def read(store: Store, path: str) -> bytes | None:
    (answer,) = store.batch([GetData(path)])
    return (answer.data or b"") if isinstance(answer, Node) else None


# ---- requests --------------------------------------------------------------------------------


def compare_requests(expected: list[Case], sent: Iterable[BrokerRequest]) -> str | None:
    """The first difference by the rules of the vectors.

    Per broker and partition: the sequence of LeaderAndIsr and StopReplica entries; the last
    UpdateMetadata content; per broker the live brokers of the last UpdateMetadata.
    """
    wanted, found = Told(), Told()
    for request in expected:
        for broker in request["to"]:
            wanted.add(broker, request)
    for request in sent:
        found.add(request.to, show_request(request))
    free = wanted.leaving_together()
    return wanted.first_difference(found, free)


class Told:
    """What each broker was told, in the form that is compared."""

    def __init__(self) -> None:
        self.sequences: dict[tuple[int, str], list[Case]] = {}
        self.metadata: dict[tuple[int, str], Case] = {}
        self.live: dict[int, tuple[int, list[int]]] = {}  # with the request's version

    def add(self, broker: int, request: Case) -> None:
        head = {"api": request["api"], "version": request["version"]}
        if request["api"] == "UpdateMetadata":
            self.live[broker] = (request["version"], request["live_brokers"])
            for name, entry in request["partitions"].items():
                self.metadata[broker, name] = {**head, **entry}
            return
        for name, entry in request["partitions"].items():
            self.sequences.setdefault((broker, name), []).append({**head, **entry})

    def leaving_together(self) -> set[str]:
        """Partitions of which several replicas were stopped: which epoch each was told is free."""
        stopped: dict[str, set[int]] = {}
        for (broker, name), entries in self.sequences.items():
            if any(e["api"] == "StopReplica" and not e["delete"] for e in entries):
                stopped.setdefault(name, set()).add(broker)
        return {name for name, brokers in stopped.items() if len(brokers) > 1}

    def first_difference(self, found: Told, free: set[str]) -> str | None:
        for key in sorted(self.sequences.keys() | found.sequences.keys()):
            wanted = without_free_epochs(self.sequences.get(key, []), key[1] in free)
            actual = without_free_epochs(found.sequences.get(key, []), key[1] in free)
            if wanted != actual:
                return f"requests to broker {key[0]} for {key[1]}: {actual}, expected {wanted}"
        for key in sorted(self.metadata.keys() | found.metadata.keys()):
            wanted, actual = self.metadata.get(key), found.metadata.get(key)
            if wanted != actual:
                return f"metadata of broker {key[0]} for {key[1]}: {actual}, expected {wanted}"
        if self.live != found.live:
            return f"live brokers told: {found.live}, expected {self.live}"
        return None


def without_free_epochs(entries: list[Case], free: bool) -> list[Case]:
    if not free:
        return entries
    return [
        {**e, "leader_epoch": "free"} if e["api"] == "StopReplica" and not e["delete"] else e
        for e in entries
    ]


def show_request(request: BrokerRequest) -> Case:
    shown: Case = {"api": type(request).__name__, "version": request.version}
    match request:
        case LeaderAndIsr():
            shown["partitions"] = {
                str(tp): show_leader_and_isr(entry, request.version)
                for tp, entry in request.partitions.items()
            }
        case StopReplica():
            shown["partitions"] = {
                str(tp): {"leader_epoch": entry.leader_epoch, "delete": entry.delete}
                for tp, entry in request.partitions.items()
            }
        case UpdateMetadata():
            shown["live_brokers"] = [broker.id for broker in request.live_brokers]
            shown["partitions"] = {
                str(tp): {
                    "leader": entry.leadership.leader,
                    "leader_epoch": entry.leadership.leader_epoch,
                    "isr": list(entry.leadership.isr),
                    "replicas": list(entry.replicas),
                    "offline": list(entry.offline),
                }
                for tp, entry in request.partitions.items()
            }
    return shown


def show_leader_and_isr(entry: Any, version: int) -> Case:
    now, assignment = entry.leadership, entry.assignment
    shown = {
        "leader": now.leader,
        "leader_epoch": now.leader_epoch,
        "isr": list(now.isr),
        "replicas": list(assignment.replicas),
        "adding": list(assignment.adding),
        "removing": list(assignment.removing),
        "is_new": entry.is_new,
        "partition_epoch": now.partition_epoch,
        "controller_epoch": now.controller_epoch,
    }
    if version >= _RECOVERY_SINCE:
        shown["recovery"] = int(now.recovery)
    return shown
