"""The report of a cluster: how full and how loaded its brokers are, and what stands out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kedge.model import Snapshot
from kedge.report.amounts import bytes_text, share_text
from kedge.report.page.charts import Bar, bars
from kedge.report.page.document import Document, Fact, Listing, Picture, Section, Tone, listing
from kedge.watch.samples import (
    Observed,
    Sample,
    led_elsewhere,
    out_of_sync,
    rack_crowded,
    sample_of,
)

Row = dict[str, Any]
BROKERS_MAX, TOPICS_MAX = 60, 25
FULL, NEARLY = 0.9, 0.8


def cluster_document(snapshot: Snapshot, *, findings: Sequence[Section] = ()) -> Document:
    """The report; `findings` come before the pictures."""
    sample = sample_of(Observed(0.0, snapshot))
    taken = f", taken {snapshot.taken_at:%Y-%m-%d %H:%M} UTC" if snapshot.taken_at else ""
    return Document(
        title=f"Cluster {snapshot.cluster_id or ''}".strip(),
        subtitle=f"Cluster{taken}",
        lead=_lead(sample),
        facts=_facts(snapshot, sample),
        sections=[
            *findings,
            *_trouble(snapshot),
            *_disks(sample),
            _leaders(sample),
            _topics(snapshot),
        ],
    )


def _lead(sample: Sample) -> str:
    alive = sum(each.alive for each in sample.brokers)
    wrong = [
        text
        for count, text in (
            (len(sample.down), f"{len(sample.down)} brokers are down"),
            (sample.leaderless, f"{sample.leaderless:,} partitions have no leader"),
            (sample.under_replicated, f"{sample.under_replicated:,} partitions miss replicas"),
            (sample.rack_crowded, f"{sample.rack_crowded:,} partitions break rack rules"),
        )
        if count
    ]
    state = "; ".join(wrong) if wrong else "every replica is in sync"
    return f"{alive} brokers hold {sample.partitions:,} partitions; {state}."


def _facts(snapshot: Snapshot, sample: Sample) -> list[Fact]:
    shares = {each.broker: each.disk_share for each in sample.brokers if each.disk_share}
    stored = sum(each.disk for each in sample.brokers)
    found = [
        Fact(
            "Brokers",
            f"{sum(each.alive for each in sample.brokers)}",
            _down(sample),
            _tone(sample.down),
        ),
        Fact("Partitions", f"{sample.partitions:,}", f"{len(snapshot.assignment.topics):,} topics"),
        Fact(
            "Under-replicated",
            f"{sample.under_replicated:,}",
            f"{sample.leaderless:,} without a leader",
            _tone(sample.under_replicated),
        ),
        Fact("Stored", bytes_text(stored), "all replicas"),
    ]
    if shares:
        broker, share = max(shares.items(), key=lambda item: item[1])
        tone = Tone.BAD if share > FULL else Tone.WARN if share > NEARLY else Tone.GOOD
        found.append(Fact("Fullest disk", share_text(share), f"broker {broker}", tone))
    away = sample.leaders_away
    found.append(
        Fact("Led elsewhere", f"{away:,}", "not by the preferred replica", _tone(away, Tone.WARN))
    )
    return found


def _tone(wrong: object, tone: Tone = Tone.BAD) -> Tone:
    return tone if wrong else Tone.GOOD


def _down(sample: Sample) -> str:
    return f"down: {', '.join(map(str, sample.down))}" if sample.down else "all are alive"


def _trouble(snapshot: Snapshot) -> list[Section]:
    """Partitions with something wrong, grouped by what it is."""
    short, _ = out_of_sync(snapshot)
    groups = (
        ("miss replicas", short),
        ("have more replicas in one rack than they must", rack_crowded(snapshot)),
        ("are not led by their preferred replica", led_elsewhere(snapshot)),
    )
    parts: list[Listing] = []
    for what, mask in groups:
        rows = [_partition(snapshot, row) for row in np.flatnonzero(mask).tolist()]
        if rows:
            title = f"{len(rows):,} partitions {what}"
            header = ("partition", "replicas", "in sync", "leader")
            parts.append(listing(title, header, rows, folded=True))
    return [Section("What stands out", (), parts)] if parts else []


def _partition(snapshot: Snapshot, row: int) -> tuple[str, ...]:
    replicas = snapshot.assignment.replicas_of(row)
    isr = [str(each) for each in snapshot.isr[row].tolist() if each >= 0]
    leader = int(snapshot.leader[row])
    named = str(snapshot.assignment.key(row))
    return (
        named,
        " ".join(map(str, replicas)),
        " ".join(isr),
        str(leader) if leader >= 0 else "none",
    )


def _disks(sample: Sample) -> list[Section]:
    ordered = sorted(sample.brokers, key=lambda each: -(each.disk_share or 0))[:BROKERS_MAX]
    rows = [
        Bar(
            f"{each.broker}" + (f" · {each.rack}" if each.rack else ""),
            each.disk,
            each.capacity or each.disk,
            _disk_words(each.disk, each.capacity),
            _disk_colour(each.disk_share),
        )
        for each in sorted(ordered, key=lambda each: each.broker)
        if each.alive
    ]
    if not any(row.value for row in rows):
        return []
    caption = "Bytes on each broker against the size of its disks, where the brokers report it."
    if len(rows) < len(sample.brokers):
        caption += f" The {len(rows)} fullest of {len(sample.brokers)}."
    return [Section("Disks", (), [Picture(bars(rows, "disk in use of each broker"), caption)])]


def _disk_words(used: float, capacity: float | None) -> str:
    return f"{bytes_text(used)}, {share_text(used / capacity)}" if capacity else bytes_text(used)


def _disk_colour(share: float | None) -> str:
    if share is None or share <= NEARLY:
        return "after"
    return "badfill" if share > FULL else "warnfill"


def _leaders(sample: Sample) -> Section:
    most = max((each.replicas for each in sample.brokers), default=1)
    ordered = sorted(sample.brokers, key=lambda each: -each.replicas)[:BROKERS_MAX]
    rows = [
        Bar(
            f"{each.broker}" + (f" · {each.rack}" if each.rack else ""),
            each.leaders,
            each.replicas,
            f"{each.leaders:,} of {each.replicas:,} led",
        )
        for each in sorted(ordered, key=lambda each: each.broker)
    ]
    caption = f"Replicas of each broker (at most {most:,}); the full part is what it leads."
    return Section(
        "Replicas and leaders", (), [Picture(bars(rows, "replicas and leaders"), caption)]
    )


def _topics(snapshot: Snapshot) -> Section:
    assignment, size = snapshot.assignment, np.maximum(snapshot.size, 0)
    stored = np.bincount(assignment.topic, size * assignment.rf, len(assignment.topics))
    counts = np.bincount(assignment.topic, minlength=len(assignment.topics))
    order: list[int] = np.argsort(-stored, kind="stable").tolist()
    rows = [
        (assignment.topics[at], f"{int(counts[at]):,}", bytes_text(float(stored[at])))
        for at in order
    ]
    header = ("topic", "partitions", "stored")
    shown = listing("Topics", header, rows, right=(1, 2), rows_max=TOPICS_MAX)
    return Section("Largest topics", (), [shown])
