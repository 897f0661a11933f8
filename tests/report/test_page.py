"""Reports as pages and as Markdown: self-contained, escaped, small, and complete."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from kedge.balance import Goals, goals_from_json, plan_of, solve
from kedge.execution import Limits
from kedge.execution.prediction import predict_on_snapshot
from kedge.model import (
    Assignment,
    Broker,
    BrokerId,
    BrokerState,
    Capacity,
    Snapshot,
    TopicPartition,
)
from kedge.report.cluster_report import cluster_document
from kedge.report.curve import curve_rows
from kedge.report.page import Document, Fact, Listing, Picture, Section, html_of, markdown_of
from kedge.report.page.charts import Bar, Dumbbell, bars, dumbbells, nice_ticks
from kedge.report.page.document import Tone
from kedge.report.plan_report import PlanReport

SIZE_MAX = 300_000
ODD = "<script>alert(1)</script>&\"'"


def snapshot_of(brokers: int, partitions: int, topic: str = "orders") -> Snapshot:
    """Replicas crowded on the first brokers, sizes that differ."""
    listed = [
        Broker(BrokerId(b), f"rack{b % 3}", capacity=Capacity(disk=4e13)) for b in range(brokers)
    ]
    half = brokers // 6 * 3
    replicas = {
        TopicPartition(topic, p): tuple(
            (p + k) % half if p % 3 else (p + k) % brokers for k in range(3)
        )
        for p in range(partitions)
    }
    assignment = Assignment.from_mapping(replicas)
    return Snapshot.of(
        listed,
        assignment,
        cluster_id="test",
        leader=assignment.replicas[:, 0],
        isr=assignment.replicas,
        size=np.array([(1 + p % 7) * 10**9 for p in range(partitions)]),
    )


def report_of(snapshot: Snapshot) -> PlanReport:
    plan = plan_of(snapshot, Goals(tolerance=0.1))
    prediction = predict_on_snapshot(plan.changes, snapshot, Limits(50_000_000))
    curve = curve_rows(solve(snapshot, goals_from_json(plan.goals or {})))
    return PlanReport(plan, "plan", snapshot, prediction, curve)


@pytest.fixture(scope="module")
def small() -> PlanReport:
    return report_of(snapshot_of(6, 60))


def test_a_page_fetches_nothing_and_runs_nothing(small: PlanReport) -> None:
    page = html_of(small.document())
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=", page)
    assert "http:" not in page.replace("http-equiv", "")
    assert "https:" not in page
    assert "default-src 'none'" in page


def test_the_summary_comes_first_and_every_picture_has_a_caption(small: PlanReport) -> None:
    page = html_of(small.document())
    assert page.index("class=facts") < page.index("<section>")
    assert page.count("<figure>") == page.count("<figcaption>") >= 4
    assert page.count("<svg") == page.count("aria-label=")
    assert "<details><summary>All" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_pictures_are_well_formed(small: PlanReport) -> None:
    pictures = re.findall(r"<svg.*?</svg>", html_of(small.document()))
    assert len(pictures) >= 4
    for each in pictures:
        ElementTree.fromstring(each.replace("role=img", 'role="img"'))


def test_a_page_of_a_large_plan_stays_small() -> None:
    snapshot = snapshot_of(60, 1500)
    plan = plan_of(snapshot, Goals(tolerance=0.1), out_of_time=lambda: True)
    prediction = predict_on_snapshot(plan.changes, snapshot, Limits(50_000_000))
    page = html_of(PlanReport(plan, "plan", snapshot, prediction).document())
    assert len(page.encode()) <= SIZE_MAX
    assert "more</p>" in page
    cluster = html_of(cluster_document(snapshot_of(200, 20_000)))
    assert len(cluster.encode()) <= SIZE_MAX


def test_text_from_outside_is_text_in_both_forms() -> None:
    document = Document(
        ODD,
        ODD,
        ODD,
        [Fact(ODD, ODD, ODD, Tone.BAD)],
        [
            Section(
                ODD,
                [ODD],
                [
                    Picture(dumbbells([Dumbbell(ODD, 1.0, 0.5, 0.7)], ODD), ODD),
                    Picture(bars([Bar(ODD, 1.0, 2.0, ODD)], ODD), ODD),
                    Listing(ODD, [ODD], [[ODD]], folded=True, left_out=3),
                ],
            )
        ],
    )
    assert "<script>" not in html_of(document)
    text = markdown_of(document)
    assert "<script>" not in text
    assert "and 3 more" in text
    assert "| x\\|a |" in markdown_of(Document("t", "s", "l", [Fact("x|a", "", "")]))


def test_markdown_has_the_same_facts_and_tables(small: PlanReport) -> None:
    text = markdown_of(small.document())
    assert text.startswith("# Plan for test\n")
    assert "| Replicas moved | " in text
    assert "## Moves" in text
    assert text.count("<details>") == text.count("</details>") == 1


def test_a_cluster_with_trouble_says_so_first() -> None:
    healthy = snapshot_of(6, 30)
    assert "every replica is in sync" in cluster_document(healthy).lead
    dead = [Broker(BrokerId(0), state=BrokerState.DEAD), *healthy.brokers[1:]]
    isr = np.where(healthy.isr == 0, -1, healthy.isr)
    hurt = Snapshot.of(
        dead,
        healthy.assignment,
        leader=healthy.assignment.replicas[:, 1],
        isr=isr,
        size=healthy.size,
    )
    document = cluster_document(hurt)
    assert document.lead.startswith("5 brokers hold 30 partitions; 1 brokers are down;")
    page = html_of(document)
    assert "partitions miss replicas</summary>" in page


@pytest.mark.parametrize("most", [0.0, 0.3, 1.0, 7.2, 1234.5, 9e12])
def test_ticks_are_round_and_reach_the_most(most: float) -> None:
    ticks = nice_ticks(most)
    assert ticks[0] == 0
    assert ticks[-1] >= most
    assert 2 <= len(ticks) <= 8


def test_a_plan_without_a_snapshot_has_a_report_without_pictures(small: PlanReport) -> None:
    page = html_of(PlanReport(small.plan).document())
    assert "<svg" not in page
    assert "Replicas moved" in page


def test_the_command_writes_a_page_and_markdown(tmp_path: Path, small: PlanReport) -> None:
    from kedge.cli.app import run
    from kedge.files import write_atomically, write_snapshot
    from kedge.plan import plan_to_json

    assert small.snapshot is not None
    write_snapshot(small.snapshot, tmp_path / "c.json")
    write_atomically(tmp_path / "plan.json", plan_to_json(small.plan))
    page = tmp_path / "plan.html"
    snapshot = ("--snapshot", str(tmp_path / "c.json"))
    assert run(["report", "plan", str(tmp_path / "plan.json"), *snapshot, "--html", str(page)]) == 0
    assert "<svg" in page.read_text("utf-8")
    assert run(["report", "cluster", *snapshot, "--format", "markdown"]) == 0
    assert run(["report", "plan", str(tmp_path / "none.json")]) == 2
    assert run(["report", "cluster", *snapshot, "--bootstrap-server", "127.0.0.1:1"]) == 2
