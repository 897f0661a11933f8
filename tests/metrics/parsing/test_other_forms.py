"""Answers of Prometheus, records of Cruise Control, admin snapshots, metadata and names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedge.errors import MalformedInput, TruncatedInput
from kedge.metrics.measurement import NONE
from kedge.metrics.parsing.admin_snapshots import collect_snapshot
from kedge.metrics.parsing.cluster_metadata import host_of, parse_leaders, parse_metadata
from kedge.metrics.parsing.collector import Collector
from kedge.metrics.parsing.cruise_control import collect_record
from kedge.metrics.parsing.name_resolution import Instances, TopicNames
from kedge.metrics.parsing.query_range import SeriesReader, learn_instances
from kedge.metrics.parsing.range_answers import PARTIAL, iter_series, read_envelope
from kedge.metrics.parsing.series_names import ExporterNames
from tests.metrics.parsing.examples import METADATA, SNAPSHOT, answer, record

BYTES_IN = "kafka_server_brokertopicmetrics_bytesin_total"


def collected(data: bytes, size: int = 7) -> Collector:
    """Read the answer in pieces of a few bytes."""
    into = Collector("c")
    metadata = parse_metadata(json.dumps(METADATA).encode())
    reader = SeriesReader(ExporterNames(), Instances(metadata), TopicNames(["a.b"]))
    for text in iter_series(data[i : i + size] for i in range(0, len(data), size)):
        reader.collect(text, into)
    return into


def test_series_are_read_from_pieces_and_stale_values_left_out() -> None:
    labels = {"__name__": BYTES_IN, "instance": "b1.example:7071", "topic": "a_b"}
    odd = {"__name__": "up", "instance": '{"metric":', "note": '"values":[['}
    data = answer((labels, [(60, "5"), (75.5, "NaN"), (90, "7.5e1")]), (odd, [(60, "1")]))
    into = collected(data)
    rows: list[dict[str, Any]] = into.take().to_pylist()
    assert [(r["ts_ms"], r["value"], r["broker"], r["topic"]) for r in rows] == [
        (60_000, 5.0, 1, "a.b"),
        (90_000, 75.0, 1, "a.b"),
    ]
    assert into.malformed == []
    assert into.ignored["up of other instances"] == 1


def test_instances_are_resolved_by_map_label_pod_and_unshared_host() -> None:
    instances = Instances(parse_metadata(json.dumps(METADATA).encode()), {"seen:1": 2})
    labels = [
        {"instance": "10.0.0.9:7071"},
        {"instance": "x:1", "broker_id": "3"},
        {"instance": "10.1.1.1:9404", "pod": "kafka-2"},
        {"instance": "B1.example:9999"},
        {"instance": "seen:1"},
        {"instance": "shared:7071"},
        {"instance": "x:1", "broker_id": "77"},
        {},
        {"instance": "seen:1", "broker_id": "3"},
        {"instance": "10.0.0.9:7071", "broker_id": "3"},
    ]
    found = [instances.broker_of(each) for each in labels]
    assert found == [4, 3, 2, 1, 2, NONE, NONE, NONE, 3, 4]


def test_a_learned_id_that_the_cluster_does_not_have_is_not_used() -> None:
    metadata = parse_metadata(json.dumps(METADATA).encode())
    instances = Instances(metadata, {"seen:1": 77, "b1.example:7071": 77})
    found = [instances.broker_of({"instance": i}) for i in ("seen:1", "b1.example:7071")]
    assert found == [NONE, 1]


@pytest.mark.parametrize("given", [True, False])
def test_up_and_cpu_of_other_exporters_beside_a_broker_that_is_named_are_left_out(
    given: bool,
) -> None:
    """By the metadata, or by the id that the instance has told; a pod may get a new address."""
    named = {"b1.example:7071": 1, "10.1.1.1:9404": 2}
    metadata = {**METADATA, "instance_to_broker": named if given else {}}
    instances = Instances(parse_metadata(json.dumps(metadata).encode()), {} if given else named)
    labels = [
        {"instance": "b1.example:7071"},
        {"instance": "b1.example:9100"},
        {"instance": "10.1.1.1:9404", "pod": "kafka-2"},
        {"instance": "10.1.1.1:9308", "pod": "kafka-2"},
        {"instance": "10.1.1.7:9404", "pod": "kafka-2"},
    ]
    found = [instances.broker_of(each, of_process=True) for each in labels]
    assert found == [1, NONE, 2, NONE, 2]
    assert [instances.broker_of(each) for each in labels] == [1, 1, 2, 2, 2]


def test_an_exporter_on_the_host_of_a_broker_is_not_that_broker() -> None:
    """The end offsets that kafka_exporter requests are those of leaders, whichever brokers lead."""
    of = {"instance": "b1.example:9308", "topic": "t", "partition": "0"}
    data = answer(({"__name__": "kafka_topic_partition_current_offset", **of}, [(60, "5")]))
    (row,) = collected(data).take().to_pylist()
    assert (row["series"], row["broker"], row["value"]) == ("log_end_offset", NONE, 5.0)


def test_app_info_tells_the_broker_of_an_instance() -> None:
    labels = {"__name__": "kafka_server_app_info_start_time_ms", "broker_id": "3"}
    data = answer(({**labels, "instance": "i:1"}, [(1, "1")]), ({"__name__": "up"}, [(1, "1")]))
    assert learn_instances(iter_series([data])) == {"i:1": 3}
    bare = {"__name__": "kafka_server_app_info_StartTimeMs", "instance": "i:2", "id": "4"}
    moved = [({**labels, "instance": "i:3", "broker_id": id}, [(1.0, "1")]) for id in ("1", "2")]
    data = answer((bare, [(1, "1")]), *moved)
    assert learn_instances(iter_series([data])) == {"i:2": 4}


def test_half_an_answer_is_not_complete_and_a_damaged_series_is_rejected() -> None:
    data = answer(({"__name__": "up", "instance": "b1.example:1"}, [(60, "1"), (75, "1")]))
    assert read_envelope([data]).is_range
    for end in range(len(data)):
        with pytest.raises(TruncatedInput):
            read_envelope([data[:end]])
    damaged = collected(data.replace(b'[60, "1"]', b'[60, "1"'))
    assert [one.why for one in damaged.malformed] == [
        "the JSON of a series is truncated or damaged"
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"status":"error","error":"query timed out"}', "query timed out"),
        (b"<html>", "not an answer of query_range"),
        (b'{"status":"success"}}', "not an answer of query_range"),
        (b'{"data":{"resultType":"matrix","result":[]}}', "not an answer of query_range"),
        (b"[]", "not an answer of query_range"),
        (b"", "not an answer of query_range"),
    ],
)
def test_what_is_no_answer_with_ranges_is_refused(data: bytes, what: str) -> None:
    with pytest.raises(MalformedInput) as fault:
        read_envelope([data])
    assert what in fault.value.what


def test_other_answers_of_prometheus_are_told_apart() -> None:
    others = [
        b'{"status":"success","data":{"activeTargets":[]}}',
        b'{"status":"success","data":[{"__name__":"up"}]}',
        b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]}]}}',
    ]
    assert not any(read_envelope([each]).is_range for each in others)


SERIES = b'{"metric":{"__name__":"up","instance":"b1.example:1"},"values":[[60,"1"],[75,"1"]]}'
MATRIX = b'{"resultType":"matrix","result":[%s]' % SERIES
ANSWERS = {
    "Prometheus": (b'{"status":"success","data":%s}}' % MATRIX, ()),
    "Prometheus with a final newline": (b'{"status":"success","data":%s}}\n' % MATRIX, ()),
    "Prometheus with warnings and infos": (
        b'{"status":"success","data":%s},"warnings":["remote read"],"infos":["i"]}' % MATRIX,
        ("remote read",),
    ),
    "Prometheus with stats": (
        b'{"status":"success","data":%s,"stats":{"timings":{"evalTotalTime":1e-3}}}}' % MATRIX,
        (),
    ),
    "Thanos, a partial response": (
        b'{"status":"success","data":%s,"analysis":{}},"warnings":["no store ]}} \\"a\\""]}'
        % MATRIX,
        ('no store ]}} "a"',),
    ),
    "Mimir": (
        b'{"status":"success","data":%s},"errorType":"","error":"","infos":[]}' % MATRIX,
        (),
    ),
    "VictoriaMetrics": (
        b'{"status":"success","isPartial":false,"data":%s},"stats":{"seriesFetched":"1"}}' % MATRIX,
        (),
    ),
    "VictoriaMetrics, a partial response": (
        b'{"status":"success","isPartial":true,"data":%s},"stats":{"seriesFetched":"1"}}' % MATRIX,
        (PARTIAL,),
    ),
    "a proxy that sorts keys": (
        b'{"data":{"result":[%s],"resultType":"matrix"},"status":"success","warnings":["w"]}'
        % SERIES,
        ("w",),
    ),
}


@pytest.mark.parametrize(("data", "warnings"), ANSWERS.values(), ids=ANSWERS)
def test_answers_of_every_server_are_complete_and_their_prefixes_are_not(
    data: bytes, warnings: tuple[str, ...]
) -> None:
    envelope = read_envelope(data[i : i + 9] for i in range(0, len(data), 9))
    assert (envelope.is_range, envelope.warnings) == (True, warnings)
    assert len(collected(data)) == 2
    for end in range(len(data.rstrip())):
        with pytest.raises(TruncatedInput):
            read_envelope([data[:end]])


# ---- Cruise Control -----------------------------------------------------------------------------


def test_records_of_cruise_control_become_measurements() -> None:
    into = Collector("c")
    for value in (record(1, 2, 9.5, "a_b"), record(2, 4, 7.0, "t", 3), record(0, 5, 0.25)):
        collect_record(value, TopicNames(["a.b"]), into)
    collect_record(record(0, 20, 1.0), TopicNames(), into)
    rows = into.take().to_pylist()
    assert [(r["series"], r["topic"], r["partition"], r["value"]) for r in rows] == [
        ("bytes_in_rate", "a.b", NONE, 9.5),
        ("log_size", "t", 3, 7.0),
        ("cpu", "", NONE, 0.25),
    ]
    assert {(r["broker"], r["ts_ms"]) for r in rows} == {(2, 61_000)}
    assert sum(into.ignored.values()) == 1


def test_truncated_and_foreign_records_are_rejected() -> None:
    whole = record(2, 4, 7.0, "orders", 3)
    pieces = [whole[:end] for end in range(len(whole))]
    foreign = [b"{}" * 20, whole + b"\0", b"\x03" + whole[1:], record(1, 2, 1.0, "x" * 250)]
    foreign.append(record(2, 4, 7.0, "orders", -1))
    for value in (*pieces, *foreign):
        into = Collector("c")
        collect_record(value, TopicNames(), into)
        assert len(into) == 0
        assert len(into.malformed) == 1


# ---- admin snapshots ----------------------------------------------------------------------------


def test_a_snapshot_of_admin_requests_becomes_measurements() -> None:
    into = Collector("c")
    collect_snapshot(json.dumps(SNAPSHOT).encode(), into)
    rows = {row["series"]: row for row in into.take().to_pylist()}
    assert {name: (r["value"], r["broker"], r["ts_ms"]) for name, r in rows.items()} == {
        "up": (1.0, 1, 60_250),
        "log_size": (9.0, 1, 60_250),
        "log_end_offset": (4.0, NONE, 60_250),
        "log_start_offset": (1.0, NONE, 60_250),
        "committed_offset": (3.0, NONE, 60_500),
    }
    assert rows["committed_offset"]["group"] == "g"


def test_a_group_that_reads_a_topic_named_error_is_read() -> None:
    into = Collector("c")
    groups = {"g": {"error": {"0": 3}}, "bad": {"error": "not authorised"}}
    collect_snapshot(json.dumps({"ts": 60, "groups": groups}).encode(), into)
    (row,) = into.take().to_pylist()
    assert (row["group"], row["topic"], row["value"]) == ("g", "error", 3.0)


@pytest.mark.parametrize(
    "change",
    [{"ts": "now"}, {"ts": None}, {"log_dirs": [{}]}, {"end_offsets": {"t": 1}}, {"groups": 3}],
)
def test_a_malformed_snapshot_is_rejected_as_a_whole(change: dict[str, Any]) -> None:
    into = Collector("c")
    collect_snapshot(json.dumps({**SNAPSHOT, **change}).encode(), into)
    collect_snapshot(json.dumps(SNAPSHOT).encode()[:-9], into)
    assert len(into) == 0
    assert len(into.malformed) == 2


# ---- metadata -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"cluster": ""}, "cluster"),
        ({"brokers": []}, "brokers"),
        ({"brokers": [{"id": -1}]}, "brokers[0].id"),
        ({"brokers": [{"id": 1}, {"id": 1}]}, "brokers"),
        ({"instance_to_broker": {"i": 9}}, "instance_to_broker.i"),
    ],
)
def test_malformed_metadata_is_refused_with_the_place(change: dict[str, Any], place: str) -> None:
    with pytest.raises(MalformedInput) as fault:
        parse_metadata(json.dumps({**METADATA, **change}).encode())
    assert fault.value.place == place


def test_hosts_are_read_from_every_form_of_address() -> None:
    forms = ["Host:9092", "host", "SASL_SSL://host:9092", "[::1]:9092", "fe80::1"]
    assert [host_of(each) for each in forms] == ["host", "host", "host", "::1", "fe80::1"]


def test_entries_in_which_no_leader_changed_are_dropped() -> None:
    state = {"t": {"0": [1, [1, 2], [1, 2]]}}
    moved = {"t": {"0": [-1, [1, 2], [2]]}}
    entries = [{"ts": at, "topics": topics} for at, topics in ((3, moved), (1, state), (2, state))]
    history = parse_leaders(json.dumps(entries).encode())
    assert [(change.ts_ms, change.topics["t"][0].leader) for change in history] == [
        (1000, 1),
        (3000, NONE),
    ]
    with pytest.raises(MalformedInput):
        parse_leaders(b'[{"ts": 1, "topics": {"t": {"x": [1, [1], [1]]}}}]')
