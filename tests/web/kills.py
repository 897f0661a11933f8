"""kill -9 of the server that carries an automatic run out, at random moments.

    python -m tests.web.kills --rounds 20 --database both

Each round has a lab of its own, with a policy that fills empty brokers by itself. Once the loop has
started the run, the server that leads is killed after a drawn time. In half of the rounds it is
started again, in the others a second server on the same database goes on. Then the run has ended,
every replica is where the proposal said, all are in sync, no throttle is left, and the proposal has
had one run. The seed is printed first; `--seed` draws the same rounds again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId
from tests.postgres import postgres
from tests.web.processes import ServerProcess, server_process, throttles_of

API = "/api/v1/clusters/lab"
TOPIC, BROKERS = "skewed", 4
DEADLINE_S = 300.0
RUN_S = 10.0  # a run takes longer: kills come while it is at work
SETTINGS = """
[server]
port = 0
database = "{database}"
[clusters.lab]
bootstrap_servers = "{bootstrap}"
sample_s = 1
[clusters.lab.policy]
mode = "auto"
sample_every = "1s"
throttle = "1MB"
[clusters.lab.policy.budget]
kinds = ["fill"]
[clusters.lab.policy.detect]
new_broker_after = "1s"
"""


@dataclass(frozen=True, slots=True)
class Round:
    """What one round is: the moment of the kill, and what goes on afterwards."""

    after_s: float
    standby: bool

    def __str__(self) -> str:
        return f"{'standby' if self.standby else 'restart'}, killed after {self.after_s:.2f} s"


@contextmanager
def empty_lab(folder: Path) -> Generator[Lab]:
    """Four brokers that hold nothing yet."""
    with Lab.running(LabSettings(brokers=BROKERS, racks=2, speed=30), folder / "lab") as lab:
        yield lab


def skew(lab: Lab) -> None:
    """Put everything on the first two brokers."""
    admin = KafkaAdmin(lab.bootstrap_servers)
    lists = {p: [BrokerId(p % 2), BrokerId((p + 1) % 2)] for p in range(8)}
    admin.create_topics([TopicCreation(TOPIC, assignment=lists)])
    admin.close()
    lab.fill(TOPIC, 90_000_000)


@contextmanager
def skewed_lab(folder: Path) -> Generator[Lab]:
    """Four brokers, of which the first two hold everything."""
    with empty_lab(folder) as lab:
        skew(lab)
        yield lab


def play(round_: Round, database: str, folder: Path) -> str:
    """Play one round; returns what was seen."""
    with empty_lab(folder) as lab, ExitStack() as stack:
        config = folder / "kedge.toml"
        config.write_text(SETTINGS.format(database=database, bootstrap=lab.bootstrap_servers))
        servers = [
            stack.enter_context(server_process(config)) for _ in range(2 if round_.standby else 1)
        ]
        skew(lab)
        with servers[0].client() as client:
            running = _until(client, "/proposals", _started)
            time.sleep(round_.after_s)
            leader = _leader(servers)
            state = client.get(f"{API}/proposals/{running['id']}").raise_for_status().json()
        leader.kill()
        others = [each for each in servers if each is not leader]
        if not others:
            others = [stack.enter_context(server_process(config))]
        return f"was {state['state']}; {_check(lab, others[0], running)}"


def _started(document: Any) -> Any:
    """The proposal that was started first, if one was."""
    begun = [each for each in document["proposals"] if each["started_at"] is not None]
    return min(begun, key=lambda each: each["started_at"], default=None)


def _leader(servers: list[ServerProcess]) -> ServerProcess:
    with servers[0].client() as client:
        state = client.get(f"{API}/loop").raise_for_status().json()
    return next(each for each in servers if each.pid == state["leader"]["pid"])


def _check(lab: Lab, server: ServerProcess, proposal: Any) -> str:
    """The run has gone on to its end, and nothing is left of it."""
    path = f"/proposals/{proposal['id']}"
    with server.client() as client:
        ended = _until(client, path, lambda each: each if each["ended_at"] is not None else None)
        assert ended["state"] == "done", ended
        changes = client.get(f"{API}{path}/changes?limit=1000").raise_for_status().json()
        named = f"proposal {proposal['id']}"
        # the list of runs may be a moment older than the proposal
        mine = _until(client, "/runs", lambda each: _ended_runs(each["runs"], named))
        assert len(mine) == 1, mine
        # a run that ended just before the kill leaves a lease that has to run out first
        _until(client, "/loop", lambda each: _led_by(each, server))
    _check_replicas(lab, changes["changes"])
    left = throttles_of(lab, TOPIC, BROKERS)
    assert left == [], left
    return f"{len(changes['changes'])} moves, all in place"


def _led_by(loop: Any, server: ServerProcess) -> bool | None:
    """True once a server leads the loop."""
    leader = loop["leader"]
    return True if leader is not None and leader["pid"] == server.pid else None


def _ended_runs(runs: list[Any], plan: str) -> list[Any] | None:
    """The runs of a plan, once all of them are done."""
    mine = [run for run in runs if run["plan"] == plan]
    return mine if all(run["state"] == "done" for run in mine) else None


def _check_replicas(lab: Lab, changes: list[dict[str, Any]]) -> None:
    admin = KafkaAdmin(lab.bootstrap_servers)
    found = admin.describe_topics([TOPIC])[TOPIC]
    admin.close()
    assert not isinstance(found, Exception), found
    replicas = {each.partition: each for each in found.partitions}
    for change in changes:
        now = replicas[change["partition"]]
        assert [int(b) for b in now.replicas] == change["after"], (change, now)
    lagging = [each for each in found.partitions if set(each.isr) != set(each.replicas)]
    assert lagging == [], lagging


def _until(client: httpx.Client, path: str, found: Callable[[Any], Any]) -> Any:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        document = client.get(f"{API}{path}").raise_for_status().json()
        if (value := found(document)) is not None:
            return value
        assert time.monotonic() < deadline, document
        time.sleep(0.05)


def rounds_of(count: int, draw: random.Random) -> list[Round]:
    """Moments that are drawn, restart and standby by turns."""
    return [Round(draw.uniform(0.0, RUN_S), standby=bool(n % 2)) for n in range(count)]


def play_all(rounds: list[Round], new_database: Callable[[], str], name: str) -> int:
    """Play rounds on one kind of database; returns how many failed."""
    failed = during = 0
    for number, round_ in enumerate(rounds):
        with TemporaryDirectory(prefix="kedge-kills-") as folder:
            try:
                seen = play(round_, new_database(), Path(folder))
            except Exception as fault:
                failed += 1
                seen = f"FAILED: {type(fault).__name__}: {fault}"
                print((Path(folder) / "serve.log").read_text()[-4000:], file=sys.stderr)
        during += seen.startswith("was running")
        print(f"{name} {number}: {round_}: {seen}", flush=True)
    print(f"{name}: {during} of {len(rounds)} servers were killed while the run was at work")
    return failed


def main() -> int:
    """Parse the options, play the rounds, and say how many failed."""
    parser = argparse.ArgumentParser(description="kill -9 of a server during an automatic run")
    parser.add_argument("--rounds", type=int, default=20, help="on each kind of database")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = randbelow(2**31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    failed = 0
    if options.database in ("sqlite", "both"):
        with TemporaryDirectory(prefix="kedge-kills-") as folder:
            names = iter(range(options.rounds))
            rounds = rounds_of(options.rounds, random.Random(f"sqlite {seed}"))
            failed += play_all(
                rounds, lambda: f"sqlite:///{folder}/serve-{next(names)}.db", "sqlite"
            )
    if options.database in ("postgresql", "both"):
        with postgres() as server:
            rounds = rounds_of(options.rounds, random.Random(f"postgresql {seed}"))
            failed += play_all(rounds, server.new_database, "postgresql")
    print(f"{failed} rounds failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
