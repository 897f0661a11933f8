"""Plays a story on the memory store and writes down what happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kedge.controller.effects import Effect
from kedge.controller.events import Started
from kedge.controller.settings import Settings
from kedge.model import BrokerId, TopicPartition
from kedge.model.broker_requests import BrokerRequest, LeaderAndIsr, StopReplica
from kedge.runtime.loop import Loop
from kedge.store import MemoryEnsemble, MemoryStore
from kedge.store.port import Create, SetData
from kedge.store.znodes import (
    NEW_CONFIG_CHANGE,
    config_path,
    encode_config,
    encode_config_change,
)
from tests.conformance.scenarios import World

Case = dict[str, Any]


class Died(BaseException):
    """The controller's process is no more: nothing of it may run on, so no handler catches this."""


class MortalLoop(Loop):
    """A loop that dies after the n-th order of a kind, when told to."""

    dies_after: tuple[str, int] | None = None

    def _execute(self, name: str, effect: Effect, reply: Any) -> Any:
        answer = super()._execute(name, effect, reply)
        if self.dies_after is not None and type(effect).__name__ == self.dies_after[0]:
            kind, left = self.dies_after
            self.dies_after = (kind, left - 1)
            if left == 1:
                raise Died
        return answer


class Story(World):
    """A world that is told what to do in words."""

    def __init__(self, brokers: list[int]) -> None:
        self.ensemble = MemoryEnsemble()
        super().__init__({"brokers": brokers}, lambda: MemoryStore(self.ensemble))
        self.settings = Settings(auto_rebalance=False)  # as in production; the story says when
        self.seen: dict[TopicPartition, str] = {}
        self.me = BrokerId(0)
        self.dead = False

    def become_controller(self, me: BrokerId) -> None:
        self.me, self.dead = me, False
        self.session = MemoryStore(self.ensemble)
        self.mortal = self.loop = MortalLoop(
            me,
            self.session,
            self.brokers,
            now_ms=lambda: 0,
            settings=self.settings,
            log=self.log.append,
        )
        self.session.listen(self.hear)
        self.loop.put(Started())

    def do_failover(self, step: Case) -> None:
        if self.dead:
            self.session.expire()
        else:
            self.loop.close()
        self.become_controller(BrokerId(step["to"]))

    def do_configure(self, step: Case) -> None:
        path, data = config_path(step["entity"]), encode_config(step["config"])
        note = encode_config_change(step["entity"])
        self.admin.batch([Create(path, data), SetData(path, data)])
        self.admin.batch([Create(NEW_CONFIG_CHANGE, note, sequential=True)])

    def tell(self, command: str) -> list[str]:
        """Carry one command out; the lines of what happened."""
        word, *rest = command.split()
        if word == "crash":
            self.mortal.dies_after = (rest[1], int(rest[2]) if len(rest) > 2 else 1)
            return []
        lines: list[str] = []
        try:
            result = None if word == "brokers" else self._order(word, rest)
            self.settle()
            lines += _answer_lines(result)
        except Died:
            self.dead = True
            lines.append(f"controller {self.me} dies")
        return [*self._log_lines(), *self._request_lines(), *self._partition_lines(), *lines]

    def _order(self, word: str, rest: list[str]) -> Any:
        step = _step(word, rest)
        return getattr(self, f"do_{step['op']}")(step)

    def _log_lines(self) -> Iterator[str]:
        entries, self.log[:] = list(self.log), []
        for entry in entries:
            moved = entry.details.get("partitions")
            if moved is None:
                yield f"  {entry.what}"
                continue
            what = f"broker {entry.details['broker']}: " if "broker" in entry.details else ""
            yield f"  {what}{' '.join(map(str, moved))} → {entry.details['state']}"

    def _request_lines(self) -> Iterator[str]:
        """Requests in order; what goes to several brokers one after the other is one line."""
        requests, self.brokers.sent = self.brokers.sent, []
        for round_ in _rounds(requests):
            brokers: dict[str, list[BrokerId]] = {}
            for request in round_:
                for what in _request_words(request):
                    brokers.setdefault(what, []).append(request.to)
            for what, to in brokers.items():
                yield f"  to {_commas(to)}: {what}"

    def _partition_lines(self) -> Iterator[str]:
        """The partitions that are not as they were after the last command."""
        context = self.loop.context
        now = {tp: _partition_words(self, tp) for tp in sorted(context.assignments)}
        for tp in sorted(self.seen.keys() | now.keys()):
            if self.seen.get(tp) != now.get(tp):
                yield f"{tp}  {now.get(tp, 'gone')}"
        self.seen = now


