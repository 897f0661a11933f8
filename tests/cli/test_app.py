"""The command line as a whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import typer.main

from kedge import __version__
from kedge.cli.app import COMMANDS, tree
from tests.cli.conftest import Kedge


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kedge", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


def test_the_version_is_told(kedge: Kedge) -> None:
    outcome = kedge("--version")
    assert (outcome.code, outcome.out) == (0, f"kedge {__version__}\n")


def test_every_command_explains_itself_with_an_example(kedge: Kedge) -> None:
    for words in (("place",), ("plan", "verify"), ("demo",)):
        outcome = kedge(*words, "--help")
        assert outcome.code == 0
        assert f"Example: kedge {' '.join(words)}" in " ".join(outcome.out.split())


def test_no_command_at_all_shows_the_help_and_is_a_bad_request(kedge: Kedge) -> None:
    outcome = kedge()
    assert outcome.code == 2
    assert "place" in outcome.err


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("topics --list", "topics list"),
        ("topics --bootstrap-server b:1 --create --topic t", "topics create"),
        ("topics --describe", "topics describe"),
        ("topics --alter --topic t", "topics alter"),
        ("topics --delete --topic t", "topics delete"),
        ("configs --describe --topic t", "configs describe"),
        ("configs --bootstrap-server b:1 --alter", "configs alter"),
        ("reassign --generate", "reassign generate"),
        ("reassign --execute", "reassign execute"),
        ("reassign --verify", "reassign verify"),
        ("reassign --list", "reassign list"),
        ("reassign --cancel", "reassign cancel"),
    ],
)
def test_an_option_of_kafkas_tools_points_to_the_command(
    kedge: Kedge, typed: str, command: str
) -> None:
    option = f"--{command.split()[1]}"
    outcome = kedge(*typed.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"kedge: no such option: {option}; use kedge {command}\n"


def test_a_wrong_option_points_to_the_help_of_its_own_command(kedge: Kedge) -> None:
    assert "see kedge topics list --help" in kedge("topics", "list", "--nonsense").err


def test_the_installed_program_exits_with_two_and_one_line() -> None:
    done = _run("place", "--brokers", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_colour_is_left_out_when_nobody_wants_it() -> None:
    asked = ("place", "--brokers", "0,1", "--partitions", "2", "--replication-factor", "1")
    plain = _run(*asked, "--start", "0", NO_COLOR="1", FORCE_COLOR="1")
    assert plain.returncode == 0
    assert "\x1b[3" not in plain.stdout


def test_a_reader_that_leaves_early_ends_it_quietly() -> None:
    asked = "place --brokers 0,1,2 --partitions 60000 --replication-factor 3 --start 0"
    command = f"{sys.executable} -m kedge {asked} | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")


def test_shell_completion_is_offered() -> None:
    done = _run(_KEDGE_COMPLETE="source_bash")
    assert done.returncode == 0
    assert "_KEDGE_COMPLETE" in done.stdout


def test_commands_that_need_no_numba_do_not_import_it() -> None:
    slow = "{'numba', 'numpy', 'pyarrow', 'kazoo'}"
    probe = f"import sys, kedge.cli.app; print({slow} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    modules = dict.fromkeys(each.module for each in COMMANDS.values())
    whole = typer.main.get_command(tree((), list(modules)))
    context = whole.make_context("kedge", [], resilient_parsing=True)
    names = whole.list_commands(context)  # pyright: ignore[reportAttributeAccessIssue]
    assert set(names) == set(COMMANDS)
    for name in names:
        command = whole.get_command(context, name)  # pyright: ignore[reportAttributeAccessIssue]
        said = (command.help or "").split("\n")[0]
        assert said.startswith(COMMANDS[name].help), name
