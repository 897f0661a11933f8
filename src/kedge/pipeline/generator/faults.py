"""Injects faults into samples: delay, duplication, correction and malformed copies."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kedge.pipeline.generator.sample_arrays import KINDS, Integers, SampleArrays, concatenate
from kedge.pipeline.generator.sizes import ARRIVAL_DELAY_S, MICROS

SHARES = {
    "late_ok": 0.01,
    "late_drop": 0.001,
    "exact_dup": 0.01,
    "correction": 0.001,
    "malformed": 0.002,
}
DELAY_MINUTES = {"late_ok": (2, 26), "late_drop": (60, 181)}
CORRECTION_FIRST = 0.3  # probability that a correction arrives before the row that it corrects
UNKNOWN_BROKER = 9000
DAY_S = 86_400


@dataclass(slots=True)
class FaultyTransport:
    """Delivers samples with injected faults, and counts the faults."""

    rng: np.random.Generator
    waiting: defaultdict[int, list[SampleArrays]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter[str])
    kinds: Counter[str] = field(default_factory=Counter[str])

    def deliver(self, index: int, samples: SampleArrays) -> tuple[SampleArrays, SampleArrays]:
        """The rows that arrive at this index, and the rows that the tables must have of it."""
        fault = self._draw_faults(len(samples))
        chosen = {name: np.flatnonzero(fault == code) for code, name in enumerate(SHARES)}
        self.counts.update({name: len(rows) for name, rows in chosen.items()})
        for name in DELAY_MINUTES:
            self._delay(index, samples.take(chosen[name]), *DELAY_MINUTES[name])
        fixed, overtakes = self._corrected(samples.take(chosen["correction"]))
        arriving = [
            fixed.take(overtakes),
            samples.take(fault >= len(DELAY_MINUTES)),  # the first two faults delay the row
            self._repeated(index, samples.take(chosen["exact_dup"])),
            fixed.take(~overtakes),
            self._malformed(samples.take(chosen["malformed"])),
            *self.waiting.pop(index, []),
        ]
        bytes_in = samples.bytes_in.copy()
        bytes_in[chosen["correction"]] = fixed.bytes_in
        expected = samples.with_columns(bytes_in=bytes_in).take(
            fault != list(SHARES).index("late_drop")
        )
        self.counts["clean_unique"] += len(expected)
        return concatenate(arriving), expected

    def undelivered(self) -> list[tuple[int, SampleArrays]]:
        """The delayed rows that arrive after the last sample, in the order of arrival."""
        return [(index, concatenate(self.waiting.pop(index))) for index in sorted(self.waiting)]

    def _draw_faults(self, count: int) -> NDArray[np.int64]:
        """The index of each row's fault in `SHARES`; `len(SHARES)` for no fault."""
        edges = np.cumsum(list(SHARES.values()))
        return np.searchsorted(edges, self.rng.random(count), side="right")

    def _delay(self, index: int, rows: SampleArrays, least: int, beyond: int) -> None:
        minutes = self.rng.integers(least, beyond, len(rows))
        late = rows.with_columns(ingest_ts=rows.ts + (minutes * 60 + ARRIVAL_DELAY_S) * MICROS)
        for minute in np.unique(minutes).tolist():
            self.waiting[index + minute].append(late.take(minutes == minute))

    def _repeated(self, index: int, rows: SampleArrays) -> SampleArrays:
        """Duplicates; half of them arrive with this sample, the others with the next."""
        again = rows.ingest_ts + self.rng.integers(1, 50, len(rows)) * MICROS
        copies = rows.with_columns(ingest_ts=again)
        now = self.rng.random(len(rows)) < 0.5
        self.waiting[index + 1].append(copies.take(~now))
        return copies.take(now)

    def _corrected(self, rows: SampleArrays) -> tuple[SampleArrays, NDArray[np.bool_]]:
        """The corrections of these rows, and which of them arrive first."""
        fixed = rows.with_columns(
            seq=rows.seq + 1,
            bytes_in=rows.bytes_in + self.rng.integers(1, 1000, len(rows)),
            ingest_ts=rows.ingest_ts + 20 * MICROS,
        )
        return fixed, self.rng.random(len(rows)) < CORRECTION_FIRST

    def _malformed(self, rows: SampleArrays) -> SampleArrays:
        """Copies with one malformed field each; nulls and empty topics are marked in `fault`."""
        kind = self.rng.integers(0, len(KINDS), len(rows))
        found: list[int] = np.bincount(kind, minlength=len(KINDS)).tolist()
        self.kinds.update(dict(zip(KINDS, found, strict=True)))
        marked = rows.with_columns(fault=kind + 1)
        return marked.with_columns(
            size_bytes=_where(marked, "negative_size", -1 - rows.size_bytes, rows.size_bytes),
            bytes_in=_where(marked, "negative_bytes", -1 - rows.bytes_in, rows.bytes_in),
            broker=_where(marked, "unknown_broker", UNKNOWN_BROKER, rows.broker),
            ts=_where(marked, "future_ts", rows.ts + DAY_S * MICROS, rows.ts),
            isr=_where(marked, "isr_gt_rf", 99, rows.isr),
        )


def _where(rows: SampleArrays, kind: str, malformed: Integers | int, valid: Integers) -> Integers:
    return np.where(rows.has(kind), malformed, valid)
