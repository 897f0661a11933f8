"""Random scenarios, each from one seed: every kind of step, ordinary and odd ones.

scenario(17)    # {"brokers": [1, 2, 3], "topics": {...}, "steps": [{"op": ...}, ...]}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.draft import TOPICS, Draft

Case = dict[str, Any]
Maker = Callable[[Draft], Case | None]  # None: nothing to do of that kind now

PARTITION_STATES = (
    "NewPartition",
    "OnlinePartition",
    "OfflinePartition",
    "NonExistentPartition",
)
REPLICA_STATES = (
    "NewReplica",
    "OnlineReplica",
    "OfflineReplica",
    "ReplicaDeletionStarted",
    "ReplicaDeletionSuccessful",
    "ReplicaDeletionIneligible",
    "NonExistentReplica",
)
STRATEGIES = ("offline", "reassign", "preferred", "controlled_shutdown")
BAD_PLANS = (
    "not json",
    '{"version":1,"partitions":[]}',
    '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[]}]}',
    '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,2]}]}',
    '{"version":1,"partitions":[{"topic":"t","partition":0}]}',
)


def scenario(seed: int) -> Case:
    """The input of the scenario with this seed."""
    draft = Draft(seed)
    draft.set_the_stage()
    if not draft.topics or draft.chance(0.3):
        draft.given["steps"] += filter(None, [create_topic(draft)])
    makers = list(MAKERS)
    # every scenario has favourites: some kinds of steps often, others not at all
    favour = [draft.luck.choice((0, 1, 1, 1, 4)) for _ in makers]
    weights = [MAKERS[maker] * more for maker, more in zip(makers, favour, strict=True)]
    count = draft.luck.randint(13, 25) if draft.chance(0.1) else draft.luck.randint(3, 12)
    for _ in range(count if any(weights) else 0):
        (maker,) = draft.luck.choices(makers, weights)
        step = maker(draft)
        draft.given["steps"] += [] if step is None else [step]
    return draft.given


# ---- topics ------------------------------------------------------------------------------------


def create_topic(draft: Draft) -> Case | None:
    unused = [topic for topic in TOPICS if topic not in draft.topics]
    topic = draft.luck.choice(unused or TOPICS)
    count = draft.luck.choice((1, 1, 2, 3))
    odd = 0.1 if draft.chance(0.1) else 0.0
    draft.topics[topic] = {p: draft.replicas(odd) for p in range(count)}
    step: Case = {
        "op": "create_topic",
        "topic": topic,
        "partitions": {str(p): list(r) for p, r in draft.topics[topic].items()},
    }
    if draft.chance(0.1):
        value = draft.luck.choice(("true", "true", "false"))
        step["config"] = {"unclean.leader.election.enable": value}
    return step


def add_partitions(draft: Draft) -> Case | None:
    topic = draft.topic()
    known = draft.topics.get(topic)
    if known is None:
        return None
    first = max(known, default=-1) + 1
    added = {first + n: draft.replicas() for n in range(draft.luck.choice((1, 2)))}
    known.update({p: list(r) for p, r in added.items()})
    partitions = {str(p): r for p, r in added.items()}
    return {"op": "add_partitions", "topic": topic, "partitions": partitions}


def delete_topic(draft: Draft) -> Case | None:
    return {"op": "delete_topic", "topic": "nobody" if draft.chance(0.05) else draft.topic()}


def enable_unclean(draft: Draft) -> Case | None:
    return {"op": "enable_unclean", "topic": draft.topic()}


# ---- brokers -----------------------------------------------------------------------------------


def broker_up(draft: Draft) -> Case | None:
    absent = sorted(set(draft.known) - draft.registered)
    if not absent and draft.chance(0.8):
        return None
    broker = draft.luck.choice(absent or [7])
    if broker not in draft.known:
        draft.known.append(broker)
    draft.registered.add(broker)
    return {"op": "broker_up", "broker": broker}


def broker_down(draft: Draft) -> Case | None:
    if not draft.registered:
        return None
    broker = draft.luck.choice(sorted(draft.registered))
    draft.registered.discard(broker)
    return {"op": "broker_down", "broker": broker}


def broker_bounce(draft: Draft) -> Case | None:
    return {"op": "broker_bounce", "broker": draft.broker()}


def controlled_shutdown(draft: Draft) -> Case | None:
    step: Case = {"op": "controlled_shutdown", "broker": draft.broker()}
    if draft.chance(0.1):
        step["broker_epoch"] = draft.luck.choice((-1, 0, 10**12))
    return step


def log_dir_failure(draft: Draft) -> Case | None:
    broker = draft.broker()
    if draft.chance(0.7):
        draft.given["steps"].append(
            {
                "op": "set_response",
                "broker": broker,
                "api": "LeaderAndIsr",
                "mode": "KAFKA_STORAGE_ERROR",
                "partitions": ",".join(draft.partitions()),
            }
        )
    return {"op": "log_dir_failure", "broker": broker}


def set_response(draft: Draft) -> Case | None:
    api = draft.luck.choice(("LeaderAndIsr", "StopReplica", "StopReplica", "UpdateMetadata"))
    errors = ["KAFKA_STORAGE_ERROR", "STALE_CONTROLLER_EPOCH", "UNKNOWN_SERVER_ERROR"]
    mode = draft.luck.choice(["ok", "none", *errors])
    step: Case = {"op": "set_response", "broker": draft.broker(), "api": api, "mode": mode}
    if mode not in ("ok", "none") and draft.chance(0.6):
        step["partitions"] = ",".join(draft.partitions())
    return step


def stop_replica_response(draft: Draft) -> Case | None:
    codes = ("NONE", "NONE", "KAFKA_STORAGE_ERROR", "STALE_CONTROLLER_EPOCH")
    errors = {name: draft.luck.choice(codes) for name in draft.partitions(0.02)}
    step: Case = {"op": "stop_replica_response", "broker": draft.broker(), "errors": errors}
    if draft.chance(0.15):
        step["request_error"] = draft.luck.choice(codes[2:])
    return step


# ---- ISR changes -------------------------------------------------------------------------------


def some_isr(draft: Draft, name: str) -> list[int]:
    everyone = draft.everyone(name)
    count = len(everyone) if draft.chance(0.5) else draft.luck.randint(1, len(everyone))
    isr = draft.some(everyone, count)
    return isr if draft.chance(0.4) else [b for b in everyone if b in isr]


def alter_isr(draft: Draft) -> Case | None:
    name = draft.partition()
    step: Case = {"op": "alter_isr", "partition": name, "isr": some_isr(draft, name)}
    if draft.chance(0.2):
        key = draft.luck.choice(
            ("broker_epoch_delta", "leader_epoch_delta", "partition_epoch_delta")
        )
        step[key] = draft.luck.choice((-1, 1))
    if draft.chance(0.1):
        step["from"] = draft.broker()
    if draft.chance(0.15):
        step["version"] = draft.luck.choice((0, 1, 2))
    if draft.chance(0.08):
        step["recovery"] = draft.luck.choice((0, 1))
    if draft.chance(0.02):
        step["unknown_topic_id"] = True
    return step


def zk_isr_change(draft: Draft) -> Case | None:
    name = draft.partition()
    step: Case = {"op": "zk_isr_change", "partition": name, "isr": some_isr(draft, name)}
    if draft.chance(0.3):
        step["notify"] = False
    return step


# ---- elections and moves -----------------------------------------------------------------------


def elect_leaders(draft: Draft) -> Case | None:
    step: Case = {"op": "elect_leaders"}
    if draft.chance(0.7):
        step["partitions"] = draft.partitions()
    if draft.chance(0.6):
        step["type"] = draft.luck.choice(("PREFERRED", "UNCLEAN"))
    return step


def zk_preferred_election(draft: Draft) -> Case | None:
    return {"op": "zk_preferred_election", "partitions": draft.partitions()}


def auto_rebalance(draft: Draft) -> Case | None:
    return {"op": "auto_rebalance"}


def target(draft: Draft, name: str) -> list[int] | None:
    """Where a partition is to go: anywhere, near where it is, or back."""
    if draft.chance(0.2):
        return None
    if draft.chance(0.04):
        return draft.luck.choice(([], [1, 1], [-1, 2]))
    if draft.chance(0.3):
        everyone = draft.everyone(name)
        return draft.some(everyone, draft.luck.randint(1, len(everyone)))
    return draft.replicas(odd=0.04)


def api_reassign(draft: Draft) -> Case | None:
    plan = {name: target(draft, name) for name in draft.partitions()}
    for name, replicas in plan.items():
        draft.remember(name, replicas)
    return {"op": "api_reassign", "plan": plan}


def zk_reassign(draft: Draft) -> Case | None:
    if draft.chance(0.1):
        return {"op": "zk_reassign", "raw": draft.luck.choice(BAD_PLANS)}
    plan = {name: target(draft, name) or draft.replicas() for name in draft.partitions()}
    for name, replicas in plan.items():
        draft.remember(name, replicas)
    step: Case = {"op": "zk_reassign", "plan": plan}
    if draft.chance(0.15):
        step["update"] = True
    return step


def list_reassignments(draft: Draft) -> Case | None:
    step: Case = {"op": "list_reassignments"}
    return {**step, "partitions": draft.partitions()} if draft.chance(0.5) else step


# ---- the role and the machines -----------------------------------------------------------------


def failover(draft: Draft) -> Case | None:
    return {"op": "failover", "to": draft.luck.choice((101, 102, 100))}


def steal_controller(draft: Draft) -> Case | None:
    if draft.chance(0.5):
        return {"op": "steal_controller", "to": 555}
    return {"op": "steal_controller", "to": 0, "only_epoch": True}


def force_partition_state(draft: Draft) -> Case | None:
    state = draft.luck.choice(PARTITION_STATES)
    return {"op": "force_partition_state", "partition": draft.partition(0), "state": state}


def force_replica_state(draft: Draft) -> Case | None:
    name, state = draft.partition(0), draft.luck.choice(REPLICA_STATES)
    replica = draft.luck.choice(draft.everyone(name))
    return {"op": "force_replica_state", "partition": name, "replica": replica, "state": state}


def partition_state_change(draft: Draft) -> Case | None:
    step: Case = {
        "op": "partition_state_change",
        "partitions": draft.partitions(0),
        "target": draft.luck.choice(PARTITION_STATES),
    }
    if step["target"] == "OnlinePartition":
        step["strategy"] = draft.luck.choice(STRATEGIES)
        if step["strategy"] == "offline" and draft.chance(0.3):
            step["unclean"] = True
    return step


def replica_state_change(draft: Draft) -> Case | None:
    pairs = [[name, draft.luck.choice(draft.everyone(name))] for name in draft.partitions(0)]
    state = draft.luck.choice(REPLICA_STATES)
    return {"op": "replica_state_change", "replicas": pairs, "target": state}


MAKERS: dict[Maker, float] = {
    create_topic: 1.5,
    add_partitions: 1.0,
    delete_topic: 1.2,
    enable_unclean: 0.4,
    broker_up: 2.5,
    broker_down: 2.5,
    broker_bounce: 1.0,
    controlled_shutdown: 1.5,
    log_dir_failure: 1.0,
    set_response: 0.8,
    stop_replica_response: 0.6,
    alter_isr: 3.5,
    zk_isr_change: 1.2,
    elect_leaders: 1.5,
    zk_preferred_election: 0.6,
    auto_rebalance: 0.7,
    api_reassign: 3.5,
    zk_reassign: 1.2,
    list_reassignments: 0.3,
    failover: 1.2,
    steal_controller: 0.15,
    force_partition_state: 0.2,
    force_replica_state: 0.2,
    partition_state_change: 0.4,
    replica_state_change: 0.4,
}
