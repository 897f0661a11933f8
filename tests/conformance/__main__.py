"""Run vector files against the production code."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conformance.compare import Case, Runner
from tests.conformance.kinds import runner_for
from tests.conformance.kraft_kinds import text_line
from tests.conformance.stores import Trees


@dataclass
class Tally:
    """What became of the cases."""

    passed: int = 0
    failed: int = 0
    not_run: Counter[str] = field(default_factory=Counter[str])
    quirks: Counter[str] = field(default_factory=Counter[str])


def main(arguments: Sequence[str]) -> int:
    """Run the files; 0 only when no case failed."""
    options = _options(arguments)
    tally = Tally()
    with Trees(options.store) as trees:
        for path, case in _cases(options.files):
            if options.kind in (None, case["kind"]):
                _run(path, case, runner_for(case, trees), tally)
    for kind, count in sorted(tally.not_run.items()):
        print(f"not yet run: {count} of kind {kind}")
    if tally.quirks:
        print(f"quirks: {tally.quirks['same']} same, {tally.quirks['differ']} differ")
    if texts := text_line():
        print(texts)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


def _run(path: Path, case: Case, runner: Runner | None, tally: Tally) -> None:
    if runner is None:
        tally.not_run[case["kind"]] += 1
        return
    try:
        found = runner(case)
    except Exception:
        found = "crashed: " + traceback.format_exc(limit=-3).replace("\n", " | ")
    if "quirk" in case.get("tags", ()):
        tally.quirks["differ" if found else "same"] += 1
        if found:
            print(f"quirk  {path.name} {case['id']} ({case['kind']}): {found[:1000]}")
    elif found:
        tally.failed += 1
        print(f"FAILED {path.name} {case['id']} ({case['kind']}): {found[:1000]}")
    else:
        tally.passed += 1


def _cases(paths: Sequence[Path]) -> Iterator[tuple[Path, Case]]:
    for path in paths:
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            yield path, case


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--kind", help="only cases of this kind")
    parser.add_argument("--store", choices=["memory", "zookeeper"], default="memory")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
