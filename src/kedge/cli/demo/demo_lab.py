"""The lab of the demonstration, an admin client of it, and the output on the terminal."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.cli.options import console
from kedge.errors import KedgeError, RequestTimedOut

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster, TopicDescription
    from kedge.lab import Lab

BROKERS, RACKS, SPEED = 9, 3, 30.0
TRAFFIC = 5_000_000  # bytes per second that producers write
DISK = 20 * 10**12
PATIENCE_S = 60.0
LOOK_S = 0.1


class Demo:
    """Explains, runs commands, draws and waits."""

    def __init__(self, lab: Lab, cluster: Cluster, directory: Path) -> None:
        self.lab, self.cluster, self.directory = lab, cluster, directory
        self.screen = console()
        self._sections = 0
        self._began = time.monotonic()

    # ---- output ---------------------------------------------------------------------------------

    def section(self, title: str) -> None:
        """Begin a section."""
        self._sections += 1
        self.screen.print(f"\n[bold]{self._sections}. {title}[/]", markup=True)

    def explain(self, text: str) -> None:
        """Print a sentence."""
        self.screen.print(f"[italic]{text}[/]", markup=True)

    def close(self, *, with_pages: bool = False) -> None:
        """Print the end, and what to try next."""
        took = time.monotonic() - self._began
        self.screen.print(f"\n[bold]Done after {took:.0f} s.[/] Try it yourself:", markup=True)
        self.screen.print("  kedge lab up --brokers 9 --racks 3 --dir lab --detach")
        if not with_pages:
            self.screen.print("  kedge demo --web    ends with the pages on this lab")

    # ---- commands -------------------------------------------------------------------------------

    def kedge(self, *words: str) -> None:
        """Run a command on the lab."""
        self._typed(words, ("--bootstrap-server", self.lab.bootstrap_servers))

    def command(self, *words: str) -> None:
        """Run a command that needs no cluster."""
        self._typed(words, ())

    def _typed(self, words: Sequence[str], unsaid: Sequence[str]) -> None:
        """Run a command; one that fails ends the demonstration."""
        from kedge.cli.app import run

        self.screen.print(f"$ kedge {shlex.join(words)}", style="cyan")
        sys.stdout.flush()
        code = run([*words, *unsaid])
        sys.stdout.flush()
        if code != 0:
            raise KedgeError(f"kedge {shlex.join(words)} ended with {code}")

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds in the lab."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise RequestTimedOut(f"{what} did not happen within {PATIENCE_S:.0f} s")
            time.sleep(LOOK_S)

    def status(self) -> dict[str, Any]:
        """The status of the lab."""
        return self.lab.status()

    def at_rest(self) -> bool:
        """Whether nothing moves and everything is in sync."""
        seen = self.status()
        return not seen["moves"] and not seen["under_replicated"] and not seen["offline"]

    # ---- drawing --------------------------------------------------------------------------------

    def topic(self, name: str) -> TopicDescription:
        """A topic as clients see it."""
        found = self.cluster.describe_topics([name])[name]
        if isinstance(found, KedgeError):
            raise found
        return found

    def grid(self, name: str) -> None:
        """The rack grid of a topic."""
        from kedge.cli.draw_grid import show_grid

        brokers = [machine.broker for machine in self.lab.cluster.machines.values()]
        show_grid(self.topic(name).replicas(), brokers)

    def watch_moves(self, names: Sequence[str]) -> None:
        """Live progress of the moves of some topics, until there are none."""
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (
            TextColumn("   {task.description}"),
            BarColumn(bar_width=40),
            TextColumn("{task.fields[done]}"),
        )
        with Progress(*columns, console=self.screen) as bars:
            tasks: dict[str, Any] = {}
            deadline = time.monotonic() + PATIENCE_S
            while moves := [m for m in self.status()["moves"] if m["topic"] in names]:
                if time.monotonic() > deadline:
                    raise RequestTimedOut("the moves did not end in time")
                for move in moves:
                    name = f"{move['topic']}-{move['partition']} → {move['adding']}"
                    share = float(move["progress"])
                    if name not in tasks:
                        tasks[name] = bars.add_task(name, total=1.0, done="")
                    bars.update(tasks[name], completed=share, done=f"{share:4.0%}")
                time.sleep(LOOK_S)
            for task in tasks.values():
                bars.update(task, completed=1.0, done="done")


@contextmanager
def running_demo(seed: int) -> Generator[Demo]:
    """A lab of nine brokers on three racks for the time of a `with` block."""
    from kedge.lab import Lab, LabSettings, Traffic
    from kedge.wiring import open_cluster

    settings = LabSettings(
        brokers=BROKERS,
        racks=RACKS,
        speed=SPEED,
        seed=seed,
        partitions=3,
        replication_factor=3,
        traffic=Traffic.SKEWED,
        rate=TRAFFIC,
        disk_bytes=DISK,
    )
    with (
        tempfile.TemporaryDirectory(prefix="kedge-demo-") as scratch,
        Lab.running(settings) as lab,
        open_cluster(lab.bootstrap_servers, {}) as cluster,
    ):
        demo = Demo(lab, cluster, Path(scratch))
        demo.section(f"A lab: {BROKERS} brokers on {RACKS} racks, in this process")
        demo.explain(
            f"It speaks Kafka's protocol on {lab.bootstrap_servers.split(',')[0]} and other "
            f"ports; broker {lab.status()['controller']} is the controller, and time passes "
            f"{SPEED:.0f} times as fast as here."
        )
        yield demo
