"""Plays controller scenarios and compares what happened with what Kafka's controller did.

`run_scenario(case, store_factory)` plays one on any store: the factory gives new sessions on one
empty tree. The controller is the real one (scripts, loop, executor); only the brokers are replaced,
by recorders that answer every request as the scenario says. The answer is None if everything is
as expected, otherwise the first difference in one line.
"""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable
from typing import Any

from kedge.brokers.recording import RecordingBrokers
from kedge.controller.effects import Script
from kedge.controller.events import (
    ElectionRequested,
    ElectionType,
    Event,
    IsrChangeRequested,
    ReassignmentRequested,
    ReassignmentsListed,
    RebalanceDue,
    ReplicasDeleted,
    RequestedIsr,
    ShutdownRequested,
    Started,
    UncleanElectionEnabled,
)
from kedge.controller.isr import IsrAnswer
from kedge.controller.leader_election import Strategy
from kedge.controller.partitions import ElectionRule, bring_online, mark_partitions
from kedge.controller.replicas import move_replicas
from kedge.controller.settings import Ibp, Settings
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import Broker, BrokerId, Endpoint, Leadership, Recovery, TopicPartition
from kedge.model.broker_requests import LeaderAndIsr, StopReplica, UpdateMetadata
from kedge.model.error_codes import ErrorCode
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.runtime.loop import Loop
from kedge.runtime.state_log import LogEntry
from kedge.store.port import (
    Create,
    Delete,
    Exists,
    GetData,
    Multi,
    Node,
    SetData,
    Store,
    StoreEvent,
    WatchFired,
)
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    NEW_ISR_CHANGE,
    NEW_LOG_DIR_EVENT,
    PREFERRED_ELECTION,
    REASSIGN_PARTITIONS,
    BrokerRegistration,
    ControllerClaim,
    TopicAssignment,
    broker_path,
    decode_controller_epoch,
    decode_state,
    decode_topic,
    delete_topic_path,
    encode_broker,
    encode_config,
    encode_controller,
    encode_controller_epoch,
    encode_log_dir_event,
    encode_partitions,
    encode_reassignments,
    encode_state,
    encode_topic,
    partition_path,
    partitions_path,
    state_path,
    topic_config_path,
    topic_path,
)
from tests.conformance.controller_kinds import (
    first_difference,
    ids,
    parse_assignment,
    parse_partition,
)
from tests.conformance.scenario_view import compare_requests, in_order, show_state

Case = dict[str, Any]
StoreFactory = Callable[[], Store]

UNCLEAN = "unclean.leader.election.enable"
NOT_STATE = ("requests", "result", "step")
APIS = {"LeaderAndIsr": LeaderAndIsr, "StopReplica": StopReplica, "UpdateMetadata": UpdateMetadata}
HELD = (PartitionState.ONLINE, PartitionState.OFFLINE)  # from here Online needs a strategy
PATIENCE_S = 20.0
MARKERS = itertools.count()


def run_scenario(case: Case, store_factory: StoreFactory) -> str | None:
    """Play a scenario; None if it passes, or the first difference."""
    world = World(case["input"], store_factory)
    try:
        world.become_controller(BrokerId(case["input"].get("controller", 100)))
        for number, expected in enumerate(case["expected"]["after"]):
            step = case["input"]["steps"][number - 1] if number else None
            found = world.play(step, expected)
            if found:
                return f"after step {expected.get('step', number)}: {found}"
        return None
    finally:
        world.close()


def settings_of(given: Case) -> Settings:
    """The settings that a scenario starts with: exactly Kafka's, its accidents included."""
    config = given.get("config", {})
    return Settings(
        ibp=Ibp.parse(given.get("ibp", "3.9")),
        delete_topics=config.get("delete.topic.enable", "true") == "true",
        auto_rebalance=False,  # the scenario says when
        imbalance_percentage_max=int(config.get("leader.imbalance.per.broker.percentage", "10")),
        unclean_elections=config.get(UNCLEAN, "false") == "true",
        safer=False,
    )


