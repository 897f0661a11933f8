"""A lab outlives its process, however that ends."""

from __future__ import annotations

import json
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import Replica, TopicCreation, broker_resource, topic_resource
from kedge.errors import InvalidRequest, KedgeError
from kedge.lab import Lab, LabSettings, open_folder, open_or_make
from kedge.lab.control import order
from kedge.lab.process_id import ProcessId, end_lab, read_pid
from kedge.model import BrokerId, TopicPartition
from tests.lab.labs import (
    GB,
    MB,
    change,
    create,
    detached,
    is_there,
    isr,
    move,
    replicas,
    running,
    throttle,
    until,
)


def test_a_lab_comes_back_as_it_was(tmp_path: Path) -> None:
    chosen = {"brokers": 3, "racks": 3, "speed": 60, "first_id": 4}
    with running(tmp_path / "lab", **chosen) as (lab, admin):
        create(admin, "t", (4, 5), (5, 6), retention_ms="7200000")
        lab.fill("t", 123_456_789)
        lab.fill("t", 1_000, 1)
        before = lab.status()
        ports = lab.bootstrap_servers
        ids = admin.describe_topics(["t"])
    with running(tmp_path / "lab", **chosen) as (lab, admin):
        after = lab.status()
        assert lab.bootstrap_servers == ports
        assert after["cluster_id"] == before["cluster_id"]
        assert after["lab_ms"] >= before["lab_ms"]
        assert after["controller_epoch"] > before["controller_epoch"]
        sizes = {b["id"]: b["size_bytes"] for b in after["brokers"]}
        assert sizes == {b["id"]: b["size_bytes"] for b in before["brokers"]}
        until(lambda: isr(lab, "t", 0) == [4, 5] and isr(lab, "t", 1) == [5, 6])
        again = admin.describe_topics(["t"])["t"]
        first = ids["t"]
        assert not isinstance(again, KedgeError)
        assert not isinstance(first, KedgeError)
        assert again.topic_id == first.topic_id
        configs = admin.describe_configs([topic_resource("t")])[topic_resource("t")]
        assert not isinstance(configs, KedgeError)
        assert {entry.name: entry.value for entry in configs}["retention.ms"] == "7200000"


def test_killed_in_the_middle_of_moves_a_lab_finishes_them_when_it_is_back(tmp_path: Path) -> None:
    place = tmp_path / "lab"
    with detached(place, "--brokers", 4, "--speed", 60) as about:
        with closing(KafkaAdmin(about["bootstrap_servers"])) as admin:
            create(admin, "t", (0, 1))
            order(place / "control.sock", "fill", topic="t", bytes=GB)
            throttle(admin, "t", 5 * MB, (0, 1, 2, 3))
            change(
                admin,
                broker_resource(BrokerId(0)),
                {"replica.alter.log.dirs.io.max.bytes.per.second": str(5 * MB)},
            )
            move(admin, "t", 0, 0, 2)
            replica = Replica("t", 0, BrokerId(0))
            source = next(
                d.path
                for d in admin.log_dirs([BrokerId(0)])[BrokerId(0)]  # type: ignore[union-attr]
                if d.replicas
            )
            target = "/data/d1" if source == "/data/d0" else "/data/d0"
            assert admin.alter_log_dirs({replica: target}) == {replica: None}

            def copied() -> bool:
                moves = order(place / "control.sock", "status")["moves"]
                return bool(moves) and 0.3 < moves[0]["progress"] < 1

            until(copied)
        os.kill(about["pid"], signal.SIGKILL)
        until(lambda: not is_there(about["pid"]))
    assert read_pid(place) is None
    with running(place, brokers=4, speed=600) as (lab, _):
        assert lab.bootstrap_servers == about["bootstrap_servers"]
        until(lambda: replicas(lab, "t") == (0, 2))
        until(lambda: isr(lab, "t") == [0, 2])
        tp = TopicPartition("t", 0)
        assert lab.traffic.size_of(BrokerId(2), tp) == GB
        until(lambda: lab.world.machines[BrokerId(0)].disks.directory_of(tp) == target)
        assert lab.traffic.size_of(BrokerId(0), tp) == GB


def test_what_the_store_knows_better_is_brought_in_line(tmp_path: Path) -> None:
    """The file with the logs is older than the store: a move was finished in between."""
    place = tmp_path / "lab"
    with running(place, brokers=3, speed=60) as (lab, admin):
        create(admin, "t", (0, 1))
        create(admin, "gone", (0,))
        lab.fill("t", 7_000_000)
        lab.keeper.stop()
        lab.keeper.save()
        old = (place / "logs.json").read_bytes()
        move(admin, "t", 0, 2, 1)
        until(lambda: replicas(lab, "t") == (2, 1))
        assert admin.delete_topics(["gone"]) == {"gone": None}
    (place / "logs.json").write_bytes(old)
    with running(place, brokers=3, speed=60) as (lab, _):
        until(lambda: isr(lab, "t") == [1, 2])
        assert [b["size_bytes"] for b in lab.status()["brokers"]] == [0, 7_000_000, 7_000_000]
        assert not lab.world.machines[BrokerId(0)].disks.held()


