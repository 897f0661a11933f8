"""The two sides of the story: how each runs a line, and what the cluster is like afterwards."""

from __future__ import annotations

import io
import re
import shlex
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from jvm.clusters import BROKERS, RealCluster
from jvm.tools import KafkaTools
from kedge.apply.throttles import Waiting, set_throttles, until_confirmed
from kedge.cli.app import run
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.execution import Lease
from kedge.model import BrokerId
from kedge.plan import TOPIC_THROTTLES, broker_rates
from tests.real.story import FILES, LONG, STORY
from tests.real.views import at_rest, of_one_mind

STAYS_S = 1.5
MOMENT_S = 0.25
PATIENCE_S = 20.0
QUIET = {"log_level": 0}


@dataclass(frozen=True, slots=True)
class Told:
    """What a side answered."""

    code: int
    out: str
    err: str


Teller = Callable[[list[str]], Told]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the story."""

    text: str
    words: tuple[str, ...]
    refused: bool

    @property
    def is_command(self) -> bool:
        return self.words[0] != ">"

    @property
    def changes(self) -> bool:
        """Whether the cluster may be another one afterwards."""
        return not self.refused and self.words[1] not in ("list", "describe", "generate")

    @property
    def moment_s(self) -> float:
        """How long a state must stay: a move leaves the list before brokers hear of its end."""
        return STAYS_S if self.words[0] == "reassign" else MOMENT_S


def lines_of(directory: Path, cluster: RealCluster) -> list[Line]:
    """The story with its files in place; `@1b` is the second directory of broker 1."""
    paths = {name: directory / f"{name}.txt" for name in FILES}
    for name, path in paths.items():
        text = FILES[name]
        for broker in BROKERS:
            for letter, log_dir in zip("ab", cluster.log_dirs(broker), strict=True):
                text = text.replace(f"@{broker}{letter}", log_dir)
        path.write_text(text)
    lines: list[Line] = []
    for text in STORY.strip().splitlines():
        refused = text.startswith("! ")
        words = shlex.split(text.removeprefix("! "))
        fill = {f"{{{name}}}": str(path) for name, path in paths.items()} | {"{long}": LONG}
        lines.append(Line(text, tuple(fill.get(word, word) for word in words), refused))
    return lines


def kafka_side(cluster: RealCluster, tools: KafkaTools) -> Teller:
    def tell(words: list[str]) -> Told:
        tool, *rest = words
        rest = rest if tool == "elect" else [f"--{rest[0]}", *rest[1:]]
        answer = tools(tool, "--bootstrap-server", cluster.bootstrap, *rest)
        return Told(answer.code, answer.out, answer.err)

    return tell


def kedge_side(cluster: RealCluster) -> Teller:
    def tell(words: list[str]) -> Told:
        out, err = io.StringIO(), io.StringIO()
        verbs = 1 if words[0] == "elect" else 2
        with redirect_stdout(out), redirect_stderr(err):
            reach = ["--bootstrap-server", cluster.bootstrap]
            code = run([*words[:verbs], *reach, *words[verbs:], *_confirmation(words)])
        return Told(code, out.getvalue(), err.getvalue())

    return tell


def _confirmation(words: list[str]) -> list[str]:
    """Kafka's tools never ask; ours need a yes before they delete, move or elect uncleanly."""
    asks = words[:2] in (["topics", "delete"], ["reassign", "execute"]) or "unclean" in words
    return ["--yes"] if asks else []


# ---- what lines say, and what may differ --------------------------------------------------------

_TOPIC_ID = re.compile(r"TopicId: \S+")
_CONFIGS = re.compile(r"Configs: (\S*)")
_NOISE = re.compile(r"^(WARNING|Warning): .*$\n?|^.* ERROR .*$\n?", re.MULTILINE)
_NAMES = re.compile(r"on topics (\S+)")
_QUOTAS = re.compile(r"(Quota configs for .* are )(.*)")
_NO_MOVES = "None of the specified partition moves are active."


