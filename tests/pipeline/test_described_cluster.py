"""What a live cluster says of itself, for ingest."""

from __future__ import annotations

from kedge.metrics.parsing.cluster_metadata import PartitionState
from kedge.model import BrokerId
from kedge.pipeline.described_cluster import history_of, known_topics, metadata_with_replicas
from tests.pipeline.sampled_cluster import cluster


def test_a_broker_that_is_down_stays_a_broker_while_it_holds_replicas() -> None:
    live = cluster()
    (topic,) = known_topics(live)
    down = topic.partitions[0].replicas[0]
    live.stop_broker(BrokerId(down))
    assert metadata_with_replicas(live.describe(), known_topics(live)).ids == {1, 2, 3}
    assert metadata_with_replicas(live.describe(), []).ids == {1, 2, 3} - {down}


def test_the_history_has_leaders_replicas_and_isr_from_now_on() -> None:
    live = cluster()
    (topic,) = known_topics(live)
    first = topic.partitions[0].replicas
    live.stop_broker(first[0])
    (change,) = history_of(known_topics(live), 7)
    assert change.ts_ms == 7
    assert change.topics["orders"][0] == PartitionState(first[1], first, (first[1],))
