"""One reassignment in both modes, as docs/concepts/kraft.md tells it, made by the code.

`python -m tests.docs.reassignment_story` writes it. The ZooKeeper side is taken from the story in
tests/scenarios, which is itself made by the controller.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kedge.metadata import Image, Settings, Situation, decide, replay_all
from kedge.metadata.brokers import RegisterBroker
from kedge.metadata.decision import SUPPORTED_FEATURES
from kedge.metadata.heartbeats import Heartbeat
from kedge.metadata.isr_changes import AlterPartition, WantedIsr
from kedge.metadata.metadata_version import FEATURE, LATEST
from kedge.metadata.reassignments import AlterReassignments, ReassignmentOrder
from kedge.metadata.records import Endpoint, FeatureRange, PartitionChangeRecord
from kedge.metadata.topics import CreateTopics, NewTopicRequest

PAGE = Path("docs/concepts/kraft.md")
SCENARIO = Path("tests/scenarios/reassign.txt")
BEGIN, END = "<!-- reassignment: begin -->\n", "<!-- reassignment: end -->"
STEPS = (("> reassign t-0 1,3", "reassign t-0 to 1,3"), ("> isr t-0 1,2,3", "3 has caught up"))


def generated() -> str:
    """The table."""
    kraft = list(_kraft_side())
    zookeeper = [list(_zookeeper_side(command)) for command, _ in STEPS]
    lines = [
        "",
        "| | ZooKeeper: state of the partition, requests sent | KRaft: records |",
        "|---|---|---|",
    ]
    for (_, what), old, new in zip(STEPS, zookeeper, kraft, strict=True):
        lines.append(f"| {what} | {' · '.join(old)} | {new} |")
    return "\n".join([*lines, "", ""])


def written() -> str:
    """What the page says now."""
    return PAGE.read_text().partition(BEGIN)[2].partition(END)[0]


def _zookeeper_side(command: str) -> Iterator[str]:
    """The requests and the state after a step of the scenario."""
    block = SCENARIO.read_text().partition(command + "\n")[2].partition("\n\n")[0].splitlines()
    sent = [line.split(":")[1].split()[0] for line in block if line.startswith("  to ")]
    state = next(line for line in block if line.startswith("t-0 "))
    yield state.removeprefix("t-0  Online ")
    for kind in dict.fromkeys(sent):
        yield f"{sent.count(kind)} × {kind}"


class _Cluster:
    """Three brokers and a partition, decided and replayed without a log."""

    def __init__(self) -> None:
        ids = iter(f"{number:022d}" for number in range(1, 99))
        self.at = Situation(
            Settings(3001, "cluster", (3001,)),
            Image(features={FEATURE: LATEST}),
            new_id=lambda: next(ids),
            draw=lambda bound: 0,
        )

    def do(self, request: Any) -> tuple[Any, list[Any]]:
        made = decide(self.at, request)
        records = [versioned.record for versioned in made.records]
        image = replay_all(self.at.image, records, self.at.next_offset)
        offset = self.at.next_offset + len(records)
        self.at = replace(self.at, image=image, soft=made.soft, next_offset=offset)
        return made.answer, records

    def add_broker(self, broker: int) -> int:
        ranges = tuple(FeatureRange(n, low, high) for n, (low, high) in SUPPORTED_FEATURES.items())
        listener = (Endpoint("PLAINTEXT", "host", 9092),)
        epoch, _ = self.do(
            RegisterBroker(
                broker,
                "cluster",
                f"{broker:022d}",
                listener,
                ranges,
                None,
                (f"{broker:03d}" + "C" * 19,),
            )
        )
        self.do(Heartbeat(broker, epoch, 10**6))
        return epoch


def _kraft_side() -> Iterator[str]:
    cluster = _Cluster()
    epochs = {broker: cluster.add_broker(broker) for broker in (1, 2, 3)}
    cluster.do(CreateTopics((NewTopicRequest("t", assignments=((0, (1, 2)),)),)))
    _, records = cluster.do(AlterReassignments((ReassignmentOrder("t", 0, (1, 3)),)))
    yield "; ".join(map(_told, records))
    topic = cluster.at.image.topic_named("t")
    assert topic is not None
    now = topic.partitions[0]
    wanted = tuple((broker, epochs[broker]) for broker in (1, 2, 3))
    change = WantedIsr(topic.id, 0, now.leader_epoch, now.epoch, wanted)
    _, records = cluster.do(AlterPartition(1, epochs[1], (change,)))
    yield "; ".join(map(_told, records))


def _told(record: Any) -> str:
    assert isinstance(record, PartitionChangeRecord)
    parts = {
        "replicas": record.replicas,
        "ISR": record.isr,
        "adding": record.adding_replicas,
        "removing": record.removing_replicas,
    }
    told = [
        f"{name} {','.join(map(str, ids)) or 'none'}"
        for name, ids in parts.items()
        if ids is not None
    ]
    return "PartitionChange: " + " · ".join(told)


if __name__ == "__main__":
    head, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(head + BEGIN + generated() + END + rest.partition(END)[2])
