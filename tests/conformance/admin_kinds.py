"""Vector kinds that topic rules and reassignment files answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import (
    move_map,
    parse_broker_list,
    parse_execute,
    parse_topics_to_move,
    reassign_to,
    throttles_of,
)
from kedge.topics import (
    collides,
    has_collision_chars,
    is_internal,
    validate_configs,
    validate_name,
    validate_new_topic,
)
from tests.conformance.compare import Case, Runner, difference, judged


def _topic_name(case: Case) -> str | None:
    def answer() -> dict[str, Any]:
        name = case["name"]
        validate_name(name)
        chars, internal = has_collision_chars(name), is_internal(name)
        return {"ok": True, "collision_chars": chars, "internal": internal}

    return judged(case, answer)


def _collision(case: Case) -> str | None:
    return judged(case, lambda: {"collides": collides(case["a"], case["b"])})


def _topic_config(case: Case) -> str | None:
    def answer() -> dict[str, Any]:
        validate_configs(case["configs"])
        return {"ok": True}

    return judged(case, answer)


def _validate_create(case: Case) -> str | None:
    def answer() -> dict[str, Any]:
        validate_new_topic(
            case["topic"],
            _lists(case["assignment"]),
            case["configs"],
            existing=case["existing_topics"],
            marked=case["marked_for_deletion"],
        )
        return {"ok": True}

    return judged(case, answer)


def _execute_json(case: Case) -> str | None:
    def answer() -> dict[str, Any]:
        file = parse_execute(case["text"])
        targets = {str(tp): list(ids) for tp, ids in file.targets.items()}
        dirs = {f"{r.topic}-{r.partition}-{r.broker}": d for r, d in file.log_dir_moves.items()}
        return {"partitions": targets, "log_dirs": dirs}

    return judged(case, answer)


def _generate_args(case: Case) -> str | None:
    def answer() -> dict[str, Any]:
        brokers = list(parse_broker_list(case["broker_list"]))
        return {"brokers": brokers, "topics": list(parse_topics_to_move(case["text"]))}

    return judged(case, answer)


def _throttle(case: Case) -> str | None:
    def answer() -> dict[str, Any]:
        active = {_tp(row): _assignment(row) for row in case["ongoing"]}
        moves = move_map(active, _targets(case["proposed"]), _targets(case["current"]))
        found = throttles_of(moves)
        brokers = list(found.brokers)
        return {"leader": found.leader, "follower": found.follower, "brokers": brokers}

    return judged(case, answer)


def _reassign_to(case: Case) -> str | None:
    steps: list[dict[str, Any]] = []
    now = ReplicaAssignment(_ids(case["initial"]))
    for target in case["targets"]:
        now = reassign_to(now, _ids(target))
        steps.append(
            {
                "replicas": list(now.replicas),
                "adding": list(now.adding),
                "removing": list(now.removing),
                "origin": list(now.origin),
                "target": list(now.target),
                "in_progress": now.in_progress,
            }
        )
    return difference(case["expected"], {"steps": steps})


def _tp(row: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def _assignment(row: Mapping[str, Any]) -> ReplicaAssignment:
    return ReplicaAssignment(*(_ids(row[name]) for name in ("replicas", "adding", "removing")))


def _ids(ids: Iterable[int]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, ids))


def _targets(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    return {_tp(row): _ids(row["replicas"]) for row in rows}


def _lists(lists: Mapping[str, list[int]]) -> dict[int, tuple[BrokerId, ...]]:
    return {int(p): _ids(ids) for p, ids in lists.items()}


RUNNERS: dict[str, Runner] = {
    "topic_name": _topic_name,
    "collision": _collision,
    "topic_config": _topic_config,
    "validate_create": _validate_create,
    "execute_json": _execute_json,
    "generate_args": _generate_args,
    "throttle": _throttle,
    "reassign_to": _reassign_to,
}
