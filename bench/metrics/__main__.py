"""`python -m bench.metrics --topics 100`: measure 10,000 partitions, and update the page."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.__main__ import PAGE
from bench.metrics import run
from bench.metrics.generated_answers import Size
from bench.report import as_text, updated


def main() -> None:
    """Measure, print, and update the page."""
    options = argparse.ArgumentParser(prog="python -m bench.metrics")
    options.add_argument("--topics", type=int, default=5, help="of 100 partitions each")
    options.add_argument("--days", type=int, default=7)
    options.add_argument("--scratch", type=Path, help="a directory for 5 GB and more")
    options.add_argument("--dry-run", action="store_true", help="leave the page as it is")
    given = options.parse_args()
    section = run(Size(given.topics, given.days), given.scratch)
    print(as_text(section))
    if not given.dry_run:
        PAGE.write_text(updated(PAGE.read_text(), section))


if __name__ == "__main__":
    main()
