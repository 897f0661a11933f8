"""From traffic to a load model, from there to a plan, and the plan carried out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.stage import Stage
    from kedge.model import Snapshot

MINUTES = 120
TOLERANCE = "0.1"


def measured(stage: Stage) -> Path:
    """Two hours of traffic through Spark: load models and findings."""
    stage.act("Metrics become a load model, on Spark")
    sampled, history = stage.directory / "sampled", stage.directory / "history"
    samples = sampled / "rows" / "samples.jsonl"
    samples.parent.mkdir(parents=True)
    count = stage.lab.sample_to(samples, MINUTES)
    stage.tell(f"{count} samples of the lab's skewed traffic, {MINUTES} minutes of its time.")
    for table in ("brokers.parquet", "assignment.parquet"):
        (samples.parent / table).rename(sampled / table)
    stage.command(
        *("pipeline", "ingest", "--format", "jsonl", "--input", str(samples.parent)),
        *("--brokers", str(sampled / "brokers.parquet")),
        *("--assignment", str(sampled / "assignment.parquet"), "--output", str(history)),
    )
    stage.command("pipeline", "findings", "--output", str(history), "--limit", "8")
    return history


def planned_and_applied(stage: Stage, history: Path, page: Path) -> None:
    """A plan near its bound, carried out, with pictures of before and after."""
    stage.act("A plan, with its curve and its proof")
    snapshot, plan = stage.directory / "loads", stage.directory / "plan.json"
    stage.command(
        *("pipeline", "loads", "--output", str(history), "--cluster", stage.lab.cluster_id),
        *("--at", "ewma", "--out", str(snapshot)),
    )
    asked = ("--snapshot", str(snapshot), "--tolerance", TOLERANCE)
    stage.command("plan", "curve", *asked)
    stage.command("plan", *asked, "--out", str(plan))
    stage.command("plan", "verify", str(plan), "--snapshot", str(snapshot))
    stage.act("The plan is carried out by the lab's controller")
    state = str(stage.directory / "runs")
    stage.kedge(
        "apply", str(plan), "--throttle", "100MB", "--interval", "0.2", "--state", state, "--yes"
    )
    stage.until("rest", stage.at_rest)
    _told(stage, snapshot, plan, history, page)


def _told(stage: Stage, snapshot: Path, plan: Path, history: Path, page: Path) -> None:
    """Before and after on the terminal, and all of it on one page."""
    from kedge.balance import goals_from_json, solve
    from kedge.files import read_bytes, read_snapshot, write_atomically
    from kedge.pipeline.findings_reader import read_findings
    from kedge.plan import parse_plan
    from kedge.report.curve import curve_rows
    from kedge.report.heat import heat_lines, heat_rows
    from kedge.report.plans import summary_row
    from kedge.report.story import story_html

    before, made = read_snapshot(snapshot), parse_plan(read_bytes(plan))
    heat = heat_rows(made, before)
    for line in heat_lines(heat):
        stage.screen.print(line)
    reached = heat_rows(made, _as_it_is(stage, before))
    html = story_html(
        f"Lab {stage.lab.cluster_id}",
        findings=[
            {"kind": one.kind, "subject": one.subject, "value": one.value, "why": one.why}
            for one in read_findings(history)
        ],
        summary=summary_row(made),
        curve=curve_rows(solve(before, goals_from_json(made.goals or {}))),
        heat=heat,
        reached=[{**row, "after": row["before"]} for row in reached],
    )
    write_atomically(page, html.encode())
    stage.tell(f"Before, planned and reached, the curve and the findings are in {page}.")


def _as_it_is(stage: Stage, before: Snapshot) -> Snapshot:
    """The loads of the snapshot, with replicas and leaders where they are now."""
    from kedge.cli.taking import snapshot_of

    now = snapshot_of(stage.cluster, taken_at=datetime.now(UTC))
    return before.with_assignment(now.assignment)
