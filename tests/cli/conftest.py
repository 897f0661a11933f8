"""Running the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kedge.cli.app import run


@dataclass(frozen=True)
class Outcome:
    """What a command line came to."""

    code: int
    out: str
    err: str


Kedge = Callable[..., Outcome]


@pytest.fixture
def kedge(capsys: pytest.CaptureFixture[str]) -> Kedge:
    """Run `kedge` with these arguments."""

    def invoke(*arguments: str) -> Outcome:
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return invoke
