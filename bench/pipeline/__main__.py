"""`python -m bench.pipeline --sizes S,M`: print the roll-up, or with `--ingest S` the command.

With `--former CHECKOUT`, `--ingest M` is measured beside the same command of another checkout of
this repository, such as `git worktree add ../former COMMIT`, in turns and with these libraries.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.pipeline import former, ingest
from bench.pipeline.engines import ENGINES, measured
from bench.pipeline.rollup import HEAP
from bench.report import as_text
from kedge.pipeline.generator import generate


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(prog="python -m bench.pipeline")
    options.add_argument("--sizes", default="S,M")
    options.add_argument("--engines", default=",".join(ENGINES))
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--ingest", default="", help="measure `ingest` on these sizes instead")
    options.add_argument("--former", default="", help="a checkout of another commit, as the peer")
    parsed = options.parse_args()
    if parsed.former:
        for size in parsed.ingest.split(","):
            print(former.compared(Path(parsed.former), size, parsed.rounds))
        return 0
    if parsed.ingest:
        rounds = {str(size): int(parsed.rounds) for size in parsed.ingest.split(",")}
        print(as_text(ingest.run(rounds)))
        return 0
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        for size in parsed.sizes.split(","):
            directory = Path(scratch) / size
            expected = generate(directory, size=size)
            for name in parsed.engines.split(","):
                found = measured(name, directory, expected, heap=HEAP, rounds=parsed.rounds)
                walls, cpus = ([f"{one:.1f}" for one in s] for s in (found.walls, found.cpus))
                print(f"{size} {found.title:<22} s {walls} CPU s {cpus} {found.rss_mb:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
