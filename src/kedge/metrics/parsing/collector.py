"""Collects what parsers find: measurements as columns, malformed input, ignored names, warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, NamedTuple

import numpy as np

from kedge.metrics.measurement import NONE, SCHEMA, Series
from kedge.model.arrow import arrow

# `replica` tells the copies of one series apart that several Prometheus servers have scraped.
COLLECTED_SCHEMA: Final[Any] = SCHEMA.append(
    arrow().field("replica", arrow().string(), nullable=False)
)

RAW_LENGTH_MAX: Final = 500  # characters of malformed input that are kept
TS_MS_MAX: Final = 253_402_300_800_000  # the year 10000; a later time is no time
METADATA_TOPIC: Final = "__cluster_metadata"  # the log of KRaft controllers: no topic of clients
NOT_A_NUMBER: Final = "(no number)"


@dataclass(frozen=True, slots=True)
class Malformed:
    """Input that cannot be parsed, shortened, and the reason."""

    raw: str
    why: str

    @property
    def text(self) -> str:
        """Reason and input in one line."""
        return f"{self.why}: {self.raw}" if self.raw else self.why


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What identifies one series of a cluster."""

    series: Series
    broker: int = NONE
    topic: str = ""
    partition: int = NONE
    group: str = ""
    replica: str = ""


class SeriesPoints(NamedTuple):
    """Values of one series and their times, which other series may share."""

    key: SeriesKey
    ts_ms: Any
    values: Any


class Collector:
    """Collects the measurements of one cluster."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.malformed: list[Malformed] = []
        self.ignored: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self._keys: list[SeriesKey] = []
        self._times: list[Any] = []
        self._values: list[Any] = []
        self._single_keys: list[SeriesKey] = []
        self._single_times: list[int] = []
        self._single_values: list[float] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, key: SeriesKey, ts_ms: int, value: float) -> None:
        """Add one value."""
        if key.topic == METADATA_TOPIC:
            return
        if not (0 <= value < inf and 0 <= ts_ms < TS_MS_MAX):
            self.ignored[NOT_A_NUMBER] += 1
            return
        self._single_keys.append(key)
        self._single_times.append(ts_ms)
        self._single_values.append(value)
        self._count += 1

    def add_points(self, key: SeriesKey, ts_ms: Any, values: Any) -> None:
        """Add the values of one series; NaN, which also marks a series as stale, is left out."""
        if key.topic == METADATA_TOPIC:
            return
        valid = np.isfinite(values) & (ts_ms >= 0) & (ts_ms < TS_MS_MAX) & (values >= 0)
        if not valid.all():
            self.ignored[NOT_A_NUMBER] += int((~valid).sum())
            ts_ms, values = ts_ms[valid], values[valid]
        if len(values):
            self._keys.append(key)
            self._times.append(ts_ms)
            self._values.append(values)
            self._count += len(values)

    def reject(self, raw: str | bytes, why: str) -> None:
        """Add malformed input."""
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        self.malformed.append(Malformed(text[:RAW_LENGTH_MAX], why))

    def ignore(self, name: str) -> None:
        """Count a name that is not needed."""
        self.ignored[name] += 1

    def warn(self, text: str) -> None:
        """Count a warning of the source, which may have left something out."""
        self.warnings[text] += 1

    def take(self) -> Any:
        """The measurements so far as a record batch; the collector starts again without them."""
        pa = arrow()
        keys = [*self._keys, *self._single_keys]
        lengths = [*map(len, self._times), *([1] * len(self._single_keys))]
        index = pa.array(np.repeat(np.arange(len(keys), dtype=np.int32), lengths))
        columns = [
            pa.array([self.cluster]).take(pa.array(np.zeros(self._count, np.int32))),
            pa.array(_joined(self._times, self._single_times, np.int64)),
            pa.array([str(key.series) for key in keys], pa.string()).take(index),
            pa.array(_joined(self._values, self._single_values, np.float64)),
            pa.array([key.broker for key in keys], pa.int32()).take(index),
            pa.array([key.topic for key in keys], pa.string()).take(index),
            pa.array([key.partition for key in keys], pa.int32()).take(index),
            pa.array([key.group for key in keys], pa.string()).take(index),
            pa.array([key.replica for key in keys], pa.string()).take(index),
        ]
        self._clear()
        return pa.RecordBatch.from_arrays(columns, schema=COLLECTED_SCHEMA)

    def take_series(self) -> list[SeriesPoints]:
        """The same as series, which need less memory than rows."""
        found = [*map(SeriesPoints, self._keys, self._times, self._values)]
        singles = zip(self._single_keys, self._single_times, self._single_values, strict=True)
        for key, ts_ms, value in singles:
            found.append(SeriesPoints(key, np.array([ts_ms], np.int64), np.array([value])))
        self._clear()
        return found

    def _clear(self) -> None:
        for store in (self._keys, self._times, self._values):
            store.clear()
        for store in (self._single_keys, self._single_times, self._single_values):
            store.clear()
        self._count = 0


def _joined(arrays: Sequence[Any], single: Sequence[float], dtype: Any) -> Any:
    return np.concatenate([*arrays, np.array(single, dtype)])
