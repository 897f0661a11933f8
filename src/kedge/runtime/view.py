"""An immutable view of the controller's state that other threads may read at any time.

The context belongs to the loop's thread. The loop publishes a `ControllerView` before it responds
to a caller, before it sends requests to brokers and after each event, so a caller that has a
response finds a view that is at least as new. Building one costs a few microseconds: partitions are
counted as they change, and the tables of brokers and topics are copied only after a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kedge.controller.context import Context, Registration
from kedge.controller.settings import Settings
from kedge.model import BrokerId


@dataclass(frozen=True, slots=True)
class ControllerView:
    """The state of a controller: its role, the cluster's members, partition counts."""

    settings: Settings
    active: bool = False
    active_controller: BrokerId | None = None
    epoch: int = 0
    registered: Mapping[BrokerId, Registration] = field(
        default_factory=lambda: MappingProxyType({})
    )
    live: frozenset[BrokerId] = frozenset()  # registered and not shutting down
    topics: frozenset[str] = frozenset()
    partition_count: int = 0
    offline_partition_count: int = 0
    under_replicated_count: int = 0
    preferred_replica_imbalance_count: int = 0
    reassigning_count: int = 0
    topics_to_delete_count: int = 0


class ViewPublisher:
    """Builds views of one context; a view shares equal tables with the last one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._live = context.live  # a new set after every change of membership
        self._topics = context.topics  # a new set after topics were added; shrinks in place
        self.view = ControllerView(context.settings)

    def publish(self) -> None:
        """Replace the view by one of the context as it is now."""
        context, before = self._context, self.view
        registered, live, topics = before.registered, before.live, before.topics
        if context.live is not self._live:
            self._live = context.live
            registered, live = MappingProxyType(dict(context.registered)), frozenset(context.live)
        if context.topics is not self._topics or len(context.topics) != len(topics):
            self._topics, topics = context.topics, frozenset(context.topics)
        self.view = ControllerView(
            context.settings,
            context.active,
            context.active_controller,
            context.epoch,
            registered,
            live,
            topics,
            len(context.assignments),
            context.offline_partition_count,
            context.under_replicated_count,
            context.preferred_replica_imbalance_count,
            len(context.being_reassigned),
            len(context.topics_to_be_deleted),
        )
