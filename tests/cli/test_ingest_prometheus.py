"""`kedge pipeline ingest --prometheus` and faults of the server: one sentence, and no tables."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.conftest import Kedge
from tests.pipeline.fake_prometheus import FakePrometheus, Fault, broker_series, serving

START, END = 1_799_971_200, 1_799_971_800
SECRET = "hunter2"


def server() -> FakePrometheus:
    series = broker_series({"a.b": [(0, 30.0), (1, 10.0)], "c": [(0, 5.0)]}, start=START, end=END)
    return FakePrometheus(series)


def words(fake: FakePrometheus, tables: Path) -> list[str]:
    """The command, for ten minutes of a cluster with one broker."""
    metadata, auth = tables.parent / "metadata.json", tables.parent / "auth.toml"
    metadata.write_text(
        json.dumps(
            {
                "cluster": "lab",
                "brokers": [{"id": 1}],
                "instance_to_broker": {"127.0.0.1:7071": 1},
            }
        )
    )
    auth.write_text(f'username = "kedge"\npassword = "{SECRET}"\n')
    given = ["--prometheus", fake.url, "--prometheus-auth", str(auth), "--metadata", str(metadata)]
    times = ["--from", str(START), "--to", str(END)]
    return ["pipeline", "ingest", *given, *times, "--tables", str(tables)]


class LateFault(FakePrometheus):
    """Answers some requests before it has a fault."""

    def __init__(self, good: int, fault: Fault) -> None:
        super().__init__(server().series)
        self.good, self.fault = good, fault

    def answer(self, path: str, fields: dict[str, str]) -> tuple[int, bytes]:
        if len(self.requests) == self.good:
            self.faults.append(self.fault)
        return super().answer(path, fields)


@pytest.mark.parametrize("good", [1, 4])
@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault(401, b'{"error": "who are you?"}'), "HTTP status 401"),
        (Fault(403), "HTTP status 403"),
        (Fault(404, b"<h1>nothing here</h1>"), "HTTP status 404 (nothing here)"),
        (Fault(400, b'{"error": "parse error"}'), "parse error"),
        (Fault(301, headers={"Location": "http://other/"}), "redirects to http://other/"),
    ],
)
def test_a_refusal_is_one_sentence_and_leaves_no_tables(
    good: int, fault: Fault, text: str, tmp_path: Path, kedge: Kedge
) -> None:
    """At the first request, or after some answers have been downloaded."""
    with serving(LateFault(good, fault)) as fake:
        refused = kedge(*words(fake, tmp_path / "tables"))
    assert len(fake.requests) == good + 1
    assert refused.code == 2
    assert text in refused.err
    assert len(refused.err.splitlines()) == 1
    assert SECRET not in refused.err
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize(
    ("source", "address", "hint"),
    [
        ("scrape", "http://b1:7071/metrics", "--scrape http://b1:7071/metrics=BROKER"),
        ("scrape", "http://b1:7071/metrics", "then this command with --input samples/scrape"),
        ("admin", "http://b1:7071/metrics", "kedge pipeline produce --samples"),
        ("prometheus", "https://prometheus:9090", "--prometheus URL"),
        ("kminion", "hdfs://name/kminion", "only --source rows reads hdfs://"),
    ],
)
def test_an_address_as_input_is_refused_with_what_reads_it(
    source: str, address: str, hint: str, tmp_path: Path, kedge: Kedge
) -> None:
    given = ("--source", source, "--input", address, "--tables", str(tmp_path / "tables"))
    refused = kedge("pipeline", "ingest", *given)
    assert refused.code == 2
    assert hint in refused.err


@pytest.mark.parametrize("option", ["--from", "--to"])
@pytest.mark.parametrize(
    ("at", "hint"),
    [
        ("1799971200000", "if it is in milliseconds, use {option} 1799971200"),
        *((at, "use seconds since 1970") for at in ("-1e15", "1e20", "nan", "inf", "-1")),
    ],
)
def test_a_time_that_is_not_in_seconds_is_refused(
    at: str, hint: str, option: str, tmp_path: Path, kedge: Kedge
) -> None:
    tables = ("--tables", str(tmp_path / "tables"), f"{option}={at}")
    ingest = ("pipeline", "ingest", "--prometheus", "http://127.0.0.1:9", "--metadata", "m.json")
    for command in (ingest, ("pipeline", "rates", "--cluster", "lab")):
        refused = kedge(*command, *tables)
        assert refused.code == 2
        assert f"{option} {float(at):.15g} is not a time in seconds" in refused.err
        assert hint.format(option=option) in refused.err


@pytest.mark.parametrize("series", [server().series[:1], []])
def test_a_time_without_series_of_kafka_is_refused(
    series: list[tuple[dict[str, str], dict[float, float]]], tmp_path: Path, kedge: Kedge
) -> None:
    with serving(FakePrometheus(series)) as fake:
        refused = kedge(*words(fake, tmp_path / "tables"))
    assert refused.code == 2
    assert "no series of Kafka brokers" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert not (tmp_path / "tables").exists()


def test_a_server_that_fails_again_and_again_is_one_sentence(tmp_path: Path) -> None:
    """Beside each other, because each command makes pauses between its attempts."""
    never = threading.Event()
    faults = {
        "HTTP status 503": Fault(503, b"overloaded"),
        "the answer was truncated": Fault(200, b'{"status":"success","data":{"result":['),
        "no answer within 0.2 s": Fault(wait=never),
        "cannot be reached": None,
    }
    with ExitStack() as stack:
        stack.callback(never.set)
        started: dict[str, subprocess.Popen[str]] = {}
        for number, (text, fault) in enumerate(faults.items()):
            fake = server()
            if fault is None:
                with serving(fake):  # its port is free afterwards
                    pass
            else:
                fake.faults = [fault] * 50
                stack.enter_context(serving(fake))
            (tmp_path / str(number)).mkdir()
            command = words(fake, tmp_path / str(number) / "tables")
            started[text] = subprocess.Popen(
                [sys.executable, "-m", "kedge", *command, "--prometheus-timeout", "0.2"],
                stderr=subprocess.PIPE,
                text=True,
            )
        for text, process in started.items():
            error = process.communicate(timeout=120)[1]
            assert text in error
            assert error.count("\n") == 1
            assert process.returncode == 1  # the request was fine
    assert not list(tmp_path.glob("*/tables"))
