"""A quorum of two Kafka controllers and one of Kedge: it follows, votes, leads and is replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jvm.kraft import KafkaNode, Quorum, quorum, until
from tests.real.quorum_view import QuorumView, describe

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(900)]

KAFKA = (3001, 3002)
KEDGE = 3003


def leader(made: Quorum) -> QuorumView | None:
    """The view of the leader, once it has committed something."""
    for node, port in made.ports.items():
        found = describe(port)
        if found and found.leader == node and found.high_watermark > 0:
            return found
    return None


def wait(
    made: Quorum, what: str, done: Callable[[QuorumView], bool] = lambda view: True
) -> QuorumView:
    def look() -> QuorumView | None:
        found = leader(made)
        return found if found and done(found) else None

    return until(what, look, timeout_s=120)


def caught_up(node: int) -> Callable[[QuorumView], bool]:
    return lambda view: view.ends[node] >= view.high_watermark - 3


def test_kedge_follows_votes_leads_and_is_replaced(tmp_path: Path) -> None:
    with quorum(tmp_path, kedge=(KEDGE,), kafka=KAFKA) as made:
        nodes = made.nodes
        for node in KAFKA:
            nodes[node].start()
        wait(made, "a leader of two")
        nodes[KEDGE].start()
        view = wait(made, "Kedge to catch up", caught_up(KEDGE))
        # follower: its fetches make the majority
        other = next(node for node in KAFKA if node != view.leader)
        nodes[other].kill()
        before = view.high_watermark
        wait(made, "commits by Kedge's fetches", lambda v: v.high_watermark > before + 6)
        # vote: with the leader gone, the returned Kafka node wins with Kedge's vote, or Kedge does
        nodes[other].stop()
        nodes[other].start()
        wait(made, "Kafka to catch up", caught_up(other))
        nodes[view.leader].kill()
        wait(made, "the next leader", lambda v: v.leader != view.leader)
        nodes[view.leader].stop()
        nodes[view.leader].start()
        wait(made, "all three", lambda v: all(caught_up(node)(v) for node in made.ports))
        # leader: Kafka's nodes are killed in turn until Kedge leads both
        for _ in range(8):
            view = wait(made, "a leader")
            if view.leader == KEDGE:
                break
            nodes[view.leader].kill()
            wait(made, "another leader", lambda v, old=view.leader: v.leader != old)
            nodes[view.leader].stop()
            nodes[view.leader].start()
            wait(made, "its return", caught_up(view.leader))
        assert view.leader == KEDGE
        before = view.high_watermark
        wait(made, "standbys to replay", lambda v: v.high_watermark > before + 10)
        assert not any(node.has_ended for node in nodes.values())
        # replaced, and back
        nodes[KEDGE].kill()
        view = wait(made, "Kafka to take over", lambda v: v.leader in KAFKA)
        nodes[KEDGE].start()
        wait(made, "Kedge to return", caught_up(KEDGE))
        assert not any(node.has_ended for node in nodes.values())
        assert_same_logs(made)


def assert_same_logs(made: Quorum) -> None:
    """The logs are equal byte for byte, as far as the shortest goes."""
    logs = [made.log(node) for node in made.ports]
    shortest = min(map(len, logs))
    assert shortest > 1_000
    assert len({log[:shortest] for log in logs}) == 1


def test_kedge_observes_a_quorum_of_kafka(tmp_path: Path) -> None:
    with quorum(tmp_path, kedge=(KEDGE,), kafka=KAFKA, observers=(KEDGE,)) as made:
        for node in made.nodes.values():
            node.start()
        wait(made, "the observer", lambda v: v.observers.get(KEDGE, 0) >= v.high_watermark - 3)
        view = wait(made, "commits", lambda v: v.high_watermark > 20)
        wait(made, "them", lambda v: v.observers[KEDGE] >= view.high_watermark)
        assert KEDGE not in view.ends
        assert_same_logs(made)


def test_each_continues_on_the_directory_of_the_other(tmp_path: Path) -> None:
    with quorum(tmp_path, kedge=(KEDGE,)) as made:
        ours = made.kedge(KEDGE)
        theirs = KafkaNode(tmp_path / f"c{KEDGE}.properties", tmp_path)
        views: list[QuorumView] = []
        for node in (ours, theirs, ours, theirs):
            node.start()
            before = views[-1] if views else QuorumView(KEDGE, 0, 0, {}, {})
            views.append(
                wait(made, "it", lambda v, b=before: v.high_watermark > b.high_watermark + 5)
            )
            assert views[-1].epoch > before.epoch
            node.stop()


SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000"}


def snapshots_of(made: Quorum, node: int) -> list[str]:
    directory = made.data(node) / "__cluster_metadata-0"
    return sorted(path.name for path in directory.glob("*.checkpoint"))


@pytest.mark.parametrize("leading", ["kedge", "kafka"])
def test_a_node_with_an_empty_disk_begins_with_the_snapshot_of_the_other(
    tmp_path: Path, leading: str
) -> None:
    with quorum(tmp_path, kedge=(KEDGE,), kafka=KAFKA, settings=SNAPSHOTS) as made:
        nodes = made.nodes
        first, second = (KEDGE, KAFKA[0]) if leading == "kedge" else KAFKA
        empty = KAFKA[1] if leading == "kedge" else KEDGE
        nodes[first].start()
        nodes[second].start()
        view = wait(made, "a leader of two")
        until("a snapshot", lambda: snapshots_of(made, view.leader), timeout_s=120)
        nodes[empty].start()
        wait(made, "the third", caught_up(empty))
        assert snapshots_of(made, empty)
        assert not (made.data(empty) / "__cluster_metadata-0" / f"{0:020d}.log").exists()
        nodes[second if view.leader != second else first].kill()
        before = wait(made, "still a leader", lambda v: v.leader == view.leader).high_watermark
        wait(made, "commits with the third", lambda v: v.high_watermark > before + 4)
        assert not nodes[empty].has_ended
