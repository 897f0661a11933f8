"""Random scenarios on Kafka's own raft client and on Kedge's node, compared step by step.

`python -m tests.quorum.oracle --seeds 500`. The first use compiles the driver, and copies the test
doubles of Kafka's raft module, which `make install` does not have, with Maven.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from jvm import KAFKA_4_1, ROOT, SMALL, classpath
from tests.conformance.compare import Case
from tests.conformance.raft_kinds import run
from tests.quorum.scenarios import STEPS_MAX, drawn

SOURCES = Path(__file__).parent / "java"
MAIN = "org.apache.kafka.raft.QuorumOracle"
CACHE = ROOT / ".cache" / "raft-oracle"
DOUBLES = ("kafka-raft", "kafka-clients", "kafka-server-common")
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
AT_ONCE = 500  # Kafka's side keeps all of them in memory
QUIET = "rootLogger.level=off\n"


def played(scenarios: Sequence[Case]) -> list[Case]:
    """The cases that Kafka's answers make of scenarios."""
    path = f"{_classes()}:{_doubles()}/*:{classpath(KAFKA_4_1)}"
    with tempfile.TemporaryDirectory() as name:
        given, answers, quiet = (Path(name, file) for file in ("in.json", "out.json", "log4j"))
        given.write_text(json.dumps({"cases": list(scenarios)}))
        quiet.with_suffix(".properties").write_text(QUIET)
        logging = f"-Dlog4j2.configurationFile={quiet.with_suffix('.properties')}"
        program = [MAIN, str(given), str(answers)]
        command = ["java", *SMALL, logging, "-cp", path, *program]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Kafka's client could not play: {done.stderr[-2000:]}")
        cases = json.loads(answers.read_text())["cases"]
    return [{"kind": "raft", **case} for case in cases]


def _classes() -> Path:
    sources = sorted(SOURCES.rglob("*.java"))
    content = b"".join(source.read_bytes() for source in sources)
    folder = CACHE / hashlib.sha256(content).hexdigest()[:16]
    if not folder.is_dir():
        path = f"{_doubles()}/*:{classpath(KAFKA_4_1)}"
        options = ["-nowarn", "-proc:none", "-cp", path, "-d", str(folder)]
        program = ["javac", *options, *map(str, sources)]
        subprocess.run(program, check=True, capture_output=True)
    return folder


def _doubles() -> Path:
    folder = CACHE / "jars"
    for artifact in DOUBLES:
        if not any(folder.glob(f"{artifact}-*.jar")):
            name = f"org.apache.kafka:{artifact}:4.1.0:jar:test"
            options = [f"-Dartifact={name}", f"-DoutputDirectory={folder}"]
            subprocess.run(["mvn", "-q", "-B", PLUGIN, *options], check=True, capture_output=True)
    return folder


def main(arguments: Sequence[str]) -> int:
    """Compare; 0 only when no difference was found."""
    options = _options(arguments)
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    states: Counter[str] = Counter()
    cases: list[Case] = []
    differ = 0
    for first in seeds[::AT_ONCE]:
        some = range(first, min(first + AT_ONCE, seeds.stop))
        for case in played([drawn(seed, options.steps) for seed in some]):
            states.update(step["after"]["state"] for step in case["steps"])
            if found := run(case):
                differ += 1
                print(f"{case['id']} {json.dumps(case['settings'])}: {found[:900]}", flush=True)
            if options.save:
                cases.append(case)
    print(f"{len(seeds)} scenarios, {differ} differ, {time.monotonic() - began:.0f} s")
    print(", ".join(f"{count} {state}" for state, count in states.most_common()))
    if options.save:
        options.save.write_text(json.dumps({"kafka": "4.1.0", "cases": cases}))
    return 1 if differ else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.quorum.oracle", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, metavar="N", help="how many scenarios")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    parser.add_argument("--steps", type=int, default=STEPS_MAX, help="steps of a scenario at most")
    parser.add_argument("--save", type=Path, metavar="FILE", help="what Kafka answered, as vectors")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
