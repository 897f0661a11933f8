"""The record of a run in a log is the same, however the journal has come."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kedge.apply.run_records import LogImage, line_entries
from kedge.cluster.log_port import LogEntry, LogRecord
from kedge.errors import JournalDamaged
from kedge.execution import RunRecord
from tests.fuzz.run_journal import EVENTS

SENT_BACK = {"event": "sent_back", "partitions": [["orders", 0]]}
LINES = [json.dumps(event).encode() + b"\n" for event in (*EVENTS, SENT_BACK)]
ODD = [b'{"event":"state"}\n', b"{\n", LINES[1] + LINES[2], LINES[1][:-1]]
# Mostly the lines of a run in their order; some come again, are others, or are missing.
numbers = st.integers(0, len(LINES))
values = st.one_of(numbers.map(lambda at: LINES[at % len(LINES)]), st.sampled_from(ODD))
written = st.lists(st.tuples(numbers, values, st.booleans()), max_size=20)
in_order = st.integers(1, len(LINES)).map(
    lambda count: [(at, LINES[at], True) for at in range(count)]
)
changes = st.tuples(in_order, written).map(lambda both: [*both[0], *both[1]])


def added(image: LogImage, offset: int, entries: list[LogEntry]) -> None:
    assert image.add([LogRecord(offset, 0.0, *each) for each in entries]) == []


def outcome(image: LogImage) -> RunRecord | str:
    run = image.run("r")
    assert run is not None
    try:
        return run.record()
    except JournalDamaged as damaged:
        return str(damaged)


@given(changes)
def test_a_journal_read_as_it_grows_adds_up_to_what_the_whole_journal_does(
    lines: list[tuple[int, bytes, bool]],
) -> None:
    grown, offset = LogImage(), 0
    for offset, (number, line, is_read) in enumerate(lines):
        added(grown, offset, line_entries("r", number, line))
        if is_read:
            outcome(grown)
    whole = LogImage()
    run = grown.run("r")
    assert run is not None
    added(whole, offset, run.entries())
    assert outcome(grown) == outcome(whole)