def comparable(line: Line, told: Told) -> list[str]:
    """The lines without what cannot be the same: ids, warnings, the order of a hash map."""
    text = _NOISE.sub("", told.out)
    text = text.replace(_NO_MOVES, f"{_NO_MOVES}\n").replace("\n\n\n", "\n\n")
    text = _TOPIC_ID.sub("TopicId: …", text)
    text = _CONFIGS.sub(lambda m: "Configs: " + ",".join(sorted(m[1].split(","))), text)
    text = _QUOTAS.sub(lambda m: m[1] + ", ".join(sorted(m[2].split(", "))), text)
    text = _NAMES.sub(lambda m: "on topics " + ",".join(sorted(m[1].split(","))), text)
    lines = [each.rstrip() for each in text.splitlines()]
    if line.words[1] == "generate" and lines:
        lines[-1] = re.sub(r'"replicas":\[[\d,]+\]', '"replicas":[…]', lines[-1])
    if line.words[:2] in (("topics", "describe"), ("configs", "describe")):
        lines = _sorted_blocks([_unplaced(each) for each in lines])
    return [each for each in lines if each]


def _unplaced(text: str) -> str:
    """Where the cluster placed replicas by luck, only their number can be compared."""
    if not re.match(r"\tTopic: (logs|a\.b|plain)\t", text):
        return text
    counted = re.sub(r"(Replicas|Isr): ([\d,]+)", lambda m: f"{m[1]}: {m[2].count(',') + 1}", text)
    return re.sub(r"Leader: \d+", "Leader: …", counted)


def _sorted_blocks(lines: list[str]) -> list[str]:
    """Each title with the lines under it, in the order of the titles."""
    blocks: list[list[str]] = []
    for line in lines:
        if (
            blocks
            and line.startswith((" ", "\t"))
            and not (line.startswith("\t") and blocks[-1][0].startswith("\t"))
        ):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return [line for block in sorted(blocks) for line in block]


# ---- what the cluster is like -------------------------------------------------------------------

Quotas = Mapping[Any, Mapping[str, float]]


