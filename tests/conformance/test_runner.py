"""The runner itself: it passes what is right, and tells what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import main

VECTORS = sorted((Path(__file__).parent.parent / "vectors").glob("*.json"))
MANUAL: dict[str, Any] = {
    "id": "m1",
    "kind": "manual",
    "text": "0:1,1:0",
    "expected": {"assignment": {"0": [0, 1], "1": [1, 0]}},
}


def _file(folder: Path, *cases: dict[str, Any]) -> str:
    path = folder / "cases.json"
    path.write_text(json.dumps({"cases": list(cases)}))
    return str(path)


def _wrong(case: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**case, "expected": {"assignment": {"0": [0, 1], "1": [1, 2]}}, **changes}


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_known_answer_is_given(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path)]) == 0, capsys.readouterr().out
    assert capsys.readouterr().out.endswith(" passed, 0 failed\n")


def test_a_wrong_answer_is_told_with_its_first_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([_file(tmp_path, MANUAL, _wrong(MANUAL, id="m2"))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ("FAILED cases.json m2 (manual): .assignment.1: expected [1, 2], got [1, 0]")
    assert lines[-1] == "1 passed, 1 failed"


def test_an_expected_refusal_that_does_not_come_is_a_failure(tmp_path: Path) -> None:
    assert main([_file(tmp_path, {**MANUAL, "expected": {"error": "NumberFormat"}})]) == 1


def test_kinds_that_nobody_runs_are_named_and_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([_file(tmp_path, {"id": "x", "kind": "telepathy", "expected": {}})]) == 0
    assert capsys.readouterr().out == "not yet run: 1 of kind telepathy\n0 passed, 0 failed\n"


def test_quirks_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quirk = _wrong(MANUAL, tags=["quirk"])
    assert main([_file(tmp_path, {**MANUAL, "tags": ["quirk"]}, quirk)]) == 0
    assert "quirks: 1 same, 1 differ\n0 passed, 0 failed\n" in capsys.readouterr().out


def test_one_kind_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = {"id": "c", "kind": "collision", "a": "a.b", "b": "a_b", "expected": {"collides": True}}
    assert main([_file(tmp_path, MANUAL, other), "--kind", "collision"]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
