"""`python -m tests.coverage_by_package [PART...]`: how much of each package the tests run.

Runs the tests of these parts (all but the slow ones when none is given) and prints a line for each
package, lowest first. Commands and labs that tests start as processes of their own count too; code
that runs on Spark's workers and in compiled kernels cannot be traced and does not. The exit code is
1 when a test fails or a package is below the floor.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

FLOOR_PERCENT = 85.0
KEPT = Path(".cache/coverage")
COVERAGE = (sys.executable, "-m", "coverage")


def main(parts: list[str]) -> int:
    """Run the tests, then print the share of lines and branches run in each package."""
    KEPT.mkdir(parents=True, exist_ok=True)
    data = f"--data-file={KEPT / 'data'}"
    subprocess.run([*COVERAGE, "erase", data], check=True)
    tests = subprocess.run([*COVERAGE, "run", data, "-m", "pytest", "-q", *parts], check=False)
    subprocess.run([*COVERAGE, "combine", "-q", data], check=True)
    report = KEPT / "report.json"
    subprocess.run([*COVERAGE, "json", "-q", data, "-o", str(report)], check=True)
    shares = by_package(json.loads(report.read_text())["files"])
    for package, percent in sorted(shares.items(), key=lambda pair: pair[1]):
        print(f"{percent:6.1f} %  {package}")
    low = [package for package, percent in shares.items() if percent < FLOOR_PERCENT]
    if low and not parts:
        print(f"below {FLOOR_PERCENT:.0f} %: {', '.join(sorted(low))}")
    return int(tests.returncode != 0 or (bool(low) and not parts))


def by_package(files: dict[str, dict[str, dict[str, int]]]) -> dict[str, float]:
    """The percentage of lines and branches that ran, by package."""
    ran: defaultdict[str, int] = defaultdict(int)
    all_there: defaultdict[str, int] = defaultdict(int)
    for file, found in files.items():
        first, *rest = Path(file).parts[Path(file).parts.index("kedge") + 1 :]
        package = first if rest else "kedge"
        summary = found["summary"]
        ran[package] += summary["covered_lines"] + summary["covered_branches"]
        all_there[package] += summary["num_statements"] + summary["num_branches"]
    return {package: 100 * ran[package] / total for package, total in all_there.items() if total}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
