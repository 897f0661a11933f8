"""Events of runs: written to a file or to stdout, and never the end of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedge.cli.events import event_stream
from kedge.cli.options import Output
from kedge.errors import InvalidRequest


def test_events_are_appended_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for text in ("a", "ü\n"):
        with event_stream(str(path), Output.TABLE) as send:
            send({"event": "note", "text": text})
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["text"] for row in rows] == ["a", "ü\n"]
    assert all(row["at"] > 0 for row in rows)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidRequest, match=r"events\.jsonl"),
        event_stream(str(tmp_path / "none" / "events.jsonl"), Output.TABLE),
    ):
        pass


def test_a_full_disk_ends_the_events_and_not_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with event_stream("/dev/full", Output.TABLE) as send:
        send({"event": "note", "text": "a"})
        send({"event": "note", "text": "b"})
    assert capsys.readouterr().err.splitlines() == [
        "note: no more events are written: No space left on device"
    ]
