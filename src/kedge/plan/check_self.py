"""Check a plan against itself, without a snapshot.

`structure` has to hold before anything else can be computed: lists that are lists of brokers, the
same partitions before and after, waves that contain each partition once. `figures` recomputes the
counts of the summary; its bytes need a snapshot and are compared there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from kedge.plan.differences import differences_between
from kedge.plan.findings import Finding, warning
from kedge.plan.kafka_json import Replicas, joined, repeated
from kedge.plan.log_dirs import ANY_LOG_DIR
from kedge.plan.plan_file import Plan


def structure(plan: Plan) -> list[Finding]:
    """Contradictions as errors, then oddities as warnings."""
    if plainly_sound(plan):
        return []
    every = chain(lists(plan), twice(plan), same_partitions(plan), waves(plan), unchanged(plan))
    return list(every)


def plainly_sound(plan: Plan) -> bool:
    """Whether there is nothing to report, by tests on the whole plan: fast for large ones."""
    after, before = plan.after, plan.before
    if len(after) < len(plan.partitions) or after.keys() != before.keys():
        return False
    if not plan.reasons.keys() <= after.keys() or min((tp[1] for tp in after), default=0) < 0:
        return False
    for listed in (after.values(), before.values()):
        if not all(listed) or list(map(len, map(set, listed))) != list(map(len, listed)):
            return False
        if min(chain.from_iterable(listed), default=0) < 0:
            return False
    if any(len(each.log_dirs) != len(each.replicas) for each in plan.partitions):
        return False
    if plan.waves and not all(plan.waves):
        return False
    if plan.waves and sorted(chain.from_iterable(plan.waves)) != list(range(len(after))):
        return False
    return not any(before[each.tp] == each.replicas for each in plan.partitions)


def lists(plan: Plan) -> Iterator[Finding]:
    """Invalid replica lists."""
    for i, each in enumerate(plan.partitions):
        place = f"partitions[{i}]"
        yield from broker_list(each.replicas, f"{place}.replicas")
        if each.tp.partition < 0:
            yield Finding("partition", f"{place}.partition", f"{each.tp.partition} is below 0")
        if len(each.log_dirs) != len(each.replicas):
            what = f"{len(each.log_dirs)} directories for {len(each.replicas)} replicas"
            yield Finding("log_dirs", f"{place}.log_dirs", what)
    for i, replicas in enumerate(plan.before.values()):
        yield from broker_list(replicas, f"before[{i}].replicas")


def broker_list(replicas: Replicas, place: str) -> Iterator[Finding]:
    """The findings about one replica list."""
    if not replicas:
        yield Finding("replicas", place, "no replica")
    if len(set(replicas)) < len(replicas):
        again = joined(repeated(replicas))
        yield Finding("replicas", place, f"broker {again} is listed more than once")
    if replicas and min(replicas) < 0:
        yield Finding("replicas", place, f"{min(replicas)} is not a broker id")


def twice(plan: Plan) -> Iterator[Finding]:
    """Partitions that are listed more than once."""
    for tp in repeated(each.tp for each in plan.partitions):
        yield Finding("duplicate", "partitions", f"{tp} is listed more than once")


def same_partitions(plan: Plan) -> Iterator[Finding]:
    """Partitions that only one of `partitions` and `before` lists, or only `reasons` does."""
    after = plan.after
    for i, each in enumerate(plan.partitions):
        if each.tp not in plan.before:
            yield Finding("before", f"partitions[{i}]", f"{each.tp} is not in before")
    for name, listed in (("before", plan.before), ("reasons", plan.reasons)):
        for i, tp in enumerate(listed):
            if tp not in after:
                yield Finding(name, f"{name}[{i}]", f"{tp} is not in partitions")


def waves(plan: Plan) -> Iterator[Finding]:
    """Waves that do not contain each partition exactly once."""
    if not plan.waves:
        return
    seen: set[int] = set()
    for i, wave in enumerate(plan.waves):
        yield from one_wave(wave, f"waves[{i}]", len(plan.partitions), seen)
    for index in range(len(plan.partitions)):
        if index not in seen:
            what = f"partitions[{index}] ({plan.partitions[index].tp}) is in no wave"
            yield Finding("waves", "waves", what)


def one_wave(wave: Sequence[int], place: str, count: int, seen: set[int]) -> Iterator[Finding]:
    """The findings about one wave; adds its indexes to those seen."""
    if not wave:
        yield warning("waves", place, "an empty wave")
    for j, index in enumerate(wave):
        if not 0 <= index < count:
            yield Finding("waves", f"{place}[{j}]", f"there is no partitions[{index}]")
        elif index in seen:
            yield Finding("waves", f"{place}[{j}]", f"partitions[{index}] is in a wave already")
        seen.add(index)


def unchanged(plan: Plan) -> Iterator[Finding]:
    """Partitions that the plan lists although they stay as they are."""
    for i, each in enumerate(plan.partitions):
        anywhere = all(path == ANY_LOG_DIR for path in each.log_dirs)
        if anywhere and plan.before.get(each.tp) == each.replicas:
            yield warning("unchanged", f"partitions[{i}]", f"{each.tp} does not change")


def figures(plan: Plan) -> Iterator[Finding]:
    """Wrong counts of the summary; needs a plan without errors."""
    if plan.summary is None:
        return
    before, after = plan.assignments
    found = differences_between(before, after).figures()
    for name in ("replicas_moved", "leaders_moved"):
        claimed, found_count = getattr(plan.summary, name), getattr(found, name)
        if claimed != found_count:
            yield Finding(
                "summary", f"summary.{name}", f"says {claimed}, the plan has {found_count}"
            )
