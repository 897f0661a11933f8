"""Placement by hand: the text `0:1:2,1:2:0` of Kafka's `--replica-assignment`.

Commas part partitions (0, 1, 2, …), colons part replicas, the preferred leader first. Trailing
empty pieces vanish, leading and inner ones do not: `0:1,` reads as `0:1`, `0:1,,1:0` does not read.
`:` is one partition without replicas and `,` is no partition at all; who may use such a placement
is for others to judge.
"""

from __future__ import annotations

from kedge.errors import MalformedInput, MalformedNumber, RefusedCommand
from kedge.model import BrokerId
from kedge.model.java_text import split, trim, whole_number
from kedge.placement.result import Placement


def parse_manual(text: str) -> Placement:
    """Read a manual placement. Each partition is judged before the next one is read."""
    lists: list[list[BrokerId]] = []
    for partition, piece in enumerate(split(text, ",")):
        replicas = [_broker_id(number, partition) for number in split(piece, ":")]
        if len(set(replicas)) < len(replicas):
            raise RefusedCommand(
                f"partition {partition}: a broker twice in {trim(piece)}",
                hint="name each broker once per partition",
            )
        if lists and len(replicas) != len(lists[0]):
            raise MalformedInput(
                f"{len(replicas)} replicas, partition 0 has {len(lists[0])}",
                place=f"partition {partition}",
                hint="name as many brokers for every partition",
            )
        lists.append(replicas)
    return Placement.from_lists(dict(enumerate(lists)))


def _broker_id(text: str, partition: int) -> BrokerId:
    trimmed = trim(text)
    value = whole_number(trimmed)
    if value is None:
        raise MalformedNumber(
            f"{trimmed[:40]!r} is not a broker id",
            place=f"partition {partition}",
            hint="write lists such as 0:1:2,1:2:0",
        )
    return BrokerId(value)
