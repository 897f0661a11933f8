"""`python -m kedge.pipeline.generator --size S --out DIR`: metrics with known answers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kedge.errors import KedgeError
from kedge.pipeline.generator import SIZES, generate


def main() -> int:
    """Generate as the command line says."""
    options = argparse.ArgumentParser(prog="python -m kedge.pipeline.generator")
    options.add_argument("--size", choices=SIZES, default="S")
    options.add_argument("--out", type=Path, required=True, help="directory, made if not there")
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--formats", default="parquet", help="parquet,jsonl,csv")
    asked = options.parse_args()
    formats = asked.formats.split(",")
    try:
        expected = generate(asked.out, size=asked.size, seed=asked.seed, formats=formats)
    except KedgeError as error:
        print(f"kedge: {error}", file=sys.stderr)
        return 2
    print(f"{expected['rows_total']} rows in {expected['files']} files under {asked.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
