"""`python -m bench [section…]`: run the sections named, or all of them."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from bench import SECTIONS
from bench.report import BenchSection, as_text, updated

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def main() -> int:
    """Measure, print, and update the measured sections of the page."""
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    options.add_argument("--dry-run", action="store_true", help="leave the page as it is")
    chosen = options.parse_args()
    names: list[str] = chosen.sections or list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        options.error(f"no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    for name in names:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        section = _measured(name)
        print(as_text(section), flush=True)
        if not chosen.dry_run:
            page = PAGE.read_text() if PAGE.exists() else ""
            PAGE.write_text(updated(page, section))
    return 0


def _measured(name: str) -> BenchSection:
    module = importlib.import_module(SECTIONS[name])
    section: BenchSection = module.run()
    return section


if __name__ == "__main__":
    sys.exit(main())
