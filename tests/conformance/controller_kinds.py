"""Runs the controller's pure kinds of vectors: one function per kind, None when it passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from kedge.controller.context import Context
from kedge.controller.leader_election import (
    Elected,
    Strategy,
    choose_for_shutdown,
    choose_in_sync,
    choose_offline,
    choose_preferred,
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
)
from kedge.controller.states import PARTITION_MAY_COME_FROM, REPLICA_MAY_COME_FROM
from kedge.model import BrokerId, Leadership, Recovery, ReplicaAssignment, TopicPartition
from kedge.plan.reassignment import cancel, reassign_to, unneeded_replicas

Case = dict[str, Any]


def first_difference(expected: Any, actual: Any, at: str = "") -> str | None:
    """Where two JSON values differ first, in one line."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(set(expected) | set(actual)):
            place = f"{at}.{key}" if at else str(key)
            if key not in actual:
                return f"{place}: missing, expected {expected[key]!r}"
            if key not in expected:
                return f"{place}: {actual[key]!r}, expected none"
            found = first_difference(expected[key], actual[key], place)
            if found:
                return found
        return None
    if expected != actual:
        return f"{at or 'value'}: {actual!r}, expected {expected!r}"
    return None


def ids(numbers: list[int] | None) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(n) for n in numbers or ())


def parse_partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def parse_assignment(value: Case) -> ReplicaAssignment:
    return ReplicaAssignment(
        ids(value["replicas"]), ids(value.get("adding")), ids(value.get("removing"))
    )


def show_assignment(assignment: ReplicaAssignment) -> Case:
    return {
        "replicas": list(assignment.replicas),
        "adding": list(assignment.adding),
        "removing": list(assignment.removing),
    }


def run_algorithm(case: Case) -> str | None:
    given = case["input"]
    replicas, isr, live = (
        ids(given.get("assignment", given.get("target", given.get("replicas")))),
        ids(given["isr"]),
        ids(given["live"]),
    )
    match Strategy(given["strategy"]):
        case Strategy.OFFLINE:
            leader = choose_offline(replicas, isr, live, unclean=given.get("unclean", False))
        case Strategy.REASSIGN:
            leader = choose_in_sync(replicas, isr, live)
        case Strategy.PREFERRED:
            leader = choose_preferred(replicas, isr, live)
        case Strategy.CONTROLLED_SHUTDOWN:
            leaving = ids(given.get("shutting_down"))
            leader = choose_for_shutdown(replicas, isr, live, leaving)
    return first_difference(case["expected"], {"leader": leader})


def run_election(case: Case) -> str | None:
    given = case["input"]
    now = Leadership(
        BrokerId(given["leader"]),
        ids(given["isr"]),
        given["leader_epoch"],
        recovery=parse_recovery(given.get("recovery")),
    )
    elected = hold_election(given, now)
    return first_difference(case["expected"], show_election(case["expected"], elected))


def hold_election(given: Case, now: Leadership) -> Elected:
    assignment = parse_assignment(given)
    bad, leaving = ids(given.get("offline_dir_brokers")), ids(given.get("shutting_down"))
    registered = [b for b in ids(given["live"]) if b not in bad]
    live = [b for b in registered if b not in leaving]
    match Strategy(given["strategy"]):
        case Strategy.OFFLINE:
            unclean = given.get("unclean", False)
            marks = given.get("recovery_supported", given.get("leader_recovery_supported", True))
            replicas = assignment.replicas
            return elect_offline(now, replicas, live, unclean=unclean, marks_recovery=marks)
        case Strategy.REASSIGN:
            return elect_reassigned(now, assignment, live)
        case Strategy.PREFERRED:
            return elect_preferred(now, assignment.replicas, live)
        case Strategy.CONTROLLED_SHUTDOWN:
            return elect_for_shutdown(now, assignment.replicas, registered, leaving)


def parse_recovery(value: Any) -> Recovery:
    if isinstance(value, str):
        return Recovery[value]
    return Recovery(value or 0)


def show_election(expected: Case, elected: Elected) -> Case:
    shown: Case = {"elected": elected.leadership is not None}
    if elected.leadership is not None:
        shown |= {
            "leader": elected.leadership.leader,
            "leader_epoch": elected.leadership.leader_epoch,
            "isr": list(elected.leadership.isr),
            "recovery": elected.leadership.recovery.name,
        }
    if "recipients" in expected:
        shown["recipients"] = list(elected.recipients)
    return shown


def run_table(table: Mapping[Any, frozenset[Any]]) -> Callable[[Case], str | None]:
    def run(case: Case) -> str | None:
        found = {state.value: names(before) for state, before in table.items()}
        expected = {state: sorted(b) for state, b in case["expected"]["valid_from"].items()}
        return first_difference(expected, found)

    return run


def names(states: frozenset[Enum]) -> list[str]:
    return sorted(state.value for state in states)


def run_reassign_to(case: Case) -> str | None:
    current = parse_assignment(case["input"]["current"])
    target = case["input"]["target"]
    result = cancel(current) if target is None else reassign_to(current, ids(target))
    found = {
        "current_origin": list(current.origin),
        "current_target": list(current.target),
        "current_in_progress": current.in_progress,
        "result": show_assignment(result),
        "result_in_progress": result.in_progress,
        "result_target": list(result.target),
        "unneeded_replicas_to_stop": list(unneeded_replicas(current, result)),
    }
    return first_difference(case["expected"], found)


def run_remove_replica(case: Case) -> str | None:
    given = case["input"]
    removed = given.get("remove", given.get("replica", given.get("id", given.get("broker"))))
    current = parse_assignment(given.get("current", given))
    expected = case["expected"].get("result", case["expected"])
    return first_difference(expected, show_assignment(current.remove_replica(BrokerId(removed))))


def run_imbalance_count(case: Case) -> str | None:
    context, counts = Context(BrokerId(100)), list[int]()
    for op in case["input"]["ops"]:
        count_op(context, op)
        counts.append(context.preferred_replica_imbalance_count)
    return first_difference(case["expected"], {"counts_after_each_op": counts})


def count_op(context: Context, op: Case) -> None:
    match op["op"]:
        case "assignment":
            tp = parse_partition(op["partition"])
            context.topics.add(tp.topic)
            context.set_assignment(tp, parse_assignment(op))
        case "leadership":
            leadership = Leadership(BrokerId(op["leader"]), ids(op["isr"]))
            context.set_leadership(parse_partition(op["partition"]), leadership)
        case "queue_deletion" | "queue_topic_deletion" | "delete_topic" | "queue":
            context.queue_deletion(op.get("topics") or [op["topic"]])
        case "remove_topic" | "remove":
            context.remove_topic(op["topic"])
        case other:
            raise ValueError(f"an imbalance op that is not known: {other}")


RUNNERS: dict[str, Callable[[Case], str | None]] = {
    "algorithm": run_algorithm,
    "election": run_election,
    "partition_transitions": run_table(PARTITION_MAY_COME_FROM),
    "replica_transitions": run_table(REPLICA_MAY_COME_FROM),
    "reassign_to": run_reassign_to,
    "remove_replica": run_remove_replica,
    "imbalance_count": run_imbalance_count,
}
