"""The text of `/metrics` endpoints, as different exporters write it."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE, Series
from kedge.metrics.parsing.collector import NOT_A_NUMBER, Collector
from kedge.metrics.parsing.exposition import ScrapeTarget, collect_exposition, parse_line
from kedge.metrics.parsing.name_resolution import TopicNames
from kedge.metrics.parsing.series_mapping import parse_mapping
from kedge.metrics.parsing.series_names import ExporterNames

RULES = 'kafka_server_brokertopicmetrics_bytesin_total{topic="shop.orders"} 1.5E3'
NO_RULES = 'kafka_server_BrokerTopicMetrics_Count{name="BytesInPerSec",topic="shop.orders",} 1500'
STRIMZI = 'kafka_server_brokertopicmetrics_bytesinpersec_total{topic="shop_orders"} 1500.0'


def collected(text: str, broker: int = 1) -> Collector:
    into = Collector("c")
    target, topics = ScrapeTarget(broker, 60_000), TopicNames(["shop.orders", "user_clicks"])
    collect_exposition(text, target, ExporterNames(), topics, into)
    return into


def rows(into: Collector) -> list[dict[str, Any]]:
    return into.take().to_pylist()


@pytest.mark.parametrize("line", [RULES, NO_RULES, STRIMZI], ids=["rules", "no rules", "strimzi"])
def test_every_exporter_gives_the_same_measurement(line: str) -> None:
    up, found = sorted(rows(collected(line)), key=lambda row: row["topic"])
    assert (up["series"], up["broker"], up["value"]) == ("up", 1, 1.0)
    assert found["series"] == "bytes_in"
    assert found["topic"] == "shop.orders"
    assert (found["broker"], found["partition"], found["ts_ms"]) == (1, NONE, 60_000)
    assert found["value"] == 1500.0


def test_the_scrape_of_an_exporter_on_a_broker_is_of_no_broker() -> None:
    line = 'kafka_topic_partition_current_offset{topic="user_clicks",partition="0"} 5'
    found = [row for row in rows(collected(line)) if row["topic"]]
    assert [(row["series"], row["broker"]) for row in found] == [("log_end_offset", NONE)]


def test_a_label_may_have_escapes_braces_and_commas() -> None:
    line = parse_line(r'm{a="x\"},\\\n",b="}",} 2')
    assert line.labels == {"a": 'x"},\\\n', "b": "}"}
    assert line.value == 2.0


@pytest.mark.parametrize(
    "line",
    ['m{a="x} 1', "m", "m one", "m{a=x} 1", "{} 1", 'm{a="x"', "m 1 2 3", "m" * 70_000 + " 1"],
)
def test_a_line_that_is_no_metric_is_refused(line: str) -> None:
    with pytest.raises(MalformedInput):
        parse_line(line)


def test_malformed_lines_are_kept_and_the_others_are_read() -> None:
    into = collected(f"# HELP x\n{RULES}\nkafka_log_log_size{{topic= 12\n\nother_metric 3\n")
    assert [(one.raw, one.why) for one in into.malformed] == [
        ("kafka_log_log_size{topic= 12", "not a line of metrics")
    ]
    assert into.ignored["other_metric"] == 1
    assert {row["series"] for row in rows(into)} == {"up", "bytes_in"}


def test_values_that_are_no_numbers_and_stale_markers_are_left_out() -> None:
    name = 'kafka_log_log_size{topic="t",partition="0"}'
    into = collected(f"{name} NaN\n{name} +Inf\n{name} -1\n{name} 7\n")
    assert into.ignored[NOT_A_NUMBER] == 3
    assert [row["value"] for row in rows(into) if row["series"] == "log_size"] == [7.0]


def test_times_are_in_milliseconds_or_in_seconds_in_openmetrics() -> None:
    line = 'kafka_log_log_size{topic="t",partition="0"} 7'
    plain = rows(collected(f"{line} 61000\n"))
    open_metrics = rows(collected(f"{line} 61.0\n# EOF\n"))
    assert [row["ts_ms"] for row in plain if row["series"] == "log_size"] == [61_000]
    assert [row["ts_ms"] for row in open_metrics if row["series"] == "log_size"] == [61_000]


def test_the_log_of_kraft_controllers_is_no_topic() -> None:
    into = collected('kafka_log_log_size{topic="__cluster_metadata",partition="0"} 7')
    assert [row["series"] for row in rows(into)] == ["up"]


def test_offsets_and_lags_of_exporters_beside_the_brokers_have_no_broker() -> None:
    text = (
        'kminion_kafka_topic_partition_high_water_mark{topic_name="t",partition_id="3"} 9\n'
        'kminion_kafka_consumer_group_topic_partition_lag{group_id="g",topic_name="t",'
        'partition_id="3"} 2\n'
        'kafka_consumergroup_current_offset{consumergroup="h",topic="t",partition="3"} 5\n'
        'kminion_kafka_topic_info{topic_name="t",replication_factor="3",partition_count="9"} 1\n'
        'kminion_kafka_topic_log_dir_size_total_bytes{topic_name="t"} 900\n'
    )
    found = {row["series"]: row for row in rows(collected(text, NONE))}
    assert {name: found.pop(name)["value"] for name in ("replication_factor", "topic_size")} == {
        "replication_factor": 3.0,
        "topic_size": 900.0,
    }
    assert set(found) == {"log_end_offset", "group_lag", "committed_offset"}
    assert {row["broker"] for row in found.values()} == {NONE}
    assert (found["group_lag"]["group"], found["committed_offset"]["group"]) == ("g", "h")


def test_a_mapping_names_the_series_of_other_rules() -> None:
    names = parse_mapping(
        '[[series]]\nmetric = "acme_in_kb(_total)?"\nseries = "bytes_in"\ntopic = "t"\n'
        'scale = 1024\nlabels = {env = "prod"}\n'
    )
    found = names.find("acme_in_kb_total", {"t": "orders", "env": "prod"})
    assert found is not None
    assert (found.series, found.topic, found.scale) == (Series.BYTES_IN, "orders", 1024.0)
    assert names.find("acme_in_kb_total", {"t": "orders", "env": "test"}) is None
    assert names.find("up", {}) is not None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no [[series]]"),
        ("series = [", "cannot be parsed as TOML"),
        ('[[series]]\nmetric = "a"\nseries = "bytes"', "series is missing or unknown"),
        ('[[series]]\nmetric = "("\nseries = "up"', "not a regular expression"),
        ('[[series]]\nmetric = "a"\nseries = "up"\nunit = "kb"', "unknown key unit"),
    ],
)
def test_a_mapping_with_a_fault_is_refused(text: str, what: str) -> None:
    with pytest.raises(MalformedInput) as fault:
        parse_mapping(text)
    assert what in fault.value.what
