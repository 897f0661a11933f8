"""`--tables` and `--output` of the pipeline, and the spellings that they had before."""

from __future__ import annotations

import pytest

from kedge.cli.pipeline_options import current_spellings
from tests.cli.conftest import Kedge

KNOWN = {"--tables", "--output", "--limit"}


@pytest.mark.parametrize(
    ("typed", "current", "notes"),
    [
        ("--tables history --output json", "--tables history --output json", 0),
        ("--output history --report json", "--tables history --output json", 2),
        ("--output=history", "--tables history", 1),
        ("--report=json --limit 3", "--output json --limit 3", 1),
        ("--output table", "--output table", 0),
        ("--limit 3 --output", "--limit 3 --output", 0),
    ],
)
def test_earlier_spellings_become_todays(
    typed: str, current: str, notes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert current_spellings(typed.split(), KNOWN) == current.split()
    assert len(capsys.readouterr().err.splitlines()) == notes


def test_a_command_without_tables_has_no_directory_to_name() -> None:
    assert current_spellings(["--output", "history"], {"--output"}) == ["--output", "history"]


def test_a_directory_in_output_is_the_directory_of_tables(kedge: Kedge) -> None:
    outcome = kedge("pipeline", "findings", "--output", "nowhere", "--report", "json")
    assert outcome.code == 2
    *notes, refusal = outcome.err.splitlines()
    assert notes == [
        "note: --output nowhere is now --tables nowhere",
        "note: --report json is now --output json",
    ]
    assert "nowhere" in refusal


def test_tables_are_named_without_a_note(kedge: Kedge) -> None:
    outcome = kedge("pipeline", "findings", "--tables", "nowhere", "--output", "json")
    assert outcome.code == 2
    (refusal,) = outcome.err.splitlines()
    assert "nowhere" in refusal


@pytest.mark.parametrize(
    "command", ["ingest", "stream", "findings", "loads", "compact", "fleet", "what-if"]
)
def test_help_has_one_meaning_of_output(kedge: Kedge, command: str) -> None:
    text = " ".join(kedge("pipeline", command, "--help").out.split())
    assert ("--tables" in text) is (command != "what-if")
    assert ("table or json" in text) is (command != "loads")
    assert "--report" not in text
