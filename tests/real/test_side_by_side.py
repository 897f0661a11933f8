"""Kafka's tools and Kedge's commands tell the same story to the same real clusters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from jvm.clusters import RealCluster
from tests.real import clusters
from tests.real.sides import (
    Line,
    Observer,
    Teller,
    Told,
    comparable,
    kafka_side,
    kedge_side,
    lines_of,
)

pytestmark = pytest.mark.real

INVOCATIONS_MIN = 60


@dataclass(frozen=True, slots=True)
class Page:
    """A line of the story, the answer to it, and the cluster after it."""

    line: Line
    told: Told
    state: dict[str, object]


def read_first(lines: list[Line], tell: Teller, observer: Observer) -> list[Page]:
    pages: list[Page] = []
    state = observer.settled()
    for line in lines:
        if not line.is_command:
            observer.direct(line.words)
            state = observer.settled()
            continue
        told = tell(list(line.words))
        if line.changes:
            before = state if told.code == 0 else None
            state = observer.settled(unlike=before, moment_s=line.moment_s)
        else:
            state = observer.state()
        pages.append(Page(line, told, state))
    return pages


def read_again(
    first: list[Page], lines: list[Line], tell: Teller, observer: Observer
) -> list[Page]:
    pages: list[Page] = []
    wanted = iter(first)
    for line in lines:
        if not line.is_command:
            observer.direct(line.words)
            continue
        told = tell(list(line.words))
        pages.append(Page(line, told, observer.eventually(next(wanted).state)))
    return pages


def faults(kafka: Page, kedge: Page) -> list[str]:
    """What is not the same, in words."""
    found: list[str] = []
    if (kafka.told.code == 0) != (kedge.told.code == 0):
        found.append(f"exit {kafka.told.code} and {kedge.told.code}")
    if kafka.line.refused != (kafka.told.code != 0):
        found.append(f"Kafka exits with {kafka.told.code}")
    if not kafka.line.refused and comparable(kafka.line, kafka.told) != comparable(
        kedge.line, kedge.told
    ):
        found.append("lines")
    if kafka.line.refused and not one_sentence(kedge.told):
        found.append("not one sentence")
    if kafka.state != kedge.state:
        found.append("end state")
    return found


def one_sentence(told: Told) -> bool:
    spoken = [line for line in told.err.splitlines() if not line.startswith("note: ")]
    return len(spoken) == 1 and spoken[0].startswith("kedge: ") and "Traceback" not in told.err


def table(release: str, first: list[Page], second: list[Page]) -> str:
    rows = [f"{release}: {len(first)} invocations", f"{'Kafka':>5} {'Kedge':>5}  same"]
    for kafka, kedge in zip(first, second, strict=True):
        verdict = ", ".join(faults(kafka, kedge)) or "yes"
        rows.append(f"{kafka.told.code:>5} {kedge.told.code:>5}  {verdict:<6} {kafka.line.text}")
    return "\n".join(rows)


@pytest.mark.timeout(600)
def test_kafka_and_kedge_come_to_the_same_end(
    cluster: RealCluster,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    observer = Observer(cluster)
    request.addfinalizer(observer.close)
    tools = clusters.tools_of(request.config, cluster)
    lines = lines_of(tmp_path, cluster)
    observer.clear()
    before = observer.settled()
    first = read_first(lines, kafka_side(cluster, tools), observer)
    observer.clear()
    assert observer.eventually(before) == before
    second = read_again(first, lines, kedge_side(cluster), observer)
    observer.clear()
    with capsys.disabled():
        print(f"\n{table(cluster.release, first, second)}")
    assert len(first) >= INVOCATIONS_MIN
    different = [
        "\n".join([kafka.line.text, *map(str, found), *_apart(kafka, kedge)])
        for kafka, kedge in zip(first, second, strict=True)
        if (found := faults(kafka, kedge))
    ]
    assert not different, "\n\n".join(different)


def _apart(kafka: Page, kedge: Page) -> list[str]:
    """The two answers, and where the states differ."""
    states = [
        f"{part}: {kafka.state[part]} and {kedge.state[part]}"
        for part in kafka.state
        if kafka.state[part] != kedge.state[part]
    ]
    return ["--- Kafka", kafka.told.out, "--- Kedge", kedge.told.out, kedge.told.err, *states]
