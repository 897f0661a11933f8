"""`python -m bench.balance [size…]`: the balance section for some sizes only, printed.

With `--snapshot FILE` the first size's skewed cluster is written to a file instead.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.balance import SEED, figures, run
from bench.balance.clusters import SIZES, cluster
from bench.balance.snapshots import snapshot_of
from kedge.files import write_snapshot


def main() -> int:
    """Measure and print; the page is left as it is."""
    options = argparse.ArgumentParser(prog="python -m bench.balance", description=__doc__)
    options.add_argument("sizes", nargs="*", metavar="size", help=", ".join(SIZES))
    options.add_argument("--seed", type=int, default=SEED, help="of the clusters")
    options.add_argument("--snapshot", type=Path, help="write a cluster here and measure nothing")
    chosen = options.parse_args()
    for size in chosen.sizes:
        if size not in SIZES:
            options.error(f"no size {size!r}; there are {', '.join(SIZES)}")
    if chosen.snapshot is not None:
        size = (chosen.sizes or ["S"])[0]
        write_snapshot(snapshot_of(cluster(size, "skew", chosen.seed)), chosen.snapshot)
        return 0
    print(figures(run(chosen.seed, sizes=tuple(chosen.sizes or SIZES))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
