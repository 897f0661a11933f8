"""The section of the demonstration about plans: metrics, load model, plan, and its run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.demo_lab import Demo
    from kedge.model import Snapshot

MINUTES = 120
TOLERANCE = "0.1"
THROTTLE = 100_000_000
NETWORK = "1GB"  # bytes per second of a broker's link
RATES = """currency = "EUR"
[per_gb]
in = 0.01
out = 0.02
replication = 0.005
stored_month = 0.08
"""
OWNERS = """[web]
topics = ["clicks"]
prefixes = ["view"]
[shop]
globs = ["order*"]
"""


def measured(demo: Demo) -> Path:
    """Two hours of traffic through Spark: load models and findings."""
    demo.section("Metrics become a load model, on Spark")
    sampled, history = demo.directory / "sampled", demo.directory / "history"
    samples = sampled / "rows" / "samples.jsonl"
    samples.parent.mkdir(parents=True)
    count = demo.lab.sample_to(samples, MINUTES)
    demo.explain(f"{count} samples of the lab's skewed traffic, {MINUTES} minutes of its time.")
    for table in ("brokers.parquet", "assignment.parquet"):
        (samples.parent / table).rename(sampled / table)
    demo.command(
        *("pipeline", "ingest", "--format", "jsonl", "--input", str(samples.parent)),
        *("--brokers", str(sampled / "brokers.parquet")),
        *("--assignment", str(sampled / "assignment.parquet"), "--tables", str(history)),
    )
    demo.command("pipeline", "findings", "--tables", str(history), "--limit", "8")
    demo.section("When it is full, and who pays")
    demo.command("capacity", "--tables", str(history), "--network", NETWORK)
    rates, owners = demo.directory / "rates.toml", demo.directory / "owners.toml"
    rates.write_text(RATES)
    owners.write_text(OWNERS)
    demo.command(
        *("cost", "--tables", str(history), "--limit", "5"),
        *("--rates", str(rates), "--owners", str(owners)),
    )
    return history


def planned_and_applied(demo: Demo, history: Path, page: Path) -> None:
    """A plan near its bound, carried out, with pictures of before and after."""
    demo.section("A plan, with its curve and its proof")
    snapshot, plan = demo.directory / "loads", demo.directory / "plan.json"
    demo.command(
        *("pipeline", "loads", "--tables", str(history), "--cluster", demo.lab.cluster_id),
        *("--at", "ewma", "--out", str(snapshot)),
    )
    goals = ("--snapshot", str(snapshot), "--tolerance", TOLERANCE)
    demo.command("plan", "curve", *goals)
    demo.command("plan", *goals, "--out", str(plan))
    demo.command("plan", "verify", str(plan), "--snapshot", str(snapshot))
    demo.section("The plan is carried out by the lab's controller")
    state = str(demo.directory / "runs")
    demo.kedge(
        "apply",
        str(plan),
        "--throttle",
        str(THROTTLE),
        "--interval",
        "0.2",
        "--state",
        state,
        "--yes",
    )
    demo.until("rest", demo.at_rest)
    _reported(demo, snapshot, plan, history, page)


def _reported(demo: Demo, snapshot: Path, plan: Path, history: Path, page: Path) -> None:
    """Before and after on the terminal, and all of it on one page."""
    from kedge.apply.predict_run import Circumstances, predicted
    from kedge.balance import goals_from_json, solve
    from kedge.cli.findings import finding_groups
    from kedge.execution import Limits
    from kedge.files import read_bytes, read_snapshot, write_atomically
    from kedge.pipeline.table_reader import Tables
    from kedge.plan import parse_plan
    from kedge.report.curve import curve_rows
    from kedge.report.finding_sections import findings_sections
    from kedge.report.heat import heat_lines, heat_rows
    from kedge.report.page import html_of
    from kedge.report.plan_report import PlanReport

    before, made = read_snapshot(snapshot), parse_plan(read_bytes(plan))
    heat = heat_rows(made, before)
    for line in heat_lines(heat):
        demo.screen.print(line, markup=True)
    reached = heat_rows(made, _as_it_is(demo, before))
    groups = finding_groups(Tables(history))[0]
    report = PlanReport(
        made,
        "balance plan",
        before,
        predicted(made, before, Limits(THROTTLE), Circumstances(demo.directory / "runs")),
        curve_rows(solve(before, goals_from_json(made.goals or {}))),
        [{**row, "after": row["before"]} for row in reached],
        findings_sections(groups),
    )
    html = html_of(report.document())
    write_atomically(page, html.encode())
    demo.explain(f"Before, planned and reached, the curve and the findings are in {page}.")


def _as_it_is(demo: Demo, before: Snapshot) -> Snapshot:
    """The loads of the snapshot, with replicas and leaders where they are now."""
    from kedge.cluster.snapshot_taker import take_snapshot

    now = take_snapshot(demo.cluster, taken_at=datetime.now(UTC))
    return before.with_assignment(now.assignment)