def test_brokers_can_be_added_at_the_next_start(tmp_path: Path) -> None:
    with running(tmp_path / "lab", brokers=2) as (_, admin):
        create(admin, "t", (0, 1))
    with Lab.running(LabSettings(brokers=3), tmp_path / "lab") as lab:
        assert [b["id"] for b in lab.status()["brokers"]] == [0, 1, 2]
        with closing(KafkaAdmin(lab.bootstrap_servers)) as admin:
            move(admin, "t", 0, 1, 2)
            until(lambda: replicas(lab, "t") == (1, 2))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"racks": 2}, "this lab was made with racks 1, not 2"),
        ({"brokers": 1}, "this lab was made with brokers 2, not 1"),
        ({"first_id": 1}, "this lab was made with first id 0, not 1"),
    ],
)
def test_a_lab_cannot_become_another(asked: dict[str, int], sentence: str, tmp_path: Path) -> None:
    open_or_make(tmp_path / "lab", {"brokers": 2}).save()
    with pytest.raises(InvalidRequest, match=sentence):
        open_or_make(tmp_path / "lab", asked)


def test_only_one_process_at_a_time_runs_a_lab(tmp_path: Path) -> None:
    with (
        running(tmp_path / "lab", brokers=1),
        pytest.raises(InvalidRequest, match=r"a lab is running in .* already; end it"),
    ):
        Lab(open_folder(tmp_path / "lab"))


# ---- broken directories ----


def lab_in(path: Path) -> Lab:
    return Lab(open_or_make(path, {}))


@pytest.fixture
def ended(tmp_path: Path) -> Path:
    """The directory of a lab that has a topic and has ended."""
    with running(tmp_path / "lab", brokers=1) as (_, admin):
        assert admin.create_topics([TopicCreation("t", 1, 1)]) == {"t": None}
    return tmp_path / "lab"


def test_a_half_written_end_of_the_journal_is_dropped(ended: Path) -> None:
    with (ended / "store").open("ab") as file:
        file.write(b"half a rec")
    with running(ended, brokers=1) as (lab, _):
        assert lab.dropped_bytes == 10
        assert lab.status()["topics"] == 1


def test_a_damaged_journal_is_refused_with_the_place(ended: Path) -> None:
    content = bytearray((ended / "store").read_bytes())
    content[200] ^= 0xFF
    (ended / "store").write_bytes(content)
    with pytest.raises(InvalidRequest, match=r"store, byte \d+: a record"):
        lab_in(ended)
    (ended / "store").write_bytes(b"something else altogether")
    with pytest.raises(InvalidRequest, match="store is not a journal"):
        lab_in(ended)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("lab.json", "{", "lab.json: not the description of a lab"),
        ("lab.json", "[]", "lab.json: not the description of a lab"),
        ("lab.json", '{"format":"kedge.lab/9"}', "lab.json: a lab of another version"),
        ("lab.json", '{"format":"kedge.lab/1"}', "lab.json: not the description of a lab: 'ports'"),
        ("logs.json", "?", "logs.json: the list of logs cannot be read"),
        ("logs.json", '{"format":"x"}', "logs.json: logs of another version"),
    ],
)
def test_a_broken_file_is_refused_by_its_name(
    name: str, text: str, sentence: str, ended: Path
) -> None:
    (ended / name).write_text(text)
    with pytest.raises(InvalidRequest, match=sentence):
        lab_in(ended)


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    with pytest.raises(InvalidRequest, match="is there and holds no lab; name a new or an empty"):
        lab_in(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InvalidRequest, match="there is no such directory"):
        open_folder(tmp_path / "nowhere")
    with pytest.raises(InvalidRequest, match="holds no lab"):
        open_folder(tmp_path)


def test_a_process_that_only_has_the_id_is_never_ended(tmp_path: Path) -> None:
    folder = open_or_make(tmp_path / "lab", {"brokers": 1})
    me = ProcessId.of(os.getpid())
    assert me is not None
    (folder.path / "lab.pid").write_text(json.dumps([me.pid, me.started - 1]))
    assert end_lab(folder) is None
    assert ProcessId(me.pid, me.started).is_alive
    assert not ProcessId(me.pid, me.started + 1).is_alive
