"""`python -m tests.pipeline.kills --kills 20`: kill -9 a stream repeatedly, then count its rows.

XS of the generated metrics goes to a real broker in random order. The stream is killed at random
moments, restarted on the same checkpoint, and finally not killed. Then every row of the
topic must be in bronze once, and the accounts must be those of the generator.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
from pathlib import Path

from kedge.pipeline.generator import generate
from tests.pipeline.conftest import Metrics
from tests.pipeline.streaming import (
    TOPIC,
    StreamCommand,
    check_rows_and_accounts,
    kafka,
    kill_somewhere,
    lines_of,
    send_shuffled,
)


def main() -> int:
    """Kill the stream, let it finish, and check the tables."""
    options = argparse.ArgumentParser(prog="python -m tests.pipeline.kills")
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--seed", type=int, help="drawn without")
    options.add_argument("--batch", type=int, default=600, help="rows of a batch at most")
    parsed = options.parse_args()
    seed = parsed.seed if parsed.seed is not None else secrets.randbelow(1_000_000)
    rng = random.Random(seed)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kedge-kills-") as scratch:
        directory = Path(scratch)
        expected = generate(directory / "m", size="XS", seed=seed, formats=("jsonl",))
        made = Metrics(directory / "m", expected)
        with kafka(directory / "kafka") as cluster:
            send_shuffled(cluster.bootstrap, TOPIC, lines_of(made), seed=seed)
            command = StreamCommand(cluster.bootstrap, made, directory, max_offsets=parsed.batch)
            for number in range(1, parsed.kills + 1):
                print(f"kill {number}: {kill_somewhere(command, rng)}", flush=True)
            print(command.start().finish(), flush=True)
            check_rows_and_accounts(command, made)
    print(f"{parsed.kills} kills, {expected['rows_total']} rows and no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