class World:
    """A cluster without data: a store, an operator, registrations, one controller."""

    def __init__(self, given: Case, store_factory: StoreFactory) -> None:
        self.factory = store_factory
        self.admin = store_factory()
        self.brokers = RecordingBrokers()
        self.settings = settings_of(given)
        self.log: list[LogEntry] = []
        self.loop: Loop
        self.heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        create_persistent_nodes(self.admin)
        self.set_the_stage(given)

    def close(self) -> None:
        self.loop.close()
        self.admin.close()

    # ---- before the first controller ----------------------------------------------------------

    def set_the_stage(self, given: Case) -> None:
        for broker in given["brokers"]:
            self.register(broker)
        if "controller_epoch" in given:
            data = encode_controller_epoch(given["controller_epoch"])
            self.admin.batch([Create(CONTROLLER_EPOCH, data)])
        for topic, partitions in given.get("topics", {}).items():
            self.write_topic(topic, partitions)
        for topic in given.get("delete_topics", []):
            self.admin.batch([Create(delete_topic_path(topic))])
        if "reassign_partitions" in given:
            self.write_plan(given["reassign_partitions"], update=False)
        if "preferred_replica_election" in given:
            self.write_election(given["preferred_replica_election"])

    def register(self, broker: int) -> None:
        self.admin.batch([registration(broker)])

    def write_topic(self, topic: str, partitions: Case, config: Case | None = None) -> None:
        if config is not None:
            self.admin.batch([Create(topic_config_path(topic), encode_config(config))])
        described = {int(p): as_partition(v) for p, v in partitions.items()}
        topic_id = f"{topic:_<22}"[:22] if self.settings.uses_topic_ids else None
        assignments = {p: parse_assignment(v) for p, v in described.items()}
        data = encode_topic(TopicAssignment(assignments, topic_id))
        self.admin.batch([Create(topic_path(topic), data)])
        for number, value in described.items():
            if value.get("state") is not None:
                self.write_first_state(TopicPartition(topic, number), value["state"])

    def write_first_state(self, tp: TopicPartition, state: Case) -> None:
        leadership = Leadership(
            BrokerId(state["leader"]),
            ids(state["isr"]),
            state.get("leader_epoch", 0),
            controller_epoch=state.get("controller_epoch", 1),
            recovery=Recovery(state.get("leader_recovery_state", state.get("recovery", 0))),
        )
        self.admin.batch(
            [
                Create(partitions_path(tp.topic)),
                Create(partition_path(tp)),
                Create(state_path(tp), encode_state(leadership)),
            ]
        )

    def write_plan(self, plan: Any, *, update: bool) -> None:
        if isinstance(plan, str):
            data = plan.encode()
        else:
            data = encode_reassignments({parse_partition(tp): ids(r) for tp, r in plan.items()})
        request = SetData if update else Create
        self.admin.batch([request(REASSIGN_PARTITIONS, data)])

    def write_election(self, partitions: list[str]) -> None:
        data = encode_partitions(map(parse_partition, partitions))
        self.admin.batch([Create(PREFERRED_ELECTION, data)])

    # ---- the controller -----------------------------------------------------------------------

    def become_controller(self, me: BrokerId) -> None:
        store = self.factory()
        self.loop = Loop(
            me,
            store,
            self.brokers,
            now_ms=lambda: 0,
            settings=self.settings,
            log=self.log.append,
        )
        store.listen(self.hear)
        self.loop.put(Started())

    def settle(self) -> None:
        """Let the controller work until nothing is left to do and nothing is on its way to it."""
        self.loop.run_until_idle()
        self.hear_everything()
        while self.loop.run_until_idle():
            self.hear_everything()

    def hear_everything(self) -> None:
        """Wait until the controller's session has heard all notices so far: they come in order,
        so the last one is of a node that is made for it."""
        marker = f"/marker{next(MARKERS)}"
        self.loop.executor.store.read([Exists(marker, watch=True)])
        self.admin.batch([Create(marker), Delete(marker)])
        while self.heard.get(timeout=PATIENCE_S) != marker:
            pass

    def hear(self, notice: StoreEvent) -> None:
        self.loop.on_store_event(notice)
        if isinstance(notice, WatchFired):
            self.heard.put(notice.path)

    def ask(self, event: Event) -> Any:
        answers: list[Any] = []
        self.loop.put(event, answers.append)
        self.settle()
        return answers[0] if answers else None

    def play(self, step: Case | None, expected: Case) -> str | None:
        """One step; the first difference from what is expected after it."""
        result = None if step is None else getattr(self, f"do_{step['op']}")(step)
        self.settle()
        requests, self.brokers.sent = self.brokers.sent, []
        if "result" in expected:
            found = first_difference(expected["result"], result, "result")
            if found:
                return found
        found = first_difference(
            in_order({k: v for k, v in expected.items() if k not in NOT_STATE}),
            show_state(self.loop.context, self.admin),
        )
        return found or compare_requests(expected["requests"], requests)

    # ---- steps: topics ------------------------------------------------------------------------

    def do_create_topic(self, step: Case) -> None:
        self.write_topic(step["topic"], step["partitions"], step.get("config"))

    def do_add_partitions(self, step: Case) -> None:
        path = topic_path(step["topic"])
        (node,) = self.admin.batch([GetData(path)])
        assert isinstance(node, Node)
        known = decode_topic(step["topic"], node.data)
        added = {int(p): parse_assignment(as_partition(v)) for p, v in step["partitions"].items()}
        whole = TopicAssignment({**known.partitions, **added}, known.topic_id)
        self.admin.batch([SetData(path, encode_topic(whole))])

    def do_delete_topic(self, step: Case) -> None:
        self.admin.batch([Create(delete_topic_path(step["topic"]))])

    def do_enable_unclean(self, step: Case) -> None:
        topic = step.get("topic")
        if topic is None:
            self.do_set_config({"config": {UNCLEAN: "true"}})
        else:
            path, data = topic_config_path(topic), encode_config({UNCLEAN: "true"})
            self.admin.batch([Create(path, data), SetData(path, data)])
        self.loop.put(UncleanElectionEnabled(topic))

    def do_set_config(self, step: Case) -> None:
        self.settings = settings_of({"ibp": str(self.settings.ibp), "config": step["config"]})
        self.loop.context.settings = self.settings

    # ---- steps: brokers -----------------------------------------------------------------------

    def do_broker_up(self, step: Case) -> None:
        self.register(step["broker"])

    def do_broker_down(self, step: Case) -> None:
        self.admin.batch([Delete(broker_path(BrokerId(step["broker"])))])

    def do_broker_bounce(self, step: Case) -> None:
        path = broker_path(BrokerId(step["broker"]))
        self.admin.batch([Multi((Delete(path), registration(step["broker"])))])

    def do_controlled_shutdown(self, step: Case) -> Case:
        broker = BrokerId(step["broker"])
        known = self.loop.context.registered.get(broker)
        epoch = step.get("broker_epoch", -1 if known is None else known.epoch)
        answer = self.ask(ShutdownRequested(broker, epoch))
        if answer.error is not ErrorCode.NONE:
            return {"error": answer.error.name}
        return {"remaining": [str(tp) for tp in answer.remaining]}

    def do_log_dir_failure(self, step: Case) -> None:
        data = encode_log_dir_event(BrokerId(step["broker"]))
        self.admin.batch([Create(NEW_LOG_DIR_EVENT, data, sequential=True)])

    def do_set_response(self, step: Case) -> None:
        broker, api = BrokerId(step["broker"]), APIS[step["api"]]
        match step["mode"]:
            case "ok":
                self.brokers.succeed(broker, api)
            case "none":
                self.brokers.stay_silent(broker, api)
            case error:
                named = step.get("partitions")
                chosen = (
                    None
                    if not named
                    else {parse_partition(name.strip()) for name in named.split(",")}
                )
                self.brokers.answer(broker, api, ErrorCode[error], chosen)

    def do_stop_replica_response(self, step: Case) -> None:
        errors = {parse_partition(tp): ErrorCode[code] for tp, code in step["errors"].items()}
        error = ErrorCode[step.get("request_error", "NONE")]
        self.loop.put(ReplicasDeleted(BrokerId(step["broker"]), errors, error))

    # ---- steps: ISR changes -------------------------------------------------------------------

    def do_alter_isr(self, step: Case) -> Case:
        context, tp = self.loop.context, parse_partition(step["partition"])
        now = context.leaderships.get(tp, Leadership(BrokerId(-1), ()))
        sender = BrokerId(step.get("from", now.leader))
        known = context.registered.get(sender)
        version = step.get("version", 3)
        key = tp.topic if version < 2 else context.topic_ids.get(tp.topic, "unknown")
        if step.get("unknown_topic_id"):
            key = "no topic has this id"
        wish = RequestedIsr(
            ids(step["isr"]),
            now.leader_epoch + step.get("leader_epoch_delta", 0),
            now.partition_epoch + step.get("partition_epoch_delta", 0),
            Recovery(step.get("recovery", 0)),
        )
        epoch = (0 if known is None else known.epoch) + step.get("broker_epoch_delta", 0)
        topics = {key: {tp.partition: wish}}
        return show_isr_answer(self.ask(IsrChangeRequested(sender, epoch, topics, version)))

    def do_zk_isr_change(self, step: Case) -> None:
        tp = parse_partition(step["partition"])
        (node,) = self.admin.batch([GetData(state_path(tp))])
        assert isinstance(node, Node)
        now = decode_state(tp, node.data, node.stat.version)
        changed = Leadership(
            now.leader, ids(step["isr"]), now.leader_epoch, 0, now.controller_epoch, now.recovery
        )
        self.admin.batch([SetData(state_path(tp), encode_state(changed))])
        if step.get("notify", True):
            data = encode_partitions([tp])
            self.admin.batch([Create(NEW_ISR_CHANGE, data, sequential=True)])

    # ---- steps: elections and moves -----------------------------------------------------------

    def do_elect_leaders(self, step: Case) -> Case:
        named = step.get("partitions")
        every = self.loop.context.assignments if named is None else map(parse_partition, named)
        partitions = frozenset(every)
        kind = ElectionType(step.get("type", "PREFERRED"))
        answer = self.ask(ElectionRequested(partitions, kind))
        return {str(tp): code.name for tp, code in answer.items()}

    def do_zk_preferred_election(self, step: Case) -> None:
        self.write_election(step["partitions"])

    def do_auto_rebalance(self, step: Case) -> None:
        self.loop.put(RebalanceDue())

    def do_api_reassign(self, step: Case) -> Case:
        targets = {
            parse_partition(tp): None if target is None else ids(target)
            for tp, target in step["plan"].items()
        }
        answer = self.ask(ReassignmentRequested(targets))
        if isinstance(answer, ErrorCode):
            return {"error": answer.name}
        return {"partitions": {str(tp): code.name for tp, code in answer.items()}}

    def do_zk_reassign(self, step: Case) -> None:
        self.write_plan(step.get("raw", step.get("plan")), update=step.get("update", False))

    def do_list_reassignments(self, step: Case) -> Case:
        named = step.get("partitions")
        asked = None if named is None else frozenset(map(parse_partition, named))
        answer = self.ask(ReassignmentsListed(asked))
        if isinstance(answer, ErrorCode):
            return {"error": answer.name}
        return {
            str(tp): {
                "replicas": list(a.replicas),
                "adding": list(a.adding),
                "removing": list(a.removing),
            }
            for tp, a in answer.items()
        }

    # ---- steps: the role ----------------------------------------------------------------------

    def do_failover(self, step: Case) -> None:
        self.loop.close()
        self.become_controller(BrokerId(step["to"]))

    def do_steal_controller(self, step: Case) -> None:
        (node,) = self.admin.batch([GetData(CONTROLLER_EPOCH)])
        assert isinstance(node, Node)
        epoch = decode_controller_epoch(node.data) + 1
        raised = SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch))
        if step.get("only_epoch"):
            self.admin.batch([raised])
            return
        data = encode_controller(ControllerClaim(BrokerId(step["to"]), 0))
        claim = Create(CONTROLLER, data, ephemeral=True)
        self.admin.batch([Multi((Delete(CONTROLLER), claim, raised))])

    # ---- steps: the machines alone ------------------------------------------------------------

    def do_force_partition_state(self, step: Case) -> None:
        tp = parse_partition(step["partition"])
        self.loop.context.set_partition_state(tp, PartitionState(step["state"]))

    def do_force_replica_state(self, step: Case) -> None:
        tp, state = parse_partition(step["partition"]), ReplicaState(step["state"])
        self.loop.context.set_replica_state(BrokerId(step["replica"]), tp, state)

    def do_partition_state_change(self, step: Case) -> None:
        partitions = sorted(map(parse_partition, step["partitions"]))
        target = PartitionState(step["target"])
        context = self.loop.context
        if target is PartitionState.ONLINE:
            electing = any(context.partition_state(tp) in HELD for tp in partitions)
            if step.get("strategy") is not None or not electing:
                self.execute(bring_online(context, partitions, rule_of(step)))
        else:
            self.execute(mark_partitions(context, partitions, target))

    def do_replica_state_change(self, step: Case) -> None:
        replicas: dict[BrokerId, list[TopicPartition]] = {}
        for name, broker in step["replicas"]:
            replicas.setdefault(BrokerId(broker), []).append(parse_partition(name))
        target = ReplicaState(step["target"])
        self.execute(move_replicas(self.loop.context, replicas, target))

    def execute(self, script: Script[Any]) -> None:
        self.loop.run_script(script)


def rule_of(step: Case) -> ElectionRule:
    name = step.get("strategy") or "offline"
    unclean = step.get("unclean", False) or "unclean" in name
    return ElectionRule(Strategy.OFFLINE if unclean else Strategy(name), force_unclean=unclean)


def registration(broker: int) -> Create:
    endpoint = Endpoint("PLAINTEXT", "localhost", 9092 + broker)
    described = BrokerRegistration(Broker(BrokerId(broker), endpoints=(endpoint,)))
    return Create(broker_path(BrokerId(broker)), encode_broker(described), ephemeral=True)


def as_partition(value: Any) -> Case:
    return value if isinstance(value, dict) else {"replicas": value}


def show_isr_answer(answer: IsrAnswer) -> Case:
    if answer.error is not ErrorCode.NONE:
        return {"error": answer.error.name}
    shown: Case = {"error": "NONE", "partition_error": "NONE"}
    for code in answer.errors.values():
        shown["partition_error"] = code.name
    for now in answer.stored.values():
        shown |= {
            "leader": now.leader,
            "leader_epoch": now.leader_epoch,
            "isr": list(now.isr),
            "partition_epoch": now.partition_epoch,
        }
    return shown
