"""Records of runs in a topic: foreign and damaged ones are skipped, damaged runs are refused."""

from __future__ import annotations

import json
from random import Random

from kedge.apply.run_records import LogImage, Owner, lease_entry, line_entries, plan_entries
from kedge.cluster.log_port import LogEntry, LogRecord
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment, plan_to_json
from tests.fuzz.driver import only_refusals, start
from tests.fuzz.mutation import mutated_bytes
from tests.fuzz.run_journal import EVENTS

RUN = "2026-11-16T01-30-00.123456Z-3f9c"
T0 = TopicPartition("orders", 0)
PLAN = Plan((Reassignment.anywhere(T0, (BrokerId(2),)),), {T0: (BrokerId(1),)}, cluster_id="c")


def entries(random: Random) -> list[LogEntry]:
    """What a run writes, a line of it longer than a record may be."""
    made = [lease_entry(Owner("host", 1, "nonce", "machine", "1")), *plan_entries(RUN, _plan())]
    for number, event in enumerate(EVENTS):
        padding = {"more": random.randbytes(60_000).hex()} if random.random() < 0.2 else {}
        line = json.dumps({**event, **padding}).encode() + b"\n"
        made += line_entries(RUN, number, line)
    return [*made, LogEntry(f"request/{RUN}/1", b"{}")]


def _plan() -> bytes:
    return plan_to_json(PLAN)


def fuzz(seed: int) -> None:
    """Read records of which some are damaged, missing, doubled or in another order."""
    random = Random(seed)
    written = entries(random)
    for _ in range(random.randint(0, 4)):
        at = random.randrange(len(written))
        key, value = written[at]
        match random.randrange(5):
            case 0:
                changed = mutated_bytes(key.encode(), random, most=2).decode(errors="replace")
                written[at] = LogEntry(changed, value)
            case 1:
                written[at] = LogEntry(key, mutated_bytes(value or b"", random, most=3))
            case 2:
                written[at] = LogEntry(key, None)
            case 3:
                written.append(written[at])
            case _:
                written.insert(random.randrange(len(written)), written.pop(at))
    image = LogImage()
    with only_refusals():
        image.add(LogRecord(at, 1e9, *entry) for at, entry in enumerate(written))
        for run in image.runs():
            run.plan()
            run.record()


if __name__ == "__main__":
    start(fuzz)
