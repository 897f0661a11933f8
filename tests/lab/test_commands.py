"""The commands, in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kedge.cli.app import run
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.lab import LabSettings
from kedge.lab.settings import MAX_SPEED, parse_speed
from tests.lab.labs import create, detached, is_there, kedge, until


def test_a_lab_is_started_looked_at_broken_sampled_and_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "lab"

    def said(*words: object) -> str:
        """A command to the lab's process, given from this one."""
        assert run(["lab", *map(str, words), "--dir", str(place)]) == 0
        return capsys.readouterr().out

    def status() -> dict[str, Any]:
        return json.loads(said("status", "--output", "json"))

    with detached(place, "--brokers", 3, "--racks", 3, "--first-id", 5, "--speed", 60) as about:
        assert [broker["id"] for broker in about["brokers"]] == [5, 6, 7]
        assert [broker["rack"] for broker in about["brokers"]] == ["r0", "r1", "r2"]
        assert about["controller"] in (5, 6, 7)
        with closing(KafkaAdmin(about["bootstrap_servers"])) as admin:
            create(admin, "t", (5, 6, 7))
        assert said("fill", "t", "5MB") == "5.0 MB written to each of 1 partitions\n"
        assert said("inject", "broker-crash", 6) == "broker 6 has crashed\n"
        until(lambda: status()["under_replicated"] == 1)
        seen = status()
        assert [broker["up"] for broker in seen["brokers"]] == [True, False, True]
        assert seen["pid"] == about["pid"]
        assert "     6  r1    down" in said("status")
        out = tmp_path / "metrics.jsonl"
        done = json.loads(said("sample", "--minutes", 10, "--out", out, "--output", "json"))
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert done["rows"] == len(rows) == 20
        assert (tmp_path / "brokers.parquet").exists()
        assert (tmp_path / "assignment.parquet").exists()
        again = kedge("lab", "up", "--dir", place)
        assert again.returncode == 2
        assert again.stderr == (
            f"kedge: a lab is already running in {place}; end it: kedge lab down --dir {place}\n"
        )
        assert kedge("lab", "down", "--dir", place).returncode == 0
        assert not is_there(about["pid"])
        assert not (place / "control.sock").exists()
    assert run(["lab", "status", "--dir", str(place)]) == 2
    assert capsys.readouterr().err == (
        f"kedge: no lab is running in {place}; start it: kedge lab up --dir {place}\n"
    )
    said("down")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_lab_in_the_foreground_ends_cleanly(sent: signal.Signals, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "kedge", "lab", "up", "--dir", str(tmp_path / "lab")]
    process = subprocess.Popen(
        [*line, "--brokers", "1", "--output", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        about = json.loads(process.stdout.readline())
        assert about["pid"] == process.pid
        os.kill(process.pid, sent)
        said, talk = process.communicate(timeout=30)
        assert (process.returncode, said, talk) == (0, "", "")
        assert not (tmp_path / "lab" / "lab.pid").exists()
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--brokers 2 --racks 3", "2 brokers cannot be on 3 racks; use at least one broker"),
        ("--brokers 0", "brokers can be 1 to 1,000, not 0"),
        ("--first-id -1", "the first id can be 0 to 2,147,483,645, not -1"),
        ("--brokers 2 --first-id 2147483647", "the first id can be 0 to 2,147,483,646"),
        ("--log-dirs 0", "log directories can be 1 to 64, not 0"),
        ("--disk big", "--disk: 'big' is not an amount of bytes; write it like 50MB"),
        ("--link 0", "the link's bytes per second can be 1,000 to"),
        ("--speed quick", "speed 'quick' is not a number; write 1, 60 or max"),
        ("--speed 0", "the speed can be 0.01 to"),
        ("--speed nan", "the speed can be 0.01 to"),
        ("--traffic wild", "traffic 'wild' is not one of none, even, skewed"),
        ("--port 65536", "the port can be 0 to 65,533, not 65,536"),
        ("--replication-factor 4", "the replication factor can be 1 to 3, not 4"),
        ("--host 192.0.2.1", "broker 0 cannot listen on 192.0.2.1:0: "),
    ],
)
def test_what_no_lab_can_be_is_refused_in_one_sentence(
    words: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lab", "up", "--dir", str(tmp_path / "lab"), *words.split()]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"kedge: {sentence}")
    assert said.err.count("\n") == 1


def test_a_port_that_is_taken_is_refused_also_by_a_detached_lab(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ("lab", "up", "--dir", tmp_path / "lab", "--brokers", 1, "--port", port)
        for more in ((), ("--detach",)):
            done = kedge(*words, *more)
            assert done.returncode == 2
            assert done.stdout == ""
            assert done.stderr.startswith(f"kedge: broker 0 cannot listen on 127.0.0.1:{port}: ")
            assert done.stderr.count("\n") == 1
    assert not (tmp_path / "lab" / "lab.pid").exists()


@pytest.mark.parametrize("verb", ["down", "status", "inject heal", "fill t 1GB", "sample --out m"])
def test_orders_to_no_lab_are_refused(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lab", *verb.split(), "--dir", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no such directory" in capsys.readouterr().err
    assert run(["lab", *verb.split(), "--dir", str(tmp_path)]) == 2
    assert f"{tmp_path} contains no lab" in capsys.readouterr().err


def test_speeds_are_numbers_or_max() -> None:
    assert parse_speed("60") == 60
    assert parse_speed("60x") == 60
    assert parse_speed("MAX") == MAX_SPEED
    assert LabSettings(speed=MAX_SPEED).is_max_speed
