"""Laws of records, images and snapshots, on random scenarios."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import InvariantViolated
from kedge.metadata import records as r
from kedge.metadata.image import EMPTY, Image, Indexes, PartitionKey, PartitionSet
from kedge.metadata.persistent_map import PersistentMap
from kedge.metadata.record_json import from_json, to_json
from kedge.metadata.replay import replay, replay_all
from kedge.metadata.snapshot import snapshot
from tests.conformance.kraft_player import Player
from tests.metadata.filled import played

SEEDS = st.integers(0, 400)

played_once = cache(played)


def records_of(player: Player) -> Iterable[tuple[int, r.MetadataRecord]]:
    for entry in player.log:
        yield entry.offset, entry.versioned.record


def derived_indexes(image: Image) -> Indexes:
    """The indexes, computed from the partitions in the dullest way."""
    isr: dict[int, dict[PartitionKey, None]] = {}
    elr: dict[int, dict[PartitionKey, None]] = {}
    directory: dict[str, dict[PartitionKey, None]] = {}
    leaderless, reassigning, imbalanced = ({} for _ in range(3))
    for topic in image.topics.values():
        for number, partition in topic.partitions.items():
            key = (topic.id, number)
            for broker in partition.isr:
                isr.setdefault(broker, {})[key] = None
            for broker in partition.elr:
                elr.setdefault(broker, {})[key] = None
            for one in partition.known_directories:
                directory.setdefault(one, {})[key] = None
            leaderless |= {key: None} if partition.leader == r.NO_LEADER else {}
            reassigning |= {key: None} if partition.adding or partition.removing else {}
            imbalanced |= {key: None} if partition.leader != partition.replicas[0] else {}

    def sets(groups: dict[int, dict[PartitionKey, None]]) -> dict[int, PartitionSet]:
        return {group: PersistentMap(keys) for group, keys in groups.items()}

    return Indexes(
        sets(isr),
        sets(elr),
        {one: PersistentMap(keys) for one, keys in directory.items()},
        PersistentMap(leaderless),
        PersistentMap(reassigning),
        PersistentMap(imbalanced),
    )


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_an_image_is_the_replay_of_all_records(seed: int) -> None:
    player = played_once(seed)
    image = EMPTY
    for offset, record in records_of(player):
        image = replay(image, record, offset)
    assert image == player.image


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_indexes_say_what_the_partitions_say(seed: int) -> None:
    image = played_once(seed).image
    assert image.indexes == derived_indexes(image)


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_a_snapshot_of_a_replayed_snapshot_is_the_same(seed: int) -> None:
    once = snapshot(played_once(seed).image)
    image = replay_all(EMPTY, (versioned.record for versioned in once))
    assert snapshot(image) == once
    assert image.indexes == derived_indexes(image)


@settings(deadline=None, max_examples=25)
@given(SEEDS)
def test_every_record_can_be_shown_and_read_again(seed: int) -> None:
    for entry in played_once(seed).log:
        shown = to_json(entry.versioned)
        assert to_json(from_json(shown)) == shown


def test_an_image_that_was_edited_stays_as_it_was() -> None:
    before = replay_all(EMPTY, [r.TopicRecord("t", "id"), partition("id", 0)])
    change = r.PartitionChangeRecord(0, "id", isr=(1,))
    after = replay(before, change)
    assert before.topics["id"].partitions[0].isr == (1, 2)
    assert after.topics["id"].partitions[0].isr == (1,)
    assert ("id", 0) in before.indexes.in_isr[2]
    assert 2 not in after.indexes.in_isr


def test_an_aborted_transaction_leaves_nothing() -> None:
    begun = replay_all(EMPTY, [r.BeginTransactionRecord("b"), r.FeatureLevelRecord("f", 1)])
    assert begun.features == {"f": 1}
    assert replay(begun, r.AbortTransactionRecord()) == EMPTY
    assert replay(begun, r.EndTransactionRecord()).before_transaction is None


def test_a_removed_topic_takes_its_configs_along() -> None:
    made = [r.TopicRecord("t", "id"), r.ConfigRecord(2, "t", "a", "1"), partition("id", 0)]
    image = replay_all(EMPTY, [*made, r.RemoveTopicRecord("id")])
    assert image.configs == {}
    assert image.indexes == Indexes()


def partition(topic_id: str, number: int) -> r.PartitionRecord:
    return r.PartitionRecord(number, topic_id, (1, 2), (1, 2), 1)


@pytest.mark.parametrize(
    "records",
    [
        [r.TopicRecord("t", "id"), r.TopicRecord("t", "other")],
        [r.PartitionChangeRecord(0, "id", leader=1)],
        [r.TopicRecord("t", "id"), r.PartitionChangeRecord(0, "id", leader=1)],
        [r.RemoveTopicRecord("id")],
        [r.BrokerRegistrationChangeRecord(1, 5, fenced=1)],
        [r.RegisterBrokerRecord(1, "inc", 5), r.BrokerRegistrationChangeRecord(1, 6, fenced=1)],
        [r.ProducerIdsRecord(1, 1, 1000), r.ProducerIdsRecord(1, 1, 1000)],
        [r.RemoveAccessControlEntryRecord("id")],
        [r.EndTransactionRecord()],
        [r.BeginTransactionRecord(), r.BeginTransactionRecord()],
        [r.ClearElrRecord("t")],
    ],
    ids=lambda records: type(records[-1]).__name__,
)
def test_a_record_that_contradicts_the_image_is_refused(records: list[r.MetadataRecord]) -> None:
    with pytest.raises(InvariantViolated):
        replay_all(EMPTY, records)
