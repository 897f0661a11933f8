"""Compare Kedge's controller with Kafka's on random scenarios."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import orjson

from tests.oracle.hunt import Finding, hunt, minimise
from tests.oracle.kafka_side import oracle


def main(arguments: Sequence[str]) -> int:
    """Play them; 0 only when no difference was found."""
    options = _options(arguments)
    seeds = range(options.first, options.first + options.seeds)
    found: list[Finding] = []
    known: Counter[str] = Counter()
    began = time.monotonic()
    with oracle() as kafka:
        for finding in filter(None, hunt(kafka, seeds)):
            if finding.reason is not None and not options.all:
                known[finding.reason] += 1
                continue
            small = minimise(kafka, finding) if len(found) < options.minimise else finding
            found.append(small)
            _show(small)
    took = time.monotonic() - began
    for reason, count in known.most_common():
        print(f"{count} differ as documented: {reason}")
    print(f"{options.seeds} scenarios, {len(found)} differ without a reason, {took:.0f} s")
    if options.save:
        options.save.write_bytes(orjson.dumps([_case(f) for f in found]))
    return 1 if found else 0


def _show(finding: Finding) -> None:
    given = finding.case["input"]
    print(f"seed {finding.seed} ({finding.reason or 'unexplained'}): {finding.difference[:700]}")
    print("   ", orjson.dumps({k: v for k, v in given.items() if k != "steps"}).decode())
    for number, step in enumerate(given["steps"], 1):
        print(f"    {number}", orjson.dumps(step).decode())
    sys.stdout.flush()


def _case(finding: Finding) -> dict[str, object]:
    case = {key: value for key, value in finding.case.items() if key != "accidents"}
    return {"id": f"seed-{finding.seed}", "note": finding.difference, **case}


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="how many scenarios")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed")
    parser.add_argument("--minimise", type=int, default=10, metavar="N", help="how many findings")
    parser.add_argument("--all", action="store_true", help="show documented differences too")
    parser.add_argument("--save", type=Path, metavar="FILE", help="the findings, as vectors")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
