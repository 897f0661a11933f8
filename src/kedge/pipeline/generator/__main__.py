"""`python -m kedge.pipeline.generator --size S --out DIR`: generates metrics files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kedge.errors import KedgeError
from kedge.pipeline.generator import SIZES, generate


def main() -> int:
    """Generate metrics with the options of the command line."""
    options = argparse.ArgumentParser(prog="python -m kedge.pipeline.generator")
    options.add_argument("--size", choices=SIZES, default="S")
    options.add_argument("--out", type=Path, required=True, help="directory, created if missing")
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--formats", default="parquet", help="parquet,jsonl,csv")
    parsed = options.parse_args()
    formats = parsed.formats.split(",")
    try:
        expected = generate(parsed.out, size=parsed.size, seed=parsed.seed, formats=formats)
    except KedgeError as error:
        print(f"kedge: {error}", file=sys.stderr)
        return 2
    print(f"{expected['rows_total']} rows in {expected['files']} files under {parsed.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
