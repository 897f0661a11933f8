"""Compare Kedge's KRaft decisions with Kafka's QuorumController on random scenarios."""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from tests.conformance.kraft_kinds import TEXTS, run_kraft
from tests.oracle.kraft_generator import scenario
from tests.oracle.kraft_side import Case, play_all

AT_ONCE = 250

# what Kafka's controller stumbles over, and why Kedge's does not (docs/concepts/differences.md)
KNOWN_FAULTS: Mapping[str, str] = {
    "existed in isrMembers, but not in the": "Kafka's index of ELRs names a topic that is gone",
}


@dataclass(frozen=True)
class Finding:
    """A scenario that the two play differently."""

    seed: int
    given: Case
    difference: str
    reason: str | None = None


def compare(case: Case) -> tuple[str, str | None] | None:
    """The first difference, and its reason if it is a documented one."""
    faults = " ".join(case.get("faults", ()))
    if faults or "failed" in case:
        found = next((why for text, why in KNOWN_FAULTS.items() if text in faults), None)
        return f"Kafka failed: {case.get('failed', '')} {faults}", found
    told = io.StringIO()
    try:
        with contextlib.redirect_stdout(told):
            difference = run_kraft(case)
    except Exception:
        difference = "crashed: " + traceback.format_exc(limit=-3).replace("\n", " | ")
    sys.stdout.write(told.getvalue())  # message texts that differ
    return None if difference is None else (difference, _reason(case))


def _reason(case: Case) -> str | None:
    """Why Kedge may differ (docs/concepts/differences.md), if the case shows it."""
    for step in case["steps"]:
        request, records = step["request"]["op"], step["records"]
        changes = [orjson.dumps(r) for r in records if r["type"] == "PartitionChange"]
        if request in ("register", "unregister") and len(set(changes)) < len(changes):
            return "Kafka's index of ELRs names a partition that has none any more"
        answered = step["response"] if isinstance(step["response"], list) else []
        refused = any(item.get("error") != "NONE" for item in answered[:1])
        if request == "createPartitions" and refused and records:
            return "Kafka refuses more partitions, and writes those before the one that cannot be"
    return None


def hunt(seeds: Sequence[int]) -> Iterator[Finding]:
    """The scenarios of these seeds that are played differently."""
    for start in range(0, len(seeds), AT_ONCE):
        batch = seeds[start : start + AT_ONCE]
        scenarios = [scenario(seed) for seed in batch]
        for seed, given, case in zip(batch, scenarios, play_all(scenarios), strict=True):
            if found := compare(case):
                yield Finding(seed, given, *found)


def minimised(finding: Finding) -> Finding:
    """The same scenario without the steps that do not matter."""
    count = max(1, len(finding.given["steps"]) // 2)
    while count:
        steps = finding.given["steps"]
        cuts = [
            {**finding.given, "steps": steps[:at] + steps[at + count :]}
            for at in range(0, len(steps), count)
        ]
        for given, case in zip(cuts, play_all(cuts), strict=True):
            found = compare(case)
            if found and found[1] == finding.reason:
                finding = Finding(finding.seed, given, *found)
                break
        else:
            count //= 2
    return finding


def main(arguments: Sequence[str]) -> int:
    """Play them; 0 only when no difference was found that has no reason."""
    options = _options(arguments)
    began = time.monotonic()
    known: Counter[str] = Counter()
    unexplained: list[Finding] = []
    first = random.randrange(10**9) if options.first is None else options.first
    for finding in hunt(range(first, first + options.seeds)):
        if finding.reason is not None:
            known[finding.reason] += 1
            continue
        small = minimised(finding) if len(unexplained) < options.minimise else finding
        unexplained.append(small)
        _show(small)
    for reason, count in known.most_common():
        print(f"{count} differ as documented: {reason}")
    took = time.monotonic() - began
    print(f"message texts: {TEXTS['same']} same, {TEXTS['differ']} differ")
    counted = f"{options.seeds} scenarios from seed {first} on"
    print(f"{counted}, {len(unexplained)} differ without a reason, {took:.0f} s")
    if options.save:
        options.save.write_bytes(orjson.dumps([finding.given for finding in unexplained]))
    return 1 if unexplained else 0


def _show(finding: Finding) -> None:
    print(f"seed {finding.seed}: {finding.difference[:900]}")
    print("   ", orjson.dumps(finding.given["settings"]).decode())
    for number, step in enumerate(finding.given["steps"], 1):
        print(f"    {number}", orjson.dumps(step).decode())
    sys.stdout.flush()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.kraft", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, metavar="N", help="how many scenarios")
    parser.add_argument("--first", type=int, metavar="SEED", help="the first seed (drawn)")
    parser.add_argument("--minimise", type=int, default=3, metavar="N", help="how many findings")
    parser.add_argument("--save", type=Path, metavar="FILE", help="the findings' scenarios")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
