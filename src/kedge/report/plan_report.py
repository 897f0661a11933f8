"""The report of a plan: what it costs, what it brings, when moves run, and why each one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from kedge.execution.prediction import Prediction
from kedge.model import Snapshot
from kedge.plan import Change, Plan, Summary
from kedge.report.amounts import bytes_text, duration_text, share_text
from kedge.report.curve import knee
from kedge.report.heat import heat_rows
from kedge.report.page.charts import Dumbbell, Span, curve, dumbbells, gantt, nice_ticks
from kedge.report.page.document import Document, Fact, Listing, Picture, Section, Tone, listing
from kedge.report.plans import grounds

Row = dict[str, Any]
NAMES = {
    "disk": "Disk",
    "in": "Bytes in",
    "out": "Bytes out",
    "cpu": "CPU",
    "replicas": "Replicas",
    "leaders": "Leaders",
}
BROKERS_MAX = 40  # in one picture


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What a report of a plan is made of; what is missing is left out of it.

    `curve` are the rows of `report.curve`, `reached` those of `report.heat` after a run.
    """

    plan: Plan
    name: str = "plan"
    snapshot: Snapshot | None = None
    prediction: Prediction | None = None
    curve: Sequence[Row] = ()
    reached: Sequence[Row] = ()
    before: Sequence[Section] = field(default_factory=tuple[Section, ...])

    def document(self) -> Document:
        """The report."""
        cluster = self.plan.cluster_id or "a cluster"
        sections = [
            *self.before,
            *self._balance(),
            *self._curve(),
            *self._prediction(),
            self._moves(),
        ]
        return Document(
            title=f"{self.name[:1].upper()}{self.name[1:]} for {cluster}",
            subtitle="Plan",
            lead=lead(self.plan, self.prediction),
            facts=facts(self.plan, self.prediction),
            sections=sections,
        )

    def _balance(self) -> list[Section]:
        if self.snapshot is None:
            return []
        rows = heat_rows(self.plan, self.snapshot)
        if not rows:
            return []
        came = {row["broker"]: row["after"] for row in self.reached}
        pictures = [
            picture
            for name in rows[0]["before"]
            if (picture := _dumbbells(name, rows, came)) is not None
        ]
        sentence = (
            "Each row is a broker. The hollow mark is its load now, the full one after the plan, "
            "both relative to the mean of all brokers."
        )
        return [Section("Brokers before and after", (sentence,), pictures)]

    def _curve(self) -> list[Section]:
        if len(self.curve) < 2:
            return []
        unit, scale = ("TB", 1e12) if self.curve[-1]["bytes_moved"] >= 2e12 else ("GB", 1e9)
        moved = [row["bytes_moved"] / scale for row in self.curve]
        names = [name for name in NAMES if any(name in row["above_best"] for row in self.curve)]
        above = {n: [100 * row["above_best"].get(n, 0.0) for row in self.curve] for n in names}
        at = knee(self.curve)
        drawn = curve(moved, above, unit=unit, knee=at, label="balance against bytes moved")
        caption = (
            f"How far the most loaded broker stays above the best possible level, for so many "
            f"{unit} moved. After {moved[at]:.3g} {unit} each further one buys least."
        )
        return [Section("What balance costs", (), [Picture(drawn, caption)])]

    def _prediction(self) -> list[Section]:
        found = self.prediction
        if found is None:
            return []
        parts: list[Picture | Listing] = []
        if (picture := moves_over_time(found)) is not None:
            parts.append(picture)
        peaks = sorted(
            (p for p in found.disks if p.share is not None), key=lambda p: -(p.share or 0)
        )
        rows = [
            (
                str(peak.broker) + (f" {peak.log_dir}" if peak.log_dir else ""),
                share_text(peak.before / peak.capacity) if peak.capacity else "",
                share_text(peak.share) if peak.share is not None else "",
                duration_text(peak.at),
            )
            for peak in peaks[:12]
        ]
        if rows:
            header = ("broker", "before", "fullest", "reached after")
            parts.append(listing("Fullest disks on the way", header, rows, right=(1, 2, 3)))
        return [Section("How the run will be", [*problem_texts(found), *found.assumptions], parts)]

    def _moves(self) -> Section:
        plan = self.plan
        size = _sizes(self.snapshot)
        ordered = sorted(plan.changes, key=lambda c: -size.get(c.tp, 0) * len(c.added))
        rows = [
            (
                str(change.tp),
                " ".join(map(str, change.before)),
                " ".join(map(str, change.after)),
                _size_text(size.get(change.tp), change),
                plan.reasons.get(change.tp, ""),
            )
            for change in ordered
        ]
        why = [(ground, f"{count:,}") for ground, count in grounds(plan)]
        header = ("partition", "before", "after", "copied", "why")
        title = f"All {len(rows):,} changes, the largest first"
        return Section(
            "Moves",
            tuple(plan.notes),
            [
                *([listing("Reasons", ("reason", "partitions"), why, right=(1,))] if why else []),
                listing(title, header, rows, right=(3,), folded=True),
            ],
        )


def _dumbbells(name: str, rows: Sequence[Row], came: dict[int, Row]) -> Picture | None:
    shown = sorted(rows, key=lambda row: -abs(row["before"][name] - 1))[:BROKERS_MAX]
    ordered = sorted(shown, key=lambda row: row["broker"])
    drawn = [
        Dumbbell(
            f"{row['broker']}" + (f" · {row['rack']}" if row["rack"] else ""),
            row["before"][name],
            row["after"][name],
            came.get(row["broker"], {}).get(name),
        )
        for row in ordered
    ]
    before, after = (max(row[when][name] for row in rows) for when in ("before", "after"))
    cut = f" The {len(shown)} brokers furthest from the mean." if len(shown) < len(rows) else ""
    word = NAMES.get(name, name)
    caption = (
        f"{word}: the most loaded broker goes from {before:.2f} to {after:.2f} × the mean.{cut}"
    )
    return Picture(dumbbells(drawn, f"{word} of brokers before and after"), caption)