class Observer:
    """Looks at a cluster with a client that neither side uses."""

    def __init__(self, cluster: RealCluster) -> None:
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
        self._moves = KafkaAdmin(cluster.bootstrap)
        self._cluster = cluster
        self._patience_s = PATIENCE_S

    def direct(self, words: tuple[str, ...]) -> None:
        """Follow a stage direction."""
        match words[1:]:
            case ("fill", topic):
                self.fill(topic)
            case ("throttle", topic):
                self.throttle(topic)
            case ("stop", broker):
                self._cluster.stop_broker(int(broker))
                self._until(lambda: len(self._admin.list_topics(timeout=20).brokers) == 2)
            case ("start", broker):
                self._cluster.start_broker(int(broker))
                self._until(self._all_in_sync)
            case _:
                self._until(self._no_future_replicas)

    def _until(self, wanted: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not wanted():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _all_in_sync(self) -> bool:
        seen = self._admin.list_topics(timeout=20)
        partitions = [p for t in seen.topics.values() for p in t.partitions.values()]
        return len(seen.brokers) == len(BROKERS) and all(
            p.leader > 0 and len(p.isrs) == len(p.replicas) for p in partitions
        )

    def _no_future_replicas(self) -> bool:
        answered = self._moves.log_dirs(list(map(BrokerId, BROKERS))).values()
        found = [
            r for dirs in answered if isinstance(dirs, tuple) for d in dirs for r in d.replicas
        ]
        return not any(replica.future for replica in found)

    def state(self) -> dict[str, Any]:
        """Topics with their replicas, and every config that somebody has set."""
        seen = self._admin.list_topics(timeout=20)
        topics = seen.topics
        named = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
        brokers = [
            ConfigResource(ResourceType.BROKER, str(broker)) for broker in sorted(seen.brokers)
        ]
        configs: dict[str, Any] = {}
        for asked in [named, *([each] for each in brokers)] if named else [[b] for b in brokers]:
            for resource, future in self._admin.describe_configs(asked).items():
                configs[f"{resource.restype.name} {resource.name}"] = _set_by_somebody(future)
        return {
            "topics": {name: self._topic(name, topic) for name, topic in sorted(topics.items())},
            "configs": configs,
            "moving": sorted(map(str, self._moves.reassignments())),
        }

    def _topic(self, name: str, topic: Any) -> Any:
        partitions = {p: each.replicas for p, each in sorted(topic.partitions.items())}
        if name in ("logs", "a.b", "plain"):
            return {p: len(replicas) for p, replicas in partitions.items()}
        return partitions

    def settled(
        self, *, unlike: Mapping[str, Any] | None = None, moment_s: float = MOMENT_S
    ) -> dict[str, Any]:
        """The state once it stays for a moment, with no move under way but throttled ones.

        A broker may hear of an order after the others: what two looks see alike is not yet the end.
        After an order that went well it should be `unlike` the one before: brokers may hear of it
        late, all of them, so the old state is believed only if it stays.
        """
        deadline = time.monotonic() + PATIENCE_S
        stays = time.monotonic() + STAYS_S
        before, since = self.state(), time.monotonic()
        while time.monotonic() < deadline:
            time.sleep(0.05)
            now = self.state()
            if now != before:
                before, since = now, time.monotonic()
            changed = now != unlike or time.monotonic() > stays
            if changed and time.monotonic() - since > moment_s and self._at_rest(now):
                return now
        raise TimeoutError(f"the cluster does not settle: {before}")

    def eventually(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The state as soon as it is the wanted one; else the last one seen.

        Patience ends with the first disappointment: what went apart stays apart.
        """
        deadline = time.monotonic() + self._patience_s
        while time.monotonic() < deadline:
            now = self.state()
            if now == wanted and self._at_rest(now):
                return now
            time.sleep(0.05)
        self._patience_s = 0.5
        return self.state()

    def _at_rest(self, state: Mapping[str, Any]) -> bool:
        """Whether no broker is about to learn or to copy anything but what a throttle holds."""
        if _throttled(state):
            return of_one_mind(self._cluster.bootstrap)
        return not state["moving"] and at_rest(self._cluster.bootstrap)

    def fill(self, topic: str) -> None:
        """Put data into every partition of a topic, so that moving it takes time."""
        producer = Producer(
            {"bootstrap.servers": self._cluster.bootstrap, "acks": "all", "linger.ms": 0, **QUIET}
        )
        for partition in self._admin.list_topics(topic, timeout=20).topics[topic].partitions:
            for _ in range(60):
                producer.produce(topic, b"x" * 100_000, partition=partition)
        assert producer.flush(30) == 0

    def throttle(self, topic: str) -> None:
        """Hold every copy of a topic back, so that none is faster than the news of a throttle."""
        rates, lists = broker_rates(1000), dict.fromkeys(map(str, TOPIC_THROTTLES), "*")
        lease = Lease({str(broker): rates for broker in BROKERS}, {topic: lists})
        set_throttles(self._moves, lease)
        assert until_confirmed(self._moves, lease, Waiting()) == []

    def clear(self) -> None:
        """Remove every topic."""
        names = list(self._admin.list_topics(timeout=20).topics)
        for future in self._admin.delete_topics(names).values() if names else ():
            future.result()
        deadline = time.monotonic() + PATIENCE_S
        while self._admin.list_topics(timeout=20).topics and time.monotonic() < deadline:
            time.sleep(0.05)

    def close(self) -> None:
        self._moves.close()


def _set_by_somebody(future: Any) -> dict[str, str] | None:
    """The configs of a thing that are no defaults; None where it is just going away."""
    try:
        entries = future.result().values()
    except KafkaException:
        return None
    return {entry.name: entry.value for entry in entries if entry.source in (1, 2, 3)}


def _throttled(state: Mapping[str, Any]) -> bool:
    rates = [c.get("leader.replication.throttled.rate") for c in state["configs"].values()]
    return any(rate in ("1000", "2000") for rate in rates)
