"""Checks of registered brokers that several requests share."""

from __future__ import annotations

from kedge.metadata.image import BrokerRegistration, Image
from kedge.metadata.refusal import Refused
from kedge.model.error_codes import ErrorCode


def check_broker_epoch(image: Image, broker: int, epoch: int) -> BrokerRegistration:
    """The broker's registration, or STALE_BROKER_EPOCH if the sender is another incarnation."""
    found = image.brokers.get(broker)
    if found is None:
        raise Refused(
            ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker}"
        )
    if found.epoch != epoch:
        raise Refused(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {found.epoch}, but got broker epoch {epoch}",
        )
    return found