def lead(plan: Plan, prediction: Prediction | None) -> str:
    """What the plan does, in a sentence."""
    summary = plan.summary
    if summary is None:
        return f"{len(plan.partitions):,} partitions change their replicas."
    moved = bytes_text(summary.bytes_moved) if summary.bytes_moved is not None else "unknown bytes"
    worst = max(summary.imbalance_before.items(), key=lambda item: item[1], default=None)
    better = ""
    if worst is not None and worst[0] in summary.imbalance_after:
        better = (
            f" The most loaded broker by {NAMES.get(worst[0], worst[0]).lower()} goes from "
            f"{worst[1]:.2f} to {summary.imbalance_after[worst[0]]:.2f} times the mean."
        )
    took = _run_time(summary, prediction)
    about = f" in about {took}" if took else ""
    return (
        f"{summary.replicas_moved:,} replicas move ({moved}){about}, and "
        f"{summary.leaders_moved:,} leaders change without a copy.{better}"
    )


def _run_time(summary: Summary, prediction: Prediction | None) -> str:
    seconds = prediction.seconds if prediction is not None else summary.eta_seconds
    return duration_text(seconds) if seconds is not None and isfinite(seconds) else ""


def facts(plan: Plan, prediction: Prediction | None) -> list[Fact]:
    """The figures of the summary."""
    summary, found = plan.summary, list[Fact]()
    if summary is not None:
        found += _cost_facts(summary)
        found += _balance_facts(summary)
    if prediction is not None:
        low, high = prediction.seconds_p10, prediction.seconds_p90
        between = (
            f"{duration_text(low)} to {duration_text(high)}" if isfinite(high) else "never ends"
        )
        tone = Tone.BAD if prediction.problems else Tone.PLAIN
        value = duration_text(prediction.seconds) if isfinite(prediction.seconds) else "never"
        found.append(Fact("Predicted time", value, between, tone))
    elif summary is not None and summary.eta_seconds is not None:
        found.append(Fact("Time", duration_text(summary.eta_seconds), "at the planned rate"))
    return found


def _cost_facts(summary: Summary) -> list[Fact]:
    found: list[Fact] = []
    if summary.bytes_moved is not None:
        least = summary.bytes_moved_lower_bound
        bound = f"no plan needs less than {bytes_text(least)}" if least else ""
        found.append(Fact("Copied", bytes_text(summary.bytes_moved), bound))
    found.append(Fact("Replicas moved", f"{summary.replicas_moved:,}"))
    found.append(Fact("Leaders changed", f"{summary.leaders_moved:,}", "no data moves"))
    peak = max(summary.peak_disk.items(), key=lambda item: item[1], default=None)
    if peak is not None:
        tone = Tone.BAD if peak[1] > 0.95 else Tone.WARN if peak[1] > 0.85 else Tone.PLAIN
        broker, share = peak
        found.append(Fact("Fullest disk on the way", share_text(share), f"broker {broker}", tone))
    return found


def _balance_facts(summary: Summary) -> list[Fact]:
    found: list[Fact] = []
    for name, after in summary.imbalance_after.items():
        if name not in ("disk", "in", "out", "cpu"):
            continue
        before, least = summary.imbalance_before.get(name), summary.imbalance_lower_bound.get(name)
        was = f"was {before:.2f}" if before is not None else ""
        best = f"best possible {least:.2f}" if least is not None else ""
        tone = Tone.GOOD if least is not None and after <= 1.1 * least else Tone.PLAIN
        note = ", ".join(part for part in (was, best) if part)
        found.append(Fact(f"{NAMES[name]}, most loaded ÷ mean", f"{after:.2f}", note, tone))
    return found


def problem_texts(prediction: Prediction) -> list[str]:
    """Why the plan cannot be carried out, if so."""
    return [f"It cannot run: {each.what}; {each.hint}." for each in prediction.problems]


def moves_over_time(prediction: Prediction) -> Picture | None:
    """The moves into each broker over the time of a run."""
    spans = [
        Span(f"broker {broker}", move.start, move.end, f"{move.change.tp} to broker {broker}")
        for move in prediction.moves
        if move.start is not None and move.end is not None
        for broker in move.into
    ]
    if not spans:
        return None
    busiest = sorted({span.row for span in spans}, key=lambda row: int(row.split()[1]))
    rows = busiest[:BROKERS_MAX]
    longest = sorted((s for s in spans if s.row in rows), key=lambda s: s.start - s.end)[:900]
    last = max(span.end for span in spans)
    ticks = {at: duration_text(at) for at in nice_ticks(last, 5) if at <= last * 1.001}
    caption = f"Moves into each broker over {duration_text(last)}; point at one for its name."
    if len(longest) < len(spans):
        caption += f" The {len(longest):,} longest of {len(spans):,}."
    return Picture(gantt(longest, rows, ticks, "moves into each broker over time"), caption)


def _sizes(snapshot: Snapshot | None) -> dict[Any, int]:
    if snapshot is None:
        return {}
    return dict(zip(snapshot.assignment.keys(), snapshot.size.tolist(), strict=True))


def _size_text(size: int | None, change: Change) -> str:
    if not change.added:
        return "–"
    return "?" if size is None or size < 0 else bytes_text(size * len(change.added))