def play(commands: list[str]) -> list[list[str]]:
    """What happens after each command; the first one names the brokers."""
    story = Story([int(broker) for broker in commands[0].split()[1:]])
    story.become_controller(BrokerId(100))
    try:
        return [story.tell(command) for command in commands]
    finally:
        story.close()


def _step(word: str, rest: list[str]) -> Case:
    match word, rest:
        case "create", [topic, *partitions]:
            return {"op": "create_topic", "topic": topic, "partitions": _lists(partitions)}
        case "expand", [topic, *partitions]:
            return {"op": "add_partitions", "topic": topic, "partitions": _lists(partitions)}
        case "delete", [topic]:
            return {"op": "delete_topic", "topic": topic}
        case (("up" | "down"), [broker]):
            return {"op": f"broker_{word}", "broker": int(broker)}
        case "shutdown", [broker]:
            return {"op": "controlled_shutdown", "broker": int(broker)}
        case "isr", [partition, isr]:
            return {"op": "alter_isr", "partition": partition, "isr": _ids(isr)}
        case "reassign", [partition, target]:
            return {"op": "api_reassign", "plan": {partition: _ids(target)}}
        case "cancel", [partition]:
            return {"op": "api_reassign", "plan": {partition: None}}
        case "configure", [entity, *settings]:
            return {"op": "configure", "entity": entity, "config": dict(_pairs(settings))}
        case "elect", partitions:
            return {"op": "elect_leaders", "partitions": partitions}
        case "failover", [to]:
            return {"op": "failover", "to": int(to)}
        case _:
            raise ValueError(f"no such command in a story: {word} {' '.join(rest)}")


def _lists(pieces: list[str]) -> Case:
    return {number: _ids(replicas) for number, replicas in _pairs(pieces)}


def _pairs(pieces: list[str]) -> Iterator[tuple[str, str]]:
    for piece in pieces:
        name, _, value = piece.partition("=")
        yield name, value


def _ids(text: str) -> list[int]:
    return [int(broker) for broker in text.split(",")]


def _commas(ids: Any) -> str:
    return ",".join(map(str, ids)) or "none"


def _rounds(requests: list[BrokerRequest]) -> Iterator[list[BrokerRequest]]:
    """Requests of one kind, one after the other, each to another broker."""
    round_: list[BrokerRequest] = []
    for request in requests:
        other_kind = bool(round_) and type(request) is not type(round_[0])
        if other_kind or any(request.to == earlier.to for earlier in round_):
            yield round_
            round_ = []
        round_.append(request)
    if round_:
        yield round_


def _request_words(request: BrokerRequest) -> Iterator[str]:
    for tp in sorted(request.partitions):
        entry: Any = request.partitions[tp]
        if isinstance(request, StopReplica):
            yield f"StopReplica {tp}{' and delete' if entry.delete else ''}, e{entry.leader_epoch}"
            continue
        now = entry.leadership
        words = f"{tp} leader {now.leader} e{now.leader_epoch} isr {_commas(now.isr)}"
        if isinstance(request, LeaderAndIsr):
            fresh = ", new" if entry.is_new else ""
            yield f"LeaderAndIsr {words} of {_commas(entry.assignment.replicas)}{fresh}"
        else:
            yield f"UpdateMetadata {words}"
    if not request.partitions:
        yield f"{type(request).__name__} of no partitions"


def _partition_words(story: Story, tp: TopicPartition) -> str:
    context = story.loop.context
    assignment, now = context.assignments[tp], context.leaderships.get(tp)
    words = [context.partition_state(tp).value.removesuffix("Partition")]
    if now is not None:
        words.append(f"leader {now.leader} e{now.leader_epoch} isr {_commas(now.isr)}")
    words.append(f"of {_commas(assignment.replicas)}")
    if assignment.in_progress:
        coming, going = _commas(assignment.adding), _commas(assignment.removing)
        words.append(f"(adding {coming}, removing {going})")
    return " ".join(words)


def _answer_lines(result: Any) -> list[str]:
    if not result:
        return []
    shown: Case = result.get("partitions", result)
    pairs = [f"{key} {value}" for key, value in shown.items() if key != "partition_epoch"]
    return [f"answer: {', '.join(pairs)}"]
