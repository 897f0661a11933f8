"""Registrations of brokers over Kafka's protocol: KRaft keeps them when a broker stops."""

from __future__ import annotations

from typing import Any

from kedge.cluster.admin_session import Session
from kedge.cluster.client_messages import UnregisterBrokerRequest, UnregisterBrokerResponse
from kedge.cluster.error_mapping import refusal
from kedge.errors import KedgeError
from kedge.model import BrokerId

ALTER = "Alter on Cluster"


def keeps_registrations(session: Session) -> bool:
    """Whether the brokers support UnregisterBroker (KIP-631): those in ZooKeeper mode do not."""
    return session.supports(UnregisterBrokerRequest, session.deadline())


def unregister_broker(session: Session, broker: BrokerId) -> KedgeError | None:
    """Remove the registration of a broker; any broker forwards the request to the controller."""
    request: Any = UnregisterBrokerRequest(broker_id=broker)
    answer: Any = session.send(request, UnregisterBrokerResponse, session.deadline(), change=True)
    return refusal(answer.error_code, answer.error_message, f"broker {broker}", needs=ALTER)
