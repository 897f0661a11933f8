"""One origin for what belongs together, and samples of replicas."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kedge.metrics.origins import choose_origins
from kedge.metrics.parsing.collector import COLLECTED_SCHEMA
from kedge.metrics.replica_samples import SampleWindow, StateRow, replica_samples

Point = tuple[int, str, float, int, int, str]  # s, series, value, broker, partition, origin


def table(points: list[Point], replicas: list[str] | None = None, group: str = "") -> Any:
    rows = [
        {
            "cluster": "c",
            "ts_ms": at * 1000,
            "series": series,
            "value": value,
            "broker": broker,
            "topic": "" if series == "up" else "t",
            "partition": partition,
            "group": group if series in ("group_lag", "committed_offset") else "",
            "replica": replicas[i] if replicas else "",
            "origin": origin,
        }
        for i, (at, series, value, broker, partition, origin) in enumerate(points)
    ]
    return pa.Table.from_pylist(rows, COLLECTED_SCHEMA.append(pa.field("origin", pa.string())))


def kept(found: Any) -> set[tuple[str, float]]:
    return {(row["series"], row["value"]) for row in found.to_pylist()}


def test_bytes_come_from_the_scrape_and_commits_from_admin_requests() -> None:
    points: list[Point] = []
    for at in (0, 60, 120):
        points += [
            (at, "bytes_in", 1.0, 1, -1, "scrape"),
            (at, "bytes_in", 2.0, 1, -1, "prometheus"),
            (at, "log_end_offset", 3.0, 1, 0, "scrape"),
            (at, "log_end_offset", 4.0, -1, 0, "admin"),
            (at, "log_size", 5.0, 1, 0, "admin"),
            (at, "log_size", 6.0, 1, 0, "scrape"),
            (at, "committed_offset", 7.0, -1, 0, "admin"),
        ]
    found, origin = choose_origins(table(points))
    assert origin == "scrape"
    assert kept(found) == {
        ("bytes_in", 1.0),
        ("log_end_offset", 3.0),
        ("log_size", 6.0),
        ("committed_offset", 7.0),
    }


def test_an_origin_that_covers_little_of_the_time_is_not_chosen() -> None:
    points: list[Point] = [(at, "bytes_in", 1.0, 1, -1, "scrape") for at in (0, 60)]
    points += [(at, "bytes_in", 2.0, 1, -1, "prometheus") for at in range(0, 600, 60)]
    found, origin = choose_origins(table(points))
    assert (origin, kept(found)) == ("prometheus", {("bytes_in", 2.0)})


def test_of_two_prometheus_servers_one_is_kept_at_each_moment() -> None:
    points: list[Point] = [(at, "log_size", 1.0, 1, 0, "prometheus") for at in (0, 15, 30)]
    points += [(at, "log_size", 2.0, 1, 0, "prometheus") for at in (15, 45)]
    found, _ = choose_origins(table(points, ["a", "a", "a", "b", "b"]))
    assert sorted((row["ts_ms"], row["value"]) for row in found.to_pylist()) == [
        (0, 1.0),
        (15_000, 1.0),
        (30_000, 1.0),
        (45_000, 2.0),
    ]


def test_offsets_without_a_broker_give_way_to_those_of_brokers() -> None:
    points: list[Point] = [
        (0, "log_end_offset", 9.0, -1, 0, "prometheus"),
        (0, "log_end_offset", 8.0, 1, 0, "prometheus"),
    ]
    assert kept(choose_origins(table(points))[0]) == {("log_end_offset", 8.0)}


def test_a_broker_with_the_end_offset_stands_for_a_leader_where_no_size_is_known() -> None:
    points: list[Point] = []
    for at in range(0, 181, 15):
        points.append((at, "bytes_in", 100.0 * at, 2, -1, "scrape"))
        points += [(at, "log_end_offset", float(at), broker, 0, "scrape") for broker in (2, 3)]
    (row,) = replica_samples(table(points), (), SampleWindow(60_000, 60_000, 120_000)).to_pylist()
    assert (row["broker"], row["is_leader"], row["bytes_in"]) == (2, True, 6000)
    unplaced = [(at, series, value, -1, p, "kminion") for at, series, value, _, p, _ in points]
    assert len(replica_samples(table(unplaced), (), SampleWindow(60_000))) == 0


def test_samples_have_the_bytes_on_the_leader_and_replication_on_followers() -> None:
    points: list[Point] = []
    for at in range(0, 181, 15):
        points += [(at, "up", 1.0, broker, -1, "scrape") for broker in (1, 2)]
        points.append((at, "bytes_in", 100.0 * at, 1, -1, "scrape"))
        points.append((at, "bytes_out", 50.0 * at, 1, -1, "scrape"))
        for partition, share in ((0, 3), (1, 1)):
            for broker in (1, 2):
                points += [
                    (at, "log_end_offset", float(at * share), broker, partition, "scrape"),
                    (at, "log_start_offset", 0.0, broker, partition, "scrape"),
                    (at, "log_size", 25.0 * at * share, broker, partition, "scrape"),
                ]
    states = [StateRow(partition, 0, 1, (1, 2), (1, 2)) for partition in (0, 1)]
    window = SampleWindow(60_000, after_ms=60_000, until_ms=120_000, seq=7)
    rows = replica_samples(table(points), states, window).to_pylist()
    facts = {
        (r["partition"], r["broker"]): (r["is_leader"], r["bytes_in"], r["bytes_out"], r["rf"])
        for r in rows
    }
    assert facts == {
        (0, 1): (True, 4500, 2250, 2),
        (0, 2): (False, 4500, 0, 2),
        (1, 1): (True, 1500, 750, 2),
        (1, 2): (False, 1500, 0, 2),
    }
    assert {(r["in_by"], r["seq"], r["in_covered_ms"]) for r in rows} == {("offsets", 7, 60_000)}
    assert {r["size_bytes"] for r in rows if r["partition"] == 1} == {3000}
