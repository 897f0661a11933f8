"""Metric names and labels of exporters: which series a metric is.

Names are compared in lower case. One metric has different names under different exporters:

| exporter                      | bytes in of a topic                                             |
|-------------------------------|-----------------------------------------------------------------|
| JMX exporter, example rules   | `kafka_server_brokertopicmetrics_bytesin_total{topic}`          |
| JMX exporter, no rules        | `kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",…}` |
| Strimzi's metrics reporter    | `kafka_server_brokertopicmetrics_bytesinpersec_total{topic}`    |

Offsets and groups also come from kminion and from kafka_exporter, which know no brokers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kedge.metrics.measurement import NONE, PROCESS_SERIES, Series

APP_INFO: Final = re.compile(r"kafka_server_app_info_start_?time_?ms", re.IGNORECASE)
INT_MAX: Final = 2**31 - 1
_PREFIXES: Final = (
    *("kafka_server_brokertopicmetrics_", "kafka_log_log_", "kafka_cluster_partition_"),
)
_TIMED: Final = ("kafka_network_requestmetrics_", "kafka_log_logflushstats_")


@dataclass(frozen=True, slots=True)
class NamedSeries:
    """The series of a metric, with what its labels say; `value` in the file times `scale`."""

    series: Series
    topic: str = ""
    partition: int = NONE
    group: str = ""
    scale: float = 1.0
    of_broker: bool = True  # False for exporters beside the brokers


class SeriesNames(Protocol):
    """Tells which series a metric is."""

    def may_need(self, name: str) -> bool:
        """False if metrics of this name are not needed, whatever their labels."""
        ...

    def find(self, name: str, labels: Mapping[str, str]) -> NamedSeries | None:
        """The series; None for a metric that is not needed."""
        ...


class ExporterNames:
    """The names that known exporters give."""

    def may_need(self, name: str) -> bool:
        """False if metrics of this name are not needed, whatever their labels."""
        lower = name.lower()
        return lower.startswith((*_PREFIXES, *_TIMED)) or lower in _BY_NAME

    def find(self, name: str, labels: Mapping[str, str]) -> NamedSeries | None:
        """The series; None for a metric that is not needed."""
        lower = name.lower()
        if lower.startswith(_PREFIXES[0]):
            return _topic_meter(lower, labels)
        if lower.startswith(_PREFIXES):
            return _of_partition(lower, labels)
        if lower.startswith(_TIMED):
            return _time(lower, labels)
        found = _labelled(_BY_NAME[lower], labels) if lower in _BY_NAME else None
        return found and replace(found, of_broker=found.series in PROCESS_SERIES)


def label_int(labels: Mapping[str, str], *names: str) -> int:
    """The number in the first of these labels that is there; NONE if there is none."""
    for name in names:
        text = labels.get(name, "")
        if text.isdecimal() and int(text) <= INT_MAX:
            return int(text)
    return NONE


# ---- meters of a topic or a broker --------------------------------------------------------------

_METERS: Final = {
    "bytesin": (Series.BYTES_IN, Series.BYTES_IN_RATE),
    "bytesout": (Series.BYTES_OUT, Series.BYTES_OUT_RATE),
    "messagesin": (Series.MESSAGES_IN, Series.MESSAGES_IN_RATE),
    "replicationbytesin": (Series.REPLICATION_IN, Series.REPLICATION_IN_RATE),
    "replicationbytesout": (Series.REPLICATION_OUT, Series.REPLICATION_OUT_RATE),
    "reassignmentbytesin": (Series.REASSIGNMENT_IN, None),
    "reassignmentbytesout": (Series.REASSIGNMENT_OUT, None),
}
_METER: Final = re.compile(
    r"kafka_server_brokertopicmetrics_(?:(?P<meter>[a-z]+?)(?:_?persec)?_)?"
    r"(?P<what>total|count|oneminuterate)"
)


def _topic_meter(name: str, labels: Mapping[str, str]) -> NamedSeries | None:
    found = _METER.fullmatch(name)
    if found is None:
        return None
    meter = found["meter"] or labels.get("name", "").lower().removesuffix("persec")
    counter, rate = _METERS.get(meter, (None, None))
    series = rate if found["what"] == "oneminuterate" else counter
    return None if series is None else NamedSeries(series, labels.get("topic", ""))


# ---- gauges of a partition ----------------------------------------------------------------------

_GAUGES: Final = {
    "size": Series.LOG_SIZE,
    "logendoffset": Series.LOG_END_OFFSET,
    "logstartoffset": Series.LOG_START_OFFSET,
    "replicascount": Series.REPLICAS,
    "insyncreplicascount": Series.IN_SYNC_REPLICAS,
}
_GAUGE: Final = re.compile(r"kafka_(?:log_log|cluster_partition)_(?P<gauge>[a-z]+?)(?:_value)?")


def _of_partition(name: str, labels: Mapping[str, str]) -> NamedSeries | None:
    found = _GAUGE.fullmatch(name)
    if found is None:
        return None
    gauge = labels.get("name", "").lower() if found["gauge"] == "value" else found["gauge"]
    series = _GAUGES.get(gauge)
    return None if series is None else _labelled(series, labels)


# ---- times of a broker --------------------------------------------------------------------------

# of fetches without the wait for records, which says nothing of the broker
_TIMES: Final = {
    ("totaltimems", "produce"): Series.PRODUCE_LATENCY_MS,
    ("localtimems", "fetchconsumer"): Series.FETCH_LATENCY_MS,
    ("logflushrateandtimems", ""): Series.FLUSH_TIME_MS,
}
MEDIAN: Final = 0.5


def _time(name: str, labels: Mapping[str, str]) -> NamedSeries | None:
    """The median where there are rules or a reporter, the mean where there are none."""
    what = name.rpartition("_")[2]
    if what == "mean":
        what = labels.get("name", "").lower()
    elif not _is_median(labels.get("quantile", "")):
        return None
    series = _TIMES.get((what, labels.get("request", "").lower()))
    return None if series is None else NamedSeries(series)


def _is_median(quantile: str) -> bool:
    try:
        return float(quantile) == MEDIAN
    except ValueError:
        return False


# ---- other names --------------------------------------------------------------------------------

OF_PROCESSES: Final = ("up", "process_cpu_seconds_total")  # not only brokers have these
_BY_NAME: Final[Mapping[str, Series]] = {
    "up": Series.UP,
    "process_cpu_seconds_total": Series.CPU_SECONDS,
    # kminion
    "kminion_kafka_topic_partition_high_water_mark": Series.LOG_END_OFFSET,
    "kminion_kafka_topic_partition_low_water_mark": Series.LOG_START_OFFSET,
    "kminion_kafka_topic_log_dir_size_total_bytes": Series.TOPIC_SIZE,
    "kminion_kafka_topic_info": Series.REPLICATION_FACTOR,  # 1, with the factor in a label
    "kminion_kafka_consumer_group_topic_partition_lag": Series.GROUP_LAG,
    # kafka_exporter
    "kafka_topic_partition_current_offset": Series.LOG_END_OFFSET,
    "kafka_topic_partition_oldest_offset": Series.LOG_START_OFFSET,
    "kafka_consumergroup_current_offset": Series.COMMITTED_OFFSET,
}
BESIDE_BROKERS: Final = tuple(name for name in _BY_NAME if name not in OF_PROCESSES)
_OF_TOPICS: Final = frozenset({Series.TOPIC_SIZE, Series.REPLICATION_FACTOR})
_OF_GROUPS: Final = frozenset({Series.GROUP_LAG, Series.COMMITTED_OFFSET})

# what to request of a server: metric names, and label matchers where only some series are needed
_MEDIANS: Final = 'quantile=~"0?[.]50*"'
EXPORTER_QUERIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(OF_PROCESSES, ""),
    **{f"kafka_server_brokertopicmetrics_{meter}_total": "" for meter in _METERS},
    **{f"kafka_server_brokertopicmetrics_{meter}persec_total": "" for meter in _METERS},
    "kafka_server_BrokerTopicMetrics_Count": "",
    **{f"kafka_log_log_{gauge}": "" for gauge in ("size", "logendoffset", "logstartoffset")},
    "kafka_log_Log_Value": 'name=~"Size|LogEndOffset|LogStartOffset"',
    **{f"kafka_cluster_partition_{g}": "" for g in ("replicascount", "insyncreplicascount")},
    "kafka_cluster_Partition_Value": 'name=~"ReplicasCount|InSyncReplicasCount"',
    "kafka_network_requestmetrics_totaltimems": f'request="Produce",{_MEDIANS}',
    "kafka_network_requestmetrics_localtimems": f'request="FetchConsumer",{_MEDIANS}',
    "kafka_network_RequestMetrics_Mean": (
        'name=~"TotalTimeMs|LocalTimeMs",request=~"Produce|FetchConsumer"'
    ),
    "kafka_log_logflushstats_logflushrateandtimems": _MEDIANS,
    "kafka_log_LogFlushStats_Mean": 'name="LogFlushRateAndTimeMs"',
    "kafka_server_app_info_start_time_ms": "",
    "kafka_server_app_info_StartTimeMs": "",
    **{name: "" for name in _BY_NAME if name.startswith(("kminion_", "kafka_"))},
}


def _labelled(series: Series, labels: Mapping[str, str]) -> NamedSeries | None:
    """The series if its labels are complete."""
    if series in PROCESS_SERIES:
        return NamedSeries(series)
    topic = labels.get("topic") or labels.get("topic_name", "")
    group = labels.get("consumergroup") or labels.get("group_id", "")
    partition = label_int(labels, "partition", "partition_id")
    if not topic or (partition == NONE and series not in _OF_TOPICS):
        return None
    if series in _OF_GROUPS:
        return NamedSeries(series, topic, partition, group) if group else None
    if series is Series.REPLICATION_FACTOR:
        factor = label_int(labels, "replication_factor")
        return NamedSeries(series, topic, scale=float(factor)) if factor > 0 else None
    return NamedSeries(series, topic, partition)
