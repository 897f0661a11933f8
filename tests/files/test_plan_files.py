"""Plans with their snapshots beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kedge.errors import InvalidRequest
from kedge.files import sha256_of_snapshot
from kedge.files.plan_files import find_plan_snapshot, read_plan_file, write_plan_snapshot
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, ReassignmentFile
from tests.balance.snapshots import lopsided, with_dirs

KAFKAS = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,1]}]}'


def plan_of(digest: str | None) -> Plan:
    return Plan((), {}, snapshot_sha256=digest)


@pytest.mark.parametrize(
    ("name", "beside"), [("plan.json", "plan"), ("p.json.gz", "p"), ("x", "x")]
)
def test_a_small_snapshot_is_packed_json_beside_the_plan(
    tmp_path: Path, name: str, beside: str
) -> None:
    snapshot = with_dirs(lopsided())
    path = write_plan_snapshot(snapshot, tmp_path / name)
    assert path == tmp_path / f"{beside}.snapshot.json.gz"
    found = find_plan_snapshot(tmp_path / name, plan_of(sha256_of_snapshot(snapshot)))
    assert found is not None
    assert found[0] == path
    assert sha256_of_snapshot(found[1]) == sha256_of_snapshot(snapshot)


def test_a_large_snapshot_is_a_directory_of_parquet_with_the_same_digest(tmp_path: Path) -> None:
    snapshot = with_dirs(lopsided())
    path = write_plan_snapshot(snapshot, tmp_path / "plan.json", parquet_from=len(snapshot))
    assert path == tmp_path / "plan.snapshot"
    assert path.is_dir()
    assert find_plan_snapshot(tmp_path / "plan.json", plan_of(sha256_of_snapshot(snapshot)))


def test_the_snapshot_of_another_plan_is_not_used(tmp_path: Path) -> None:
    snapshot = lopsided()
    write_plan_snapshot(snapshot, tmp_path / "plan.json")
    other = sha256_of_snapshot(replace(snapshot, cluster_id="other"))
    assert find_plan_snapshot(tmp_path / "plan.json", plan_of(other)) is None
    assert find_plan_snapshot(tmp_path / "plan.json", plan_of(None)) is None
    assert find_plan_snapshot(tmp_path / "else.json", plan_of(sha256_of_snapshot(snapshot))) is None


def test_a_file_of_kafkas_tools_is_told_apart_from_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "moves.json"
    path.write_text(KAFKAS)
    found = read_plan_file(path)
    assert isinstance(found, ReassignmentFile)
    assert found.targets == {TopicPartition("t", 0): (BrokerId(2), BrokerId(1))}


def test_a_fault_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "moves.json"
    path.write_text("{")
    with pytest.raises(InvalidRequest, match=r"moves\.json"):
        read_plan_file(path)
