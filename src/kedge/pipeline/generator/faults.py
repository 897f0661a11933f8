"""What goes wrong on the way from a broker to the pipeline, and what should come of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kedge.pipeline.generator.rows import KINDS, Integers, Rows, joined
from kedge.pipeline.generator.sizes import ARRIVAL_DELAY_S, MICROS

SHARES = {
    "late_ok": 0.01,
    "late_drop": 0.001,
    "exact_dup": 0.01,
    "correction": 0.001,
    "malformed": 0.002,
}
DELAY_MINUTES = {"late_ok": (2, 26), "late_drop": (60, 181)}
CORRECTION_FIRST = 0.3  # how often a correction overtakes the row that it corrects
UNKNOWN_BROKER = 9000
DAY_S = 86_400


@dataclass(slots=True)
class Transport:
    """Carries rows to the pipeline, some late, twice, corrected or broken; counts what it did."""

    luck: np.random.Generator
    waiting: defaultdict[int, list[Rows]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter[str])
    kinds: Counter[str] = field(default_factory=Counter[str])

    def carry(self, index: int, told: Rows) -> tuple[Rows, Rows]:
        """The rows that arrive with the sample of that index, and the truth in those it told."""
        fate = self._fates(len(told))
        chosen = {name: np.flatnonzero(fate == code) for code, name in enumerate(SHARES)}
        self.counts.update({name: len(rows) for name, rows in chosen.items()})
        for name in DELAY_MINUTES:
            self._delay(index, told.take(chosen[name]), *DELAY_MINUTES[name])
        fixed, overtakes = self._corrected(told.take(chosen["correction"]))
        arriving = [
            fixed.take(overtakes),
            told.take(fate >= len(DELAY_MINUTES)),  # the first fates are those that come late
            self._repeated(index, told.take(chosen["exact_dup"])),
            fixed.take(~overtakes),
            self._broken(told.take(chosen["malformed"])),
            *self.waiting.pop(index, []),
        ]
        bytes_in = told.bytes_in.copy()
        bytes_in[chosen["correction"]] = fixed.bytes_in
        truth = told.but(bytes_in=bytes_in).take(fate != list(SHARES).index("late_drop"))
        self.counts["clean_unique"] += len(truth)
        return joined(arriving), truth

    def stragglers(self) -> list[tuple[int, Rows]]:
        """What is still under way when the samples end, in order of arrival."""
        return [(index, joined(self.waiting.pop(index))) for index in sorted(self.waiting)]

    def _fates(self, count: int) -> NDArray[np.int64]:
        """For each row the place of its fault in `SHARES`; beyond all for those that fare well."""
        edges = np.cumsum(list(SHARES.values()))
        return np.searchsorted(edges, self.luck.random(count), side="right")

    def _delay(self, index: int, rows: Rows, least: int, beyond: int) -> None:
        minutes = self.luck.integers(least, beyond, len(rows))
        late = rows.but(ingest_ts=rows.ts + (minutes * 60 + ARRIVAL_DELAY_S) * MICROS)
        for minute in np.unique(minutes).tolist():
            self.waiting[index + minute].append(late.take(minutes == minute))

    def _repeated(self, index: int, rows: Rows) -> Rows:
        """Copies of rows; half of them come with this sample, the others with the next."""
        again = rows.ingest_ts + self.luck.integers(1, 50, len(rows)) * MICROS
        copies = rows.but(ingest_ts=again)
        now = self.luck.random(len(rows)) < 0.5
        self.waiting[index + 1].append(copies.take(~now))
        return copies.take(now)

    def _corrected(self, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """The rows that correct these, and which of them come first."""
        fixed = rows.but(
            seq=rows.seq + 1,
            bytes_in=rows.bytes_in + self.luck.integers(1, 1000, len(rows)),
            ingest_ts=rows.ingest_ts + 20 * MICROS,
        )
        return fixed, self.luck.random(len(rows)) < CORRECTION_FIRST

    def _broken(self, rows: Rows) -> Rows:
        """Copies of rows with one broken field each; nulls and empty names are only marked."""
        kind = self.luck.integers(0, len(KINDS), len(rows))
        found: list[int] = np.bincount(kind, minlength=len(KINDS)).tolist()
        self.kinds.update(dict(zip(KINDS, found, strict=True)))
        marked = rows.but(fault=kind + 1)
        return marked.but(
            size_bytes=_where(marked, "negative_size", -1 - rows.size_bytes, rows.size_bytes),
            bytes_in=_where(marked, "negative_bytes", -1 - rows.bytes_in, rows.bytes_in),
            broker=_where(marked, "unknown_broker", UNKNOWN_BROKER, rows.broker),
            ts=_where(marked, "future_ts", rows.ts + DAY_S * MICROS, rows.ts),
            isr=_where(marked, "isr_gt_rf", 99, rows.isr),
        )


def _where(rows: Rows, kind: str, broken: Integers | int, whole: Integers) -> Integers:
    return np.where(rows.has(kind), broken, whole)
