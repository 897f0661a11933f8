"""What happens to the cluster, one thing after the other."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.errors import KedgeError
from kedge.model import BrokerId, TopicPartition
from tests.real.kedge_cluster import Run, until

STREAM = "stream"
PARTITIONS = 6
BROKERS = 4
REPLICAS = 3
KEDGES = (1000, 1001)
REST_S = 120.0


@dataclass
class Mishaps:
    """Draws what happens next, does it, and keeps count."""

    cluster: Run
    draw: random.Random
    counts: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    tell: Callable[[str], None] = print
    _churned: int = 0

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return sum(n for name, n in self.counts.items() if name.startswith("kill"))

    def next(self) -> None:
        """One thing."""
        choices: list[tuple[int, Callable[[], None]]] = [
            (6, self.kill_broker),
            (5, self.kill_active_kedge),
            (2, self.kill_both_kedges),
            (1, self.stop_broker_in_order),
            (1, self.hand_over_in_order),
        ]
        weights = [weight for weight, _ in choices]
        (chosen,) = self.draw.choices([each for _, each in choices], weights)
        self.start_moves()
        time.sleep(self.draw.uniform(0.1, 1.5))  # so that it happens in any phase of the moves
        self.tell(chosen.__name__)
        chosen()
        if self.draw.random() < 0.3:
            self.cancel_moves()
        self.churn()
        self.come_to_rest()

    # ---- faults -------------------------------------------------------------------------------

    def kill_broker(self) -> None:
        """kill -9 of a broker, which comes back."""
        victim = self.draw.randrange(BROKERS) + 1
        self.counts["kill broker"] += 1
        self.cluster.fleet.kill(victim)
        time.sleep(self.draw.uniform(0, 4))
        self.cluster.fleet.start_broker(victim)

    def stop_broker_in_order(self) -> None:
        """A controlled shutdown."""
        victim = self.draw.randrange(BROKERS) + 1
        self.counts["stop broker"] += 1
        self.cluster.fleet.stop_broker(victim)
        self.cluster.fleet.start_broker(victim)

    def kill_active_kedge(self) -> None:
        """kill -9 of the active controller; the standby is to take over."""
        active = self._active_kedge()
        if active is not None:
            self.counts["kill active controller"] += 1
            self.cluster.controllers.pop(active).kill()
            until(lambda: self.cluster.controller() not in (None, active), REST_S)
            self._start_kedge(active)

    def kill_both_kedges(self) -> None:
        """No Kedge is left: one of Kafka's brokers takes over for a while."""
        for node in KEDGES:
            self.counts["kill controller"] += 1
            self.cluster.controllers.pop(node).kill()
        until(lambda: self.cluster.controller() in range(1, BROKERS + 1), REST_S)
        self.counts["Kafka's controller took over"] += 1
        self.start_moves()
        time.sleep(self.draw.uniform(0, 5))
        for node in KEDGES:
            self._start_kedge(node)

    def hand_over_in_order(self) -> None:
        """SIGTERM of the active controller."""
        active = self._active_kedge()
        if active is not None:
            self.counts["hand over"] += 1
            assert self.cluster.controllers.pop(active).stop() == 0
            self._start_kedge(active)

    def _active_kedge(self) -> int | None:
        holder = self.cluster.controller()
        return holder if holder in self.cluster.controllers else None

    def _start_kedge(self, node: int) -> None:
        self.cluster.start_kedge(node, "--take-over")

    # ---- work ---------------------------------------------------------------------------------

    def start_moves(self) -> None:
        """Move some partitions to other brokers."""
        brokers = [BrokerId(b) for b in range(1, BROKERS + 1)]
        chosen = self.draw.sample(range(PARTITIONS), 2)
        wanted = {
            TopicPartition(STREAM, p): tuple(self.draw.sample(brokers, REPLICAS)) for p in chosen
        }
        self._attempt("move", lambda admin: admin.alter_reassignments(wanted))

    def cancel_moves(self) -> None:
        """Cancel what is under way."""

        def cancel(admin: KafkaAdmin) -> object:
            return admin.alter_reassignments(dict.fromkeys(admin.reassignments()))

        self._attempt("cancel", cancel)

    def churn(self) -> None:
        """A topic comes, and the one before it goes."""
        name, before = f"churn-{self._churned}", f"churn-{self._churned - 1}"
        self._churned += 1
        order = TopicCreation(name, partitions=5, replication_factor=2)
        self._attempt("create", lambda admin: admin.create_topics([order]))
        if self._churned > 1:
            self._attempt("delete", lambda admin: admin.delete_topics([before]))

    def _attempt(self, what: str, order: Callable[[KafkaAdmin], object]) -> None:
        """In the middle of a failure an order may be refused; the next one will do."""
        admin = KafkaAdmin(self.cluster.fleet.bootstrap)
        try:
            order(admin)
            self.counts[what] += 1
        except KedgeError as refusal:
            self.refused[f"{what}: {type(refusal).__name__}"] += 1
        finally:
            admin.close()

    # ---- rest ---------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Kedge holds the role, nothing moves, everything is in sync."""
        until(lambda: self.cluster.controller() in self.cluster.controllers, REST_S)
        until(self._is_at_rest, REST_S, 0.2)

    def _is_at_rest(self) -> bool:
        record = self.cluster.assignment(STREAM)
        if record["adding_replicas"] or record["removing_replicas"]:
            return False
        states = [self.cluster.state(STREAM, p) for p in range(PARTITIONS)]
        return all(len(state["isr"]) == REPLICAS and state["leader"] >= 0 for state in states)
