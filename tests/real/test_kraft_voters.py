"""Voters that come and go (KIP-853) by Kafka's own tool, while Kedge leads and while it follows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from jvm import KAFKA_4_1
from jvm.kraft import Quorum, quorum, until
from jvm.tools import KafkaTools, kafka_tools
from tests.real.quorum_view import QuorumView, describe

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(900)]

KAFKA, KEDGE = (3001, 3002), 3003
PATIENCE_S = 120


class Administrator:
    """Kafka's tools, through the brokers or at the controllers themselves."""

    def __init__(self, made: Quorum, tools: KafkaTools) -> None:
        self._quorum, self._tools = made, tools

    def add(self, node: int, *, directly: bool = False) -> None:
        """Make an observer a voter; the tool reads its id and directory from its files."""
        config = str(self._quorum.directory / f"c{node}.properties")
        words = ("--command-config", config, "add-controller")
        self._until(words, lambda: node in self.voters(), directly)

    def remove(self, node: int, *, directly: bool = False) -> None:
        text = (self._quorum.data(node) / "meta.properties").read_text()
        found = re.search(r"directory\.id=(\S+)", text)
        assert found is not None
        ids = ("--controller-id", str(node), "--controller-directory-id", found[1])
        self._until(("remove-controller", *ids), lambda: node not in self.voters(), directly)

    def _until(self, words: Sequence[str], done: Callable[[], bool], directly: bool) -> None:
        """Ask until it is so: a change that is refused for the moment may be asked for again."""
        made, said = self._quorum, ""
        at = ("--bootstrap-controller", made.controllers)
        if not directly:
            at = ("--bootstrap-server", made.bootstrap)
        deadline = time.monotonic() + PATIENCE_S
        while not (self.voters() and done()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{words}: {said}")
            answer = self._tools("quorum", *at, *words)
            said = answer.out + answer.err
            time.sleep(1)

    def voters(self) -> set[int]:
        """The voters as the leader sees them; empty while there is none."""
        view = self._view()
        return set(view.ends) if view else set()

    def leader(self) -> int | None:
        view = self._view()
        return view.leader if view else None

    def _view(self) -> QuorumView | None:
        seen = (describe(port) for port in self._quorum.ports.values())
        return next((view for view in seen if view), None)

    def create(self, topic: str) -> None:
        words = ("--create", "--topic", topic, "--partitions", "2")
        at = ("--bootstrap-server", self._quorum.bootstrap)
        answer = self._tools("topics", *at, *words)
        assert answer.code == 0, answer.out + answer.err


def test_voters_are_added_and_removed_while_kedge_leads_and_follows(tmp_path: Path) -> None:
    with quorum(tmp_path, kedge=(KEDGE,), kafka=KAFKA, standalone=KEDGE) as made:
        made.nodes[KEDGE].start()
        until("a leader", lambda: describe(made.ports[KEDGE]), timeout_s=PATIENCE_S)
        for node in KAFKA:
            made.nodes[node].start()
        with made.brokers(1), kafka_tools(KAFKA_4_1, tmp_path) as tools:
            admin = Administrator(made, tools)
            # Kedge leads: through a broker, and at the controllers
            admin.add(3001)
            admin.add(3002, directly=True)
            assert admin.voters() == {3001, 3002, KEDGE}
            admin.create("with-three")
            admin.remove(3002)
            admin.add(3002)
            # Kedge is stopped, and returns as a follower of Kafka
            made.nodes[KEDGE].stop()
            until("Kafka to lead", lambda: admin.leader() in KAFKA, timeout_s=PATIENCE_S)
            made.nodes[KEDGE].start()
            follower = next(node for node in KAFKA if node != admin.leader())
            if admin.leader() in KAFKA:
                admin.remove(follower)
                admin.add(follower)
            # Kedge itself leaves and comes back
            admin.remove(KEDGE)
            admin.create("without-kedge")
            admin.add(KEDGE)
            admin.create("with-kedge")
            assert admin.voters() == {3001, 3002, KEDGE}
            assert not any(node.has_ended for node in made.nodes.values())
