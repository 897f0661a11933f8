"""The directory of a controller: written, closed, opened again; torn, cut, damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.errors import InvalidRequest
from kedge.kraft import Found, SnapshotDue
from kedge.metadata import EMPTY, Image, Versioned, replay_all
from kedge.metadata.records import FeatureLevelRecord, NoOpRecord, TopicRecord
from kedge.metadata_log import (
    FormatRequest,
    MetadataDirectory,
    MetaProperties,
    format_directory,
    read_bootstrap,
    read_meta_properties,
)
from kedge.metadata_log.checkpoints import SnapshotVoters
from kedge.metadata_log.segments import Segments
from kedge.protocol.metadata_records import decode_record, encode_record
from kedge.quorum.log import Log
from kedge.quorum.node import (
    AppendBatches,
    DeleteLogBefore,
    InstallSnapshot,
    StoreElection,
    TruncateLog,
    WriteSnapshotPart,
)
from kedge.quorum.values import (
    Batch,
    Election,
    EpochOffset,
    LeaderChange,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VoterSet,
)

VOTERS = VoterSet(Voter(ReplicaKey(n), (VoterEndpoint("C", "h", n),)) for n in (1, 2, 3))
META = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 1, "zzzzzzzzzzzzzzzzzzzzzQ")


def opened(path: Path) -> MetadataDirectory:
    return MetadataDirectory(path, VOTERS, now_ms=lambda: 1_000)


def value(number: int) -> bytes:
    return encode_record(Versioned(TopicRecord(f"topic-{number}", "zzzzzzzzzzzzzzzzzzzzzQ")))


def batch(base: int, epoch: int, count: int = 2) -> Batch:
    return Batch(base, epoch, tuple(value(base + at) for at in range(count)), size=100)


def filled(path: Path) -> MetadataDirectory:
    directory = opened(path)
    directory.open()
    head = Batch(0, 1, (), (LeaderChange(1, (1, 2, 3), (1, 2)),))
    directory.carry_out([StoreElection(Election(1, 1, None)), AppendBatches((head,))])
    directory.carry_out([AppendBatches((batch(1, 1), batch(3, 2))), AppendBatches((batch(5, 3),))])
    return directory


def reopened(directory: MetadataDirectory, path: Path) -> tuple[MetadataDirectory, Found]:
    directory.close()
    again = opened(path)
    return again, again.open()


def shown(log: Log) -> list[tuple[int, int, int]]:
    return [(b.base, b.last, b.epoch) for b in log.batches]


def test_what_was_written_is_found_again(tmp_path: Path) -> None:
    directory, found = reopened(filled(tmp_path), tmp_path)
    assert shown(found.log) == [(0, 0, 1), (1, 2, 1), (3, 4, 2), (5, 6, 3)]
    assert found.election == Election(1, 1, None)
    assert found.log.batches[0].control == (LeaderChange(1, (1, 2, 3), (1, 2)),)
    assert list(found.log.batches[1].records) == [value(1), value(2)]
    assert [(e.epoch, e.offset) for e in found.log.epochs] == [(1, 0), (2, 3), (3, 5)]
    text = (directory.path / "leader-epoch-checkpoint").read_text()
    assert text == "0\n3\n1 0\n2 3\n3 5\n"


def test_votes_are_found_again(tmp_path: Path) -> None:
    directory = opened(tmp_path)
    directory.open()
    directory.carry_out([StoreElection(Election(7, None, ReplicaKey(3)))])
    _, found = reopened(directory, tmp_path)
    assert found.election == Election(7, None, ReplicaKey(3))


@pytest.mark.parametrize("left", [1, 11, 40, 80])
def test_a_torn_append_is_cut_off(tmp_path: Path, left: int) -> None:
    directory = filled(tmp_path)
    log = directory.path / f"{0:020d}.log"
    whole = log.read_bytes()
    size = len(directory.read(5, 6))
    log.write_bytes(whole[: len(whole) - size + left])
    again, found = reopened(directory, tmp_path)
    assert shown(found.log)[-1] == (3, 4, 2)
    assert log.stat().st_size == len(whole) - size
    again.carry_out([AppendBatches((batch(5, 4),))])
    assert shown(reopened(again, tmp_path)[1].log)[-1] == (5, 6, 4)


def test_a_tail_of_zeros_is_cut_off(tmp_path: Path) -> None:
    directory = filled(tmp_path)
    log = directory.path / f"{0:020d}.log"
    log.write_bytes(log.read_bytes() + bytes(4096))
    assert shown(reopened(directory, tmp_path)[1].log)[-1] == (5, 6, 3)


def test_a_damaged_batch_with_others_behind_it_is_refused(tmp_path: Path) -> None:
    directory = filled(tmp_path)
    log = directory.path / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[len(directory.read(0, 0)) + 70] ^= 1
    log.write_bytes(bytes(data))
    with pytest.raises(InvalidRequest, match="damaged at byte"):
        reopened(directory, tmp_path)


def test_truncation_removes_whole_batches(tmp_path: Path) -> None:
    directory = filled(tmp_path)
    directory.carry_out([TruncateLog(4), AppendBatches((batch(3, 9),))])
    _, found = reopened(directory, tmp_path)
    assert shown(found.log) == [(0, 0, 1), (1, 2, 1), (3, 4, 9)]


def test_bytes_of_batches_are_given_across_segments(tmp_path: Path) -> None:
    segments = Segments(tmp_path, segment_bytes_max=150)
    segments.open()
    pieces = [(batch(base, 1), b"%03d" % base * 40) for base in range(0, 10, 2)]
    for piece in pieces:
        segments.append([piece])
    assert len(list(tmp_path.glob("*.log"))) == 5
    assert segments.read(2, 7) == b"".join(raw for _, raw in pieces[1:4])
    segments.truncate(6)
    assert len(list(tmp_path.glob("*.log"))) == 4
    assert segments.read(0, 100) == b"".join(raw for _, raw in pieces[:3])
    segments.drop_before(4)
    assert segments.read(0, 100) == pieces[2][1]


def image_of(*names: str) -> Image:
    topics = [TopicRecord(name, f"{at:021d}Q") for at, name in enumerate(names)]
    return replay_all(EMPTY, (FeatureLevelRecord("metadata.version", 27), *topics, NoOpRecord()))


def test_snapshots_are_written_loaded_and_cover_the_log(tmp_path: Path) -> None:
    directory = filled(tmp_path)
    due = SnapshotDue(EpochOffset(2, 5), image_of("a", "b"), 1_000)
    info = directory.write_snapshot(due, SnapshotVoters())
    directory.carry_out([DeleteLogBefore(info.id)])
    again, found = reopened(directory, tmp_path)
    assert found.log.snapshots == (info,)
    assert found.log.end == 7
    assert shown(found.log)[-1] == (5, 6, 3)
    image = replay_all(EMPTY, (v.record for v in again.load_snapshot(info.id)))
    assert sorted(image.topic_ids) == ["a", "b"]


def test_a_snapshot_of_the_leader_replaces_the_log(tmp_path: Path) -> None:
    source = filled(tmp_path / "leader")
    due = SnapshotDue(EpochOffset(9, 500), image_of("x"), 1_000)
    info = source.write_snapshot(
        due,
        SnapshotVoters(
            1, VOTERS.replaced(Voter(ReplicaKey(1, "zzzzzzzzzzzzzzzzzzzzzQ"), (), 0, 1))
        ),
    )
    data = source.read_snapshot(info.id, 0, info.size)
    target = filled(tmp_path / "follower")
    target.carry_out([WriteSnapshotPart(info.id, 0, data[:50])])
    target.carry_out([WriteSnapshotPart(info.id, 50, data[50:]), InstallSnapshot(info)])
    again, found = reopened(target, tmp_path / "follower")
    assert (found.log.start, found.log.end, found.log.last_epoch) == (500, 500, 9)
    assert (found.kraft_version, found.voters_offset) == (1, 499)
    again.carry_out([AppendBatches((batch(500, 10),))])
    assert shown(reopened(again, tmp_path / "follower")[1].log) == [(500, 501, 10)]


def test_an_unfinished_snapshot_is_forgotten(tmp_path: Path) -> None:
    directory = filled(tmp_path)
    directory.carry_out([WriteSnapshotPart(EpochOffset(3, 7), 0, b"half")])
    _, found = reopened(directory, tmp_path)
    assert found.log.snapshots == ()
    assert not list(directory.path.glob("*.part"))


def test_a_snapshot_that_is_being_received_stays_when_older_ones_are_dropped(
    tmp_path: Path,
) -> None:
    directory = filled(tmp_path)
    directory.carry_out([WriteSnapshotPart(EpochOffset(3, 7), 0, b"half")])
    due = SnapshotDue(EpochOffset(2, 5), image_of("a"), 1_000)
    info = directory.write_snapshot(due, SnapshotVoters())
    directory.carry_out([DeleteLogBefore(info.id)])
    directory.carry_out([WriteSnapshotPart(EpochOffset(3, 7), 4, b" more")])
    assert directory.received(EpochOffset(3, 7)) == b"half more"


# ---- format --------------------------------------------------------------------------------------


def test_format_writes_the_features_of_kafka(tmp_path: Path) -> None:
    format_directory(tmp_path, FormatRequest(META))
    assert read_meta_properties(tmp_path) == META
    assert read_bootstrap(tmp_path) == {
        "metadata.version": 27,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "transaction.version": 2,
    }
    with pytest.raises(InvalidRequest, match="already formatted"):
        format_directory(tmp_path, FormatRequest(META))


def test_a_standalone_format_has_the_voters_in_a_checkpoint(tmp_path: Path) -> None:
    voters = VoterSet(
        [Voter(ReplicaKey(1, META.directory_id), (VoterEndpoint("C", "h", 1),), 0, 1)]
    )
    format_directory(tmp_path, FormatRequest(META, voters=voters))
    found = opened(tmp_path).open()
    assert (found.kraft_version, found.voters, found.voters_offset) == (1, voters, -1)
    assert found.log.snapshots == ()


def test_a_directory_that_is_not_formatted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="not formatted"):
        read_meta_properties(tmp_path)


def test_records_survive_as_bytes() -> None:
    assert decode_record(value(3)).record == TopicRecord("topic-3", "zzzzzzzzzzzzzzzzzzzzzQ")
