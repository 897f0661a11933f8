"""The commands that speak to a cluster: how they explain themselves, and what they wait for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Kedge

COMMANDS = [
    *(("topics", verb) for verb in ("create", "list", "describe", "alter", "delete")),
    *(("configs", verb) for verb in ("alter", "describe")),
    *(("reassign", verb) for verb in ("generate", "execute", "verify", "list", "cancel")),
    ("elect",),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_and_the_common_options(
    kedge: Kedge, words: tuple[str, ...]
) -> None:
    outcome = kedge(*words, "--help")
    told = " ".join(outcome.out.split())
    assert outcome.code == 0
    assert f"Example: kedge {' '.join(words)} --bootstrap-server localhost:9092" in told
    for option in ("--bootstrap-server", "--command-config", "--output"):
        assert option in told


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "list"),
        ("configs", "describe", "--topic", "t"),
        ("reassign", "list"),
        ("elect", "--election-type", "preferred", "--all-topic-partitions"),
    ],
    ids=lambda words: words[0],
)
def test_no_command_runs_without_knowing_its_cluster(kedge: Kedge, words: tuple[str, ...]) -> None:
    outcome = kedge(*words)
    assert outcome.code == 2
    assert "--bootstrap-server" in outcome.err


@pytest.mark.parametrize("group", ["topics", "configs", "reassign"])
def test_a_group_without_a_verb_shows_its_verbs(kedge: Kedge, group: str) -> None:
    outcome = kedge(group)
    assert outcome.code == 2
    assert "--help" in outcome.err


def test_no_client_library_is_imported_before_a_cluster_is_wanted() -> None:
    probe = (
        "import sys, kedge.cli.app, kedge.apply.kafka_reassign, kedge.report.topics; "
        "print({'kafka', 'ssl', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_address_where_nobody_listens_is_one_sentence_and_a_failure() -> None:
    asked = ["topics", "list", "--bootstrap-server", "127.0.0.1:1"]
    done = subprocess.run(
        [sys.executable, "-m", "kedge", *asked], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kedge: no broker reached: 127.0.0.1:1: connection refused\n"
