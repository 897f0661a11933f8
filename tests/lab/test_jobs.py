"""Jobs on a lab, by the commands as an operator types them."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import LogDirDescription
from kedge.model import BrokerId
from tests.lab.labs import detached, kedge, kedge_json

LAB = ("--brokers", 6, "--racks", 3, "--speed", 60)


def test_a_broker_with_data_is_drained_by_one_command_and_the_drain_is_undone(
    tmp_path: Path,
) -> None:
    place = tmp_path / "lab"
    with detached(place, *LAB) as about:
        here = ("--bootstrap-server", about["bootstrap_servers"], "--state", tmp_path / "state")
        create = ("topics", "create", *here[:2], "--topic", "t")
        assert kedge(*create, "--partitions", 24, "--replication-factor", 3).returncode == 0
        assert kedge("lab", "fill", "t", "200MB", "--dir", place).returncode == 0
        with closing(KafkaAdmin(about["bootstrap_servers"])) as admin:

            def stored(broker: int) -> int:
                dirs = admin.log_dirs([BrokerId(broker)])[BrokerId(broker)]
                assert isinstance(dirs, tuple)
                return sum(len(each.replicas) for each in dirs if _is_online(each))

            held = stored(3)
            assert held > 0
            events = tmp_path / "events.jsonl"
            done = kedge_json("drain", 3, "--yes", "--events", events, *here)
            assert (done["complete"], done["done"]) == (True, held)
            assert stored(3) == 0
            _must_compare_lab_time(json.loads(events.read_text().splitlines()[-1])["summary"])
            again = kedge("drain", 3, "--yes", *here)
            assert again.returncode == 0
            assert again.stdout.startswith("Nothing to move: broker 3 holds no replica\n")
            assert kedge_json("undo", "--yes", *here)["complete"]
            assert stored(3) == held


def _must_compare_lab_time(summary: dict[str, Any]) -> None:
    """The prediction is of lab time, and so is what it is compared with."""
    took, predicted = summary["lab_seconds"], summary["predicted_seconds"]
    assert took > 10 * summary["seconds"]  # sixty times, unless this machine is too slow for that
    assert took > predicted / 3  # on a busy machine much passes in the lab between two polls


def _is_online(log_dir: LogDirDescription) -> bool:
    return log_dir.error is None
