"""`kedge watch`: the loop on one cluster, in this process; findings and proposals are printed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import BootstrapOption, CommandConfigOption, connected, read_properties
from kedge.cli.options import echo, note, say
from kedge.cli.run_options import StateOption, state_directory

if TYPE_CHECKING:
    from kedge.apply import RunStore
    from kedge.cluster.port import Cluster
    from kedge.watch.loop import Looked
    from kedge.watch.policy import Policy
    from kedge.watch_runtime import LoopRunner, WatchStore

LEASE_SAMPLES = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("watch")(watch_command)


def watch_command(
    policy: Annotated[
        Path | None, typer.Option("--policy", help="A policy in TOML; it is kept for later runs")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take one sample and end")] = False,
    approve: Annotated[str, typer.Option("--approve", help="Approve this proposal first")] = "",
    at_once: Annotated[
        bool, typer.Option("--at-once", help="With --approve: do not wait for a window")
    ] = False,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
) -> int:
    """Watch a cluster: find what is wrong, propose plans, run what the policy allows

    Without a policy nothing is ever started. History and proposals are kept beside the runs.

    Example: kedge watch --bootstrap-server localhost:9092 --once
    """
    from kedge.files import read_text, with_path_context
    from kedge.watch.policy_toml import parse_policy

    wanted = None
    if policy is not None:
        text = read_text(policy)
        with with_path_context(policy):
            wanted = parse_policy(text)
    with _runner(bootstrap_server, command_config, state, wanted) as runner:
        if approve:
            _approve(runner.store, approve, at_once=at_once)
        if not runner.lead():
            say("another process watches this cluster")
            return 1
        _watch(runner, once=once)
    return 0


def _approve(store: WatchStore, proposal: str, *, at_once: bool) -> None:
    """Approve a proposal as the user of this terminal."""
    import getpass
    import time

    from kedge.errors import StaleVersion
    from kedge.watch.proposals import approve

    approved = approve(store.proposal(proposal), getpass.getuser(), time.time(), at_once=at_once)
    if not store.replace(approved, fenced=False):
        raise StaleVersion(f"Proposal {proposal} was changed meanwhile")


def _watch(runner: LoopRunner, *, once: bool) -> None:
    """Samples until Ctrl-C; with `once` one sample, and its run to the end."""
    import time

    while True:
        looked = runner.look()
        if looked is not None:
            _show(looked, runner.store)
        while once and runner.carrier.at_work_on:
            time.sleep(0.2)
        if once:
            return
        time.sleep(runner.store.policy().sample_every_s)
        runner.lead()


def _show(looked: Looked, store: WatchStore) -> None:
    from kedge.model.amounts import bytes_text, duration_text

    for finding in looked.findings:
        echo(f"{finding.kind.value}: {finding.why}")
        if finding.answer:
            echo(f"  {finding.answer}")
    for each in store.proposals(looked.at):
        cost = f"{each.cost.moves} moves, {bytes_text(each.cost.bytes)}"
        echo(f"{each.id}  {each.state}  {cost}, about {duration_text(each.cost.seconds)}")
        if each.waits_for:
            echo(f"  waits: {each.waits_for}")
    if not looked.findings:
        echo("nothing is wrong")


@contextmanager
def _runner(
    bootstrap_server: str, command_config: Path | None, state: str | None, policy: Policy | None
) -> Generator[LoopRunner]:
    """The loop of a cluster, with its database beside the runs."""
    from kedge import wiring
    from kedge.apply.this_process import has_ended, owner_text, this_process
    from kedge.database import open_database
    from kedge.watch_runtime import LoopRunner, WatchedCluster, WatchStore

    with connected(bootstrap_server, command_config) as cluster:
        name = cluster.describe().cluster_id

    @contextmanager
    def runs(cluster: Cluster) -> Generator[RunStore]:
        place = wiring.RunsPlace(bootstrap_server, read_properties(command_config), state)
        with wiring.open_runs(cluster, place, on_note=note, begins=True) as found:
            yield found

    directory = state_directory(state)
    directory.mkdir(parents=True, exist_ok=True)
    database = open_database(f"sqlite:///{directory}/watch.db")
    watched = WatchedCluster(name, lambda: connected(bootstrap_server, command_config), runs)
    store = WatchStore(database, name, owner_text(this_process()), has_ended)
    if policy is not None:
        store.set_policy(policy)
    lease_s = LEASE_SAMPLES * store.policy().sample_every_s  # it is renewed at each sample
    runner = LoopRunner(watched, store, lease_s=lease_s, on_note=note)
    try:
        yield runner
    finally:
        runner.stop()
        database.close()
