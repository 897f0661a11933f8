"""Running cluster commands on a cluster in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from kedge.cli.app import run
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import Cluster
from kedge.wiring import clusters_from
from tests.cli.conftest import Outcome


@dataclass(frozen=True)
class Desk:
    """A command line whose commands all reach one cluster in memory."""

    cluster: MemoryCluster
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Outcome:
        """Run a command and expect nothing of it."""

        def open_here(bootstrap: str, settings: Mapping[str, str]) -> Cluster:
            return self.cluster

        with clusters_from(open_here):
            code = run([*words, "--bootstrap-server", "here:1"])
        captured = self.capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    def lines(self, *words: str) -> list[str]:
        """What a command that succeeds prints."""
        outcome = self(*words)
        assert outcome.code == 0, outcome.err
        return outcome.out.splitlines()

    def json(self, *words: str) -> Any:
        """What a command that succeeds prints for programs."""
        return json.loads("\n".join(self.lines(*words, "--output", "json")))

    def refusal(self, *words: str) -> str:
        """The one sentence of a command that is refused as a bad request."""
        outcome = self(*words)
        assert outcome.code == 2, outcome
        (line,) = outcome.err.splitlines()
        assert outcome.out == ""
        return line.removeprefix("kedge: ")
