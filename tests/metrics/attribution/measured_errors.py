"""Prints the errors of attribution on a recording, as docs/concepts/attribution.md has them.

python -m tests.metrics.attribution.measured_errors [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from tests.metrics.attribution import recordings
from tests.metrics.attribution.recordings import Recording, errors, rates

RECORDED = Path(__file__).parents[1] / "data" / "recording"


def main(directory: Path) -> None:
    recording = Recording(directory)
    admin = recordings.admin(recording)
    groups = recordings.commits(admin)
    prometheus = recordings.prometheus(recording)
    tables = {
        "Prometheus": (prometheus, ("in", "out")),
        "Prometheus and groups": (pa.concat_tables([prometheus, groups]), ("in", "out")),
        "Prometheus, step 60 s": (recordings.prometheus(recording, 60), ("in",)),
        "scrapes and groups": (
            pa.concat_tables([recordings.scrape(recording), groups]),
            ("in", "out"),
        ),
        "admin calls": (admin, ("in", "out")),
        "Cruise Control's topic": (recordings.cruise_control(recording), ("in", "out")),
    }
    windows = {
        "first 5 min": (recording.t0, recording.t0 + 300),
        "all": (recording.t0, recording.t1),
    }
    heads = [f"{window}: median / p90 / worst / of total" for window in windows]
    print(f"| source | bytes | {' | '.join(heads)} |")
    print("|---|---|---|---|")
    for name, (table, directions) in tables.items():
        found = recordings.attribute(recording, table, leaders=name.startswith("Cruise"))
        for which, direction in enumerate(("in", "out")):
            if direction not in directions:
                continue
            cells = [
                errors(rates(found, *window), recording.truth(*window), which)
                for window in windows.values()
            ]
            figures = [
                f"{one.median:.1%} / {one.p90:.1%} / {one.worst:.1%} / {one.of_total:.1%}"
                for one in cells
            ]
            print(f"| {name} | {direction} | {' | '.join(figures)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED)
