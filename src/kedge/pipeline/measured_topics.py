"""The measurements of one cluster in memory, by topic, to attribute one topic after the other.

A value takes 8 bytes: the series of an answer have their values at the same moments, so these are
kept once. As rows with the names of series and topics it would take ten times as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.metrics.measurement import NONE, PROCESS_SERIES, Series
from kedge.metrics.parsing.collector import COLLECTED_SCHEMA, SeriesPoints
from kedge.model.arrow import Table, arrow

Times = NDArray[np.int64]
BROKERS = ""  # the topic of what is measured of whole brokers


class MeasuredTopics:
    """Collects series, and makes the table of one topic."""

    def __init__(self, cluster: str, origin: str) -> None:
        self._cluster, self._origin = cluster, origin
        self._topics: dict[str, list[SeriesPoints]] = {}
        self._times: dict[int, Times] = {}

    def add(self, found: Iterable[SeriesPoints]) -> None:
        """Add series, or more values of the same series."""
        for key, ts_ms, values in found:
            points = SeriesPoints(key, self.shared(ts_ms), values)
            self._topics.setdefault(key.topic, []).append(points)

    def shared(self, ts_ms: Times) -> Times:
        """An equal array that is kept already, or this one."""
        known = self._times.setdefault(hash(ts_ms.tobytes()), ts_ms)
        return known if np.array_equal(known, ts_ms) else ts_ms

    def topics(self) -> list[str]:
        """The topics that have measurements, sorted."""
        return sorted(topic for topic in self._topics if topic != BROKERS)

    def brokers(self) -> set[int]:
        """The brokers that have series of Kafka."""
        keys = [points.key for found in self._topics.values() for points in found]
        return {key.broker for key in keys if key.series not in PROCESS_SERIES} - {NONE}

    def of_topic(self, topic: str) -> Table:
        """The measurements of a topic, and which brokers were up, with `origin` and `replica`."""
        ups = [each for each in self._topics.get(BROKERS, ()) if each.key.series is Series.UP]
        return self._table([*self._topics.get(topic, ()), *ups])

    def of_brokers(self) -> Table:
        """The measurements of whole brokers."""
        return self._table(self._topics.get(BROKERS, []))

    def _table(self, found: Sequence[SeriesPoints]) -> Table:
        pa, keys = arrow(), [each.key for each in found]
        lengths = [len(each.values) for each in found]
        rows = np.repeat(np.arange(len(keys)), lengths)
        columns = {
            "cluster": _repeated(self._cluster, len(rows)),
            "ts_ms": _joined([each.ts_ms for each in found], np.int64),
            "series": _texts([str(key.series) for key in keys], rows),
            "value": _joined([each.values for each in found], np.float64),
            "broker": _numbers([key.broker for key in keys], rows),
            "topic": _texts([key.topic for key in keys], rows),
            "partition": _numbers([key.partition for key in keys], rows),
            "group": _texts([key.group for key in keys], rows),
            "replica": _texts([key.replica for key in keys], rows),
            "origin": _repeated(self._origin, len(rows)),
        }
        assert [*columns] == [*COLLECTED_SCHEMA.names, "origin"]
        return pa.table(columns)


def _joined(arrays: Sequence[Any], dtype: Any) -> Any:
    return np.concatenate([np.empty(0, dtype), *arrays])


def _numbers(of_keys: Sequence[int], rows: Any) -> Any:
    return np.array(of_keys, np.int32)[rows]


def _texts(of_keys: Sequence[str], rows: Any) -> Any:
    """A column of codes and the distinct texts."""
    distinct, codes = np.unique(np.array(of_keys, np.str_), return_inverse=True)
    indices = arrow().array(codes.astype(np.int32)[rows])
    return arrow().DictionaryArray.from_arrays(indices, arrow().array(distinct.tolist(), "string"))


def _repeated(text: str, count: int) -> Any:
    return _texts([text], np.zeros(count, np.int64))
