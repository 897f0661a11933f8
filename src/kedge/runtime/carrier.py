"""Carrying out effects: each order becomes calls of the ports; the answer goes to the script."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from kedge.controller import effects as f
from kedge.model import BrokerId
from kedge.runtime import configs, leaderships, orders, role, topics
from kedge.runtime.fenced import FencedStore, keep_silent
from kedge.runtime.links import Links
from kedge.store.port import Store
from kedge.store.znodes import TOPICS
from kedge.topics import new_topic_id


class Carrier:
    """Carries out the effects that concern the store and the brokers."""

    def __init__(
        self,
        me: BrokerId,
        store: Store,
        links: Links,
        *,
        now_ms: Callable[[], int],
        draw_bytes: Callable[[int], bytes] = secrets.token_bytes,
        complain: Callable[[str], None] = keep_silent,
    ) -> None:
        self.me = me
        self.store = FencedStore(store, complain)
        self.links = links
        self._now_ms = now_ms
        self._draw_bytes = draw_bytes

    def carry_out(self, effect: f.Effect) -> Any:
        """The answer to an effect. Fencing and the loss of the store are raised."""
        match effect:
            case f.Send(requests):
                self.links.send(requests)
            case f.ReadLeaderships():
                return leaderships.read_leaderships(self.store, effect)
            case f.WriteLeaderships():
                return leaderships.write_leaderships(self.store, effect)
            case f.CreateLeaderships():
                return leaderships.create_leaderships(self.store, effect)
            case f.OpenLinks(registrations):
                self.links.open(registrations)
            case f.CloseLinks(brokers):
                self.links.close(brokers)
            case _:
                return self._carry_out_seldom(effect)

    def _carry_out_seldom(self, effect: f.Effect) -> Any:
        match effect:
            case f.ReadController():
                return role.read_controller(self.store)
            case f.ClaimRole(over):
                return role.claim_role(self.store, self.me, self._now_ms(), over=over)
            case f.ReleaseRole():
                return role.release_role(self.store, self.me)
            case f.LeaveRole():
                return self.leave_role()
            case f.SetUpFeatures(enabled, version):
                return role.set_up_features(self.store, enabled=enabled, version=version)
            case f.TakeProducerIds(broker):
                return role.take_producer_ids(self.store, broker)
            case _:
                return self._carry_out_on_topics(effect)

    def _carry_out_on_topics(self, effect: f.Effect) -> Any:
        match effect:
            case f.ReadBrokers():
                return topics.read_brokers(self.store)
            case f.ReadBroker(broker):
                return topics.read_broker(self.store, broker)
            case f.ReadTopics():
                return set(self.store.children(TOPICS, watch=True))
            case f.ReadTopicRecords():
                return topics.read_topic_records(self.store, effect)
            case f.GiveTopicIds():
                return topics.give_topic_ids(
                    self.store, effect, lambda: new_topic_id(self._draw_bytes)
                )
            case f.StoreAssignment():
                return topics.store_assignment(self.store, effect)
            case f.ReadInitialised(topic):
                return leaderships.stored_partitions(self.store, topic)
            case f.ReadUncleanAllowed():
                return configs.read_unclean_allowed(self.store, effect)
            case f.ReadUncleanDefault():
                return configs.read_unclean_default(self.store, effect, self.me)
            case f.DeleteTopic():
                return topics.delete_topic(self.store, effect)
            case _:
                return self._carry_out_on_orders(effect)

    def _carry_out_on_orders(self, effect: f.Effect) -> Any:
        match effect:
            case f.ReadDeletions():
                return orders.read_deletions(self.store)
            case f.DropDeletions(dropped):
                return orders.drop_deletions(self.store, dropped)
            case f.ReadReassignmentPlan(watch):
                return orders.read_reassignment_plan(self.store, watch=watch)
            case f.StoreReassignmentPlan():
                return orders.store_reassignment_plan(self.store, effect)
            case f.ReadPreferredPlan():
                return orders.read_preferred_plan(self.store)
            case f.DropPreferredPlan():
                return orders.drop_preferred_plan(self.store)
            case f.ReadNotes(kind):
                return orders.read_notes(self.store, kind)
            case f.ReadConfigChanges(after):
                return configs.read_config_changes(self.store, after, self._now_ms())
            case f.DropNotes(kind, names):
                return orders.drop_notes(self.store, kind, names)
            case _:
                raise TypeError(f"{type(effect).__name__} is not for the store or the brokers")

    def leave_role(self) -> None:
        """No more writes, no more links."""
        self.store.fence = None
        self.links.close_all()
