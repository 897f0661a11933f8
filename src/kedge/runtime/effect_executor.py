"""Executes effects: each becomes calls of the ports, and its result goes to the script."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from kedge.controller import effects as f
from kedge.model import BrokerId
from kedge.runtime import (
    admin_nodes,
    config_nodes,
    controller_role,
    leadership_nodes,
    topic_records,
)
from kedge.runtime.broker_links import Links
from kedge.runtime.fenced_store import FencedStore, ignore_warning
from kedge.store.port import Store
from kedge.store.znodes import TOPICS
from kedge.topics import new_topic_id


class EffectExecutor:
    """Executes the effects on the store and on brokers."""

    def __init__(
        self,
        me: BrokerId,
        store: Store,
        links: Links,
        *,
        now_ms: Callable[[], int],
        draw_bytes: Callable[[int], bytes] = secrets.token_bytes,
        warn: Callable[[str], None] = ignore_warning,
    ) -> None:
        self.me = me
        self.store = FencedStore(store, warn)
        self.links = links
        self._now_ms = now_ms
        self._draw_bytes = draw_bytes

    def execute(self, effect: f.Effect) -> Any:
        """Return the result of an effect; raise if fenced or if the store is lost."""
        match effect:
            case f.Send(requests):
                self.links.send(requests)
            case f.ReadLeaderships():
                return leadership_nodes.read_leaderships(self.store, effect)
            case f.WriteLeaderships():
                return leadership_nodes.write_leaderships(self.store, effect)
            case f.CreateLeaderships():
                return leadership_nodes.create_leaderships(self.store, effect)
            case f.OpenLinks(registrations):
                self.links.open(registrations)
            case f.CloseLinks(brokers):
                self.links.close(brokers)
            case _:
                return self._execute_on_role(effect)

    def _execute_on_role(self, effect: f.Effect) -> Any:
        match effect:
            case f.ReadController():
                return controller_role.read_controller(self.store)
            case f.ClaimRole(over):
                return controller_role.claim_role(self.store, self.me, self._now_ms(), over=over)
            case f.ReleaseRole():
                return controller_role.release_role(self.store, self.me)
            case f.LeaveRole():
                return self.leave_role()
            case f.InitialiseFeatures(enabled, version):
                return controller_role.initialise_features(
                    self.store, enabled=enabled, version=version
                )
            case f.AllocateProducerIds(broker):
                return controller_role.allocate_producer_ids(self.store, broker)
            case _:
                return self._execute_on_topics(effect)

    def _execute_on_topics(self, effect: f.Effect) -> Any:
        match effect:
            case f.ReadBrokers():
                return topic_records.read_brokers(self.store)
            case f.ReadBroker(broker):
                return topic_records.read_broker(self.store, broker)
            case f.ReadTopics():
                return set(self.store.children(TOPICS, watch=True))
            case f.ReadTopicRecords():
                return topic_records.read_topic_records(self.store, effect)
            case f.AssignTopicIds():
                return topic_records.assign_topic_ids(
                    self.store, effect, lambda: new_topic_id(self._draw_bytes)
                )
            case f.StoreAssignment():
                return topic_records.store_assignment(self.store, effect)
            case f.ReadInitialisedPartitions(topic):
                return leadership_nodes.stored_partitions(self.store, topic)
            case f.ReadUncleanAllowed():
                return config_nodes.read_unclean_allowed(self.store, effect)
            case f.ReadUncleanDefault():
                return config_nodes.read_unclean_default(self.store, effect, self.me)
            case f.DeleteTopic():
                return topic_records.delete_topic(self.store, effect)
            case _:
                return self._execute_on_admin_nodes(effect)

    def _execute_on_admin_nodes(self, effect: f.Effect) -> Any:
        match effect:
            case f.ReadDeletionRequests():
                return admin_nodes.read_deletion_requests(self.store)
            case f.RemoveDeletionRequests(dropped):
                return admin_nodes.remove_deletion_requests(self.store, dropped)
            case f.ReadReassignmentPlan(watch):
                return admin_nodes.read_reassignment_plan(self.store, watch=watch)
            case f.StoreReassignmentPlan():
                return admin_nodes.store_reassignment_plan(self.store, effect)
            case f.ReadPreferredElection():
                return admin_nodes.read_preferred_election(self.store)
            case f.DeletePreferredElection():
                return admin_nodes.delete_preferred_election(self.store)
            case f.ReadNotifications(kind):
                return admin_nodes.read_notifications(self.store, kind)
            case f.ReadConfigChanges(after):
                return config_nodes.read_config_changes(self.store, after, self._now_ms())
            case f.DeleteNotifications(kind, names):
                return admin_nodes.delete_notifications(self.store, kind, names)
            case _:
                raise TypeError(f"{type(effect).__name__} is not an effect on the store or brokers")

    def leave_role(self) -> None:
        """Stop all writes and close all links."""
        self.store.fence = None
        self.links.close_all()
