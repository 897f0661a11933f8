"""`kedge capacity`, `cost`, `pipeline findings` and `slow-brokers` on tables with known figures."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kedge.analytics.slow_brokers import MEASUREMENTS
from kedge.cli.app import run
from kedge.pipeline.broker_health import COLUMNS, SPARK_SCHEMA
from tests.pipeline.answer_tables import END, MIDNIGHT, finding, write_run

Captured = pytest.CaptureFixture[str]

RATES = """
currency = "EUR"
[per_gb]
in = 0.1
out = 0.2
replication = 0.05
stored_month = 0.3
"""
OWNERS = '[web]\nprefixes = ["click"]\n'


def answered(capsys: Captured, *words: str) -> Any:
    assert run([*words, "--output", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def tables(tmp_path: Path) -> str:
    return str(write_run(tmp_path / "history"))


def growing(topic: str, count: int, value: float = 0.5) -> list[dict[str, Any]]:
    return [finding("growing", value, topic=topic, partition=each) for each in range(count)]


# ---- capacity -----------------------------------------------------------------------------------


def test_capacity_is_what_division_gives(tables: str, capsys: Captured) -> None:
    by = (END + timedelta(days=10)).date()
    words = ("capacity", "--tables", tables, "--by", str(by), "--network", "1MB", "--add", "1")
    (found,) = answered(capsys, *words)
    first, second = found["brokers"]
    assert first["full"]["expected"] == pytest.approx(900 / 90, rel=1e-6)
    assert second["full"]["expected"] == pytest.approx(800 / 10, rel=1e-6)
    assert second["headroom"]["expected"] == pytest.approx(500 / 10, rel=1e-6)
    disk, inside, out = found["resources"]
    days = (MIDNIGHT.replace(day=by.day) - END).total_seconds() / 86_400
    assert disk["peak"]["expected"] == pytest.approx(300e9 + 100e9 * days, rel=1e-6)
    assert disk["brokers_needed"]["expected"] == 2  # 1.3 TB over 0.7 TB each
    # 60 MB per 300 s on each of two brokers; each sends 90 MB to consumers and 30 MB to followers
    assert inside["now"] == pytest.approx(2 * 60e6 / 300)
    assert out["now"] == pytest.approx(2 * (90e6 + 30e6) / 300)
    assert out["brokers_needed"]["expected"] == 2  # 0.8 MB/s over 0.7 MB/s each
    assert found["what_if"][0]["brokers"] == 3
    assert found["what_if"][0]["full"]["expected"] == pytest.approx(2700 / 100, rel=1e-6)
    assert found["why"].startswith("broker 1 is full first, in 10 days: 10 % of its disk")


def test_capacity_is_shown_with_a_picture_and_a_sentence(
    tables: str, tmp_path: Path, capsys: Captured
) -> None:
    picture = tmp_path / "capacity.html"
    assert run(["capacity", "--tables", tables, "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "no capacity given for bytes in, bytes out" in shown
    assert "2 h 00 min" in shown or "1 h 55 min" in shown
    text = picture.read_text()
    assert "forecast" in text
    assert "https://" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_a_disk_that_the_tables_do_not_know_is_an_option(tmp_path: Path, capsys: Captured) -> None:
    tables = str(write_run(tmp_path / "history", disk=None))
    (unknown,) = answered(capsys, "capacity", "--tables", tables)
    assert unknown["brokers"][0]["full"] is None
    assert unknown["why"].startswith("disk sizes are not known: give --disk; ")
    (known,) = answered(capsys, "capacity", "--tables", tables, "--disk", "1TB")
    assert known["brokers"][0]["full"]["expected"] == pytest.approx(10, rel=1e-6)


def test_brokers_without_a_disk_size_are_in_no_statement_about_full_disks(
    tmp_path: Path, capsys: Captured
) -> None:
    """The only disk of known size is one that fills up, or one that does not within five years."""
    tables = str(write_run(tmp_path / "filling", disks=(10**12, None)))
    (found,) = answered(capsys, "capacity", "--tables", tables)
    assert found["why"].startswith("broker 1 is full first of those with a known disk size, in 10")
    tables = str(write_run(tmp_path / "large", disks=(None, 10**16)))
    (found,) = answered(capsys, "capacity", "--tables", tables)
    assert found["why"].startswith("no disk of known size fills up within five years")
    assert run(["capacity", "--tables", tables]) == 0
    assert "no disk of known size fills up" in " ".join(capsys.readouterr().out.split())


# ---- cost ---------------------------------------------------------------------------------------


def test_cost_is_bytes_times_rates_to_the_last_digit(
    tables: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "rates.toml").write_text(RATES)
    (tmp_path / "owners.toml").write_text(OWNERS)
    files = ("--rates", str(tmp_path / "rates.toml"), "--owners", str(tmp_path / "owners.toml"))
    picture = tmp_path / "cost.html"
    found = answered(capsys, "cost", "--tables", tables, *files, "--picture", str(picture))
    assert "Cost by day" in picture.read_text()
    # 24 windows; partitions 0 to 3 take 1000 to 1003 bytes each, on a leader and a follower
    produced, stored = 24 * 4006, 24 * 300 * 2 * (4 * 10**9 + 6)
    (web, other) = sorted(found["topics"], key=lambda one: one["topic"])
    for topic in (web, other):
        assert topic["bytes_in"] == topic["bytes_replication"] == produced
        assert topic["bytes_out"] == 24 * 4 * 500
        assert topic["byte_seconds_stored"] == stored
        assert topic["cost"]["in"] == "0.000010"  # 96,144 bytes at 0.1 a GB
        price = Decimal(stored) * Decimal("0.3") / 10**9 / (30 * 86_400)
        assert Decimal(topic["cost"]["stored"]) == round(price, 6)
    assert (web["owner"], other["owner"]) == ("web", None)
    assert found["unowned"] == [{"cluster": "c", "topic": "orders"}]
    total = Decimal(found["total"]["cost"]["total"])
    for part in ("owners", "topics", "days", "cells"):
        assert sum(Decimal(one["cost"]["total"]) for one in found[part]) == total
    assert found["days"][0]["measured"] == pytest.approx(24 / 288)


def test_the_table_of_cost_names_what_nobody_owns(
    tables: str, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "rates.toml").write_text(RATES)
    words = ["cost", "--tables", tables, "--rates", str(tmp_path / "rates.toml")]
    assert run([*words, "--limit", "1"]) == 0
    shown = capsys.readouterr().out
    assert "without owner: c clicks and 1 more" in shown
    assert "2026-01-05 (2.0 h measured)" in shown
    assert run([*words, "--from", "2026-01-06"]) == 0
    assert "nothing was measured in these days" in capsys.readouterr().out


# ---- findings -----------------------------------------------------------------------------------


def test_findings_of_one_cause_are_one_group(tmp_path: Path, capsys: Captured) -> None:
    rows = [*growing("clicks", 4), *growing("orders", 1), finding("hot_broker", 4.0, broker=2)]
    tables = str(write_run(tmp_path / "history", findings=rows))
    groups = answered(capsys, "pipeline", "findings", "--tables", tables)
    assert [(one["kind"], one["topic"], one["count"], one["of"]) for one in groups] == [
        ("hot_broker", None, 1, 2),
        ("growing", "clicks", 4, 4),
        ("growing", "orders", 1, 4),
    ]
    clicks = groups[1]
    assert clicks["why"] == (
        "all 4 partitions of clicks grow alike, 68 GB a day (136 GB with all replicas)"
    )
    assert clicks["course"] == [400.0 * place for place in range(24)]
    assert clicks["members"] == [f"clicks-{each}" for each in range(4)]
    assert {"broker", "partition", "value", "threshold", "severity"} <= set(clicks)


def test_findings_remember_since_when_and_what_changed(tmp_path: Path, capsys: Captured) -> None:
    root = tmp_path / "history"
    write_run(root, findings=[*growing("clicks", 2), finding("hot_broker", 4.0, broker=2)])
    write_run(
        root,
        findings=[*growing("clicks", 3), finding("skewed_topic", 9.0, topic="orders", partition=1)],
    )
    groups = answered(capsys, "pipeline", "findings", "--tables", str(root))
    assert [(one["kind"], one["change"], one["count"]) for one in groups] == [
        ("growing", "larger", 3),
        ("skewed_topic", "new", 1),
        ("hot_broker", "gone", 1),
    ]
    assert all(one["first_seen"] == "2026-01-05T01:55:00+00:00" for one in groups)
    assert run(["pipeline", "findings", "--tables", str(root)]) == 0
    shown = capsys.readouterr()
    assert "larger" in shown.out
    assert "3 of 4 partitions of clicks grow alike" in shown.out
    assert "4 findings in 3 groups" in shown.err


def test_every_single_finding_is_shown_on_request(tmp_path: Path, capsys: Captured) -> None:
    tables = str(write_run(tmp_path / "history", findings=growing("clicks", 4)))
    single = answered(capsys, "pipeline", "findings", "--all", "--tables", tables)
    assert [one["partition"] for one in single] == [0, 1, 2, 3]
    assert single[0]["course"] == [100.0 * place for place in range(24)]
    assert single[0]["first_seen"] == "2026-01-05T01:55:00+00:00"
    picture = tmp_path / "findings.html"
    words = ["pipeline", "findings", "--tables", tables, "--picture", str(picture)]
    assert run(words) == 0
    assert "grow alike" in picture.read_text()


# ---- slow brokers -------------------------------------------------------------------------------


def test_a_slow_broker_is_found_in_the_table_of_health(tmp_path: Path, capsys: Captured) -> None:
    minutes = [MIDNIGHT + timedelta(minutes=each) for each in range(120)]
    noise = np.random.default_rng(1).normal(1, 0.02, (4, 120))
    level = np.full((4, 120), 5.0)
    level[2, 90:] = 40.0
    columns = {name: pa.nulls(480, pa.float64()) for name in MEASUREMENTS}
    health = pa.table(
        {
            "cluster": ["c"] * 480,
            "broker": pa.array(np.repeat([1, 2, 3, 4], 120), pa.int32()),
            "ts": minutes * 4,
            **columns,
            "flush_time_ms": (level * noise).ravel(),
        }
    )
    assert health.column_names == list(COLUMNS)
    assert SPARK_SCHEMA.startswith("cluster string, broker int, ts timestamp, produce_latency_ms ")
    tables = str(write_run(tmp_path / "history", health=health))
    picture = tmp_path / "slow.html"
    words = ("pipeline", "slow-brokers", "--tables", tables, "--picture", str(picture))
    (one,) = answered(capsys, *words)
    assert (one["broker"], one["measurement"], one["verdict"]) == (3, "flush_time_ms", "slow")
    assert one["why"].startswith("flush time of broker 3 is 40")
    assert "flush_time_ms" in picture.read_text()
    assert run(["pipeline", "slow-brokers", "--tables", tables]) == 0
    assert "1 broker stands out" in capsys.readouterr().err


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("capacity --tables nowhere", "not a directory of pipeline tables"),
        ("capacity --tables h --by soon", "--by 'soon' is not a date; write 2027-03-01"),
        ("capacity --tables h --by 2020-01-01", "is not after the last sample, 2026-01-05 02:00"),
        ("capacity --tables h --by 2026-01-05", "is not after the last sample"),
        ("capacity --tables h --by 2099-01-01", "more than five years after"),
        ("capacity --tables h --headroom 1", "--headroom 1; a share from 0 to 0.95"),
        ("capacity --tables h --headroom nan", "--headroom nan"),
        ("capacity --tables h --add -1", "--add -1"),
        ("capacity --tables h --network 5", "less than 1 kB/s"),
        ("capacity --tables h --disk much", "--disk: 'much' is not an amount of bytes"),
        ("capacity --tables h --cluster x", "unknown cluster x; clusters: c"),
        ("capacity --tables empty", "no table gold/broker_course yet"),
        ("cost --tables h --rates no.toml", "no.toml: there is no such file"),
        ("cost --tables h --rates broken.toml", "broken.toml: not TOML"),
        ("cost --tables h --rates negative.toml", "negative.toml: per_gb.in: a price of -1"),
        ("cost --tables h --rates rates.toml --owners odd.toml", "odd.toml: a.topic: unknown key"),
        ("cost --tables h --rates rates.toml --cluster x", "unknown cluster x"),
        ("cost --tables h --rates rates.toml --from x", "--from 'x' is not a date"),
        ("cost --tables h --rates rates.toml --from 2026-02-01 --to 2026-01-01", "is after --to"),
        ("cost --tables empty --rates rates.toml", "no table gold/window_load yet"),
        ("pipeline slow-brokers --tables h", "no table gold/broker_health"),
        ("pipeline slow-brokers --tables h --recent 0", "--recent 0; minutes from 1"),
        ("pipeline findings --tables h --kind odd", "no kind 'odd'"),
    ],
)
def test_a_bad_request_is_one_sentence(
    words: str,
    sentence: str,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    gold = ("broker_course", "rollup", "window_load", "partition_load", "findings")
    write_run(tmp_path / "h")
    write_run(tmp_path / "empty", without=gold)
    for name, text in {
        "rates": RATES,
        "broken": "= 3",
        "negative": "[per_gb]\nin = -1",
        "odd": "[a]\ntopic = []",
    }.items():
        (tmp_path / f"{name}.toml").write_text(text)
    assert run(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("kedge: ")
    assert sentence in lines[0]


@pytest.mark.parametrize(
    "command", ["capacity", "cost", "pipeline findings", "pipeline slow-brokers"]
)
def test_every_command_explains_itself_with_an_example(command: str, capsys: Captured) -> None:
    assert run([*command.split(), "--help"]) == 0
    assert f"Example: kedge {command}" in " ".join(capsys.readouterr().out.split())
