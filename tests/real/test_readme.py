"""The README's commands, in order, on a fresh cluster of Kafka 4.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from jvm.clusters import kraft_cluster
from tests.readme import Shell, commands, run_in_order

pytestmark = pytest.mark.real


def test_the_commands_of_the_readme_work_in_order_on_a_fresh_cluster(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    chosen = [command for command in commands() if "kedge lab " not in command]
    directory = tmp_path / "cluster"
    directory.mkdir()
    with kraft_cluster(directory) as cluster:
        assert len(run_in_order(shell, chosen, cluster.bootstrap)) > 5
