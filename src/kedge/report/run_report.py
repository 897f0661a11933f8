"""The report of a run: how it ended, what it has moved, its throttles, and what is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from kedge.apply.run_status import RunStatus
from kedge.execution import RunState
from kedge.report.amounts import bytes_text, duration_text
from kedge.report.page.charts import Bar, bars
from kedge.report.page.document import Document, Fact, Listing, Picture, Section, Tone, listing
from kedge.report.runs import status_row

TONES = {
    RunState.DONE: Tone.GOOD,
    RunState.FAILED: Tone.BAD,
    RunState.STOPPED: Tone.WARN,
    RunState.PAUSED: Tone.WARN,
}
BROKERS_MAX = 60


def run_document(status: RunStatus, now: float) -> Document:
    """The report of a run as it is now."""
    row = status_row(status, now)
    done, total = row["partitions"].get("done", 0), len(status.changes)
    copied = f"{bytes_text(row['bytes_done'])} of {bytes_text(row['bytes_total'])}"
    why = f" ({status.record.why})" if status.record.why else ""
    return Document(
        title=f"Run {row['run']}",
        subtitle=f"Run, {row['kind']} of {row['undoes'] or row['plan'] or 'a plan'}",
        lead=f"The run is {row['state']}{why}: {done:,} of {total:,} partitions are in place, "
        f"{copied} have arrived.",
        facts=_facts(status, row),
        sections=[*_arrived(status), *_throttles(status), _partitions(status)],
    )


def _facts(status: RunStatus, row: Mapping[str, Any]) -> list[Fact]:
    elapsed = row["elapsed_seconds"]
    rate = row["bytes_done"] / elapsed if elapsed else 0.0
    left = row["seconds_left"]
    found = [
        Fact(
            "State", row["state"], f"begun {row['begun_at']}", TONES.get(status.state, Tone.PLAIN)
        ),
        Fact("Arrived", bytes_text(row["bytes_done"]), f"of {bytes_text(row['bytes_total'])}"),
        Fact("Time", duration_text(elapsed), f"{bytes_text(rate)}/s on average"),
        Fact(
            "Throttle", f"{bytes_text(row['rate'])}/s" if row["rate"] else "none", _changed(status)
        ),
    ]
    if left:
        found.append(Fact("Time left", duration_text(left)))
    if row["brokers_down"]:
        ids = ", ".join(map(str, row["brokers_down"]))
        found.append(Fact("Brokers down", ids, "of those that the run needs", Tone.BAD))
    if aside := len(status.record.set_aside):
        found.append(Fact("Set aside", f"{aside:,}", "moves that could not end", Tone.WARN))
    return found


def _changed(status: RunStatus) -> str:
    count = len(status.record.rate_changes)
    return f"changed {count} times" if count else "as at the start"


def _arrived(status: RunStatus) -> list[Section]:
    """What has arrived at each broker, of what it gets."""
    gets: dict[int, float] = defaultdict(float)
    has: dict[int, float] = defaultdict(float)
    for each in status.work.copies:
        for broker, arrived in each.to_brokers.items():
            gets[broker] += each.size
            has[broker] += arrived
    rows = [
        Bar(str(b), has[b], gets[b], f"{bytes_text(has[b])} of {bytes_text(gets[b])}")
        for b in sorted(gets, key=lambda b: -gets[b])[:BROKERS_MAX]
        if gets[b]
    ]
    if not rows:
        return []
    ordered = sorted(rows, key=lambda row: int(row.name))
    caption = "Bytes that have arrived at each broker, of those that the plan sends there."
    return [Section("Brokers", (), [Picture(bars(ordered, "arrived at each broker"), caption)])]


def _throttles(status: RunStatus) -> list[Section]:
    changes = status.record.rate_changes
    if not changes:
        return []
    rows = [
        (duration_text(each.at - status.record.begun_at), f"{bytes_text(each.rate)}/s", each.why)
        for each in changes
    ]
    header = ("after", "throttle", "why")
    return [
        Section("Changes of the throttle", (), [listing("Throttles", header, rows, right=(0, 1))])
    ]


def _partitions(status: RunStatus) -> Section:
    """The partitions, grouped by how far they are; what is not in place comes first."""
    groups: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for change in status.changes:
        where = status.statuses[change.tp].value
        why = status.record.set_aside.get(change.tp, "")
        before, after = (" ".join(map(str, ids)) for ids in (change.before, change.after))
        groups[where].append((str(change.tp), before, after, why))
    parts: list[Listing] = [
        listing(f"{len(rows):,} {where}", ("partition", "before", "after", ""), rows, folded=True)
        for where, rows in sorted(groups.items(), key=lambda item: item[0] == "done")
    ]
    return Section("Partitions", (), parts)
