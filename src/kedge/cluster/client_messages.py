"""Kafka's messages that only clients use, and its SASL mechanisms; others are in `kedge.protocol`.

The import of kafka-python warns about its own use of the standard library, which callers cannot
change.
"""

import warnings
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.net import sasl
    from kafka.protocol.admin.client_quotas import (
        AlterClientQuotasRequest,
        AlterClientQuotasResponse,
        DescribeClientQuotasRequest,
        DescribeClientQuotasResponse,
    )
    from kafka.protocol.admin.configs import (
        ListConfigResourcesRequest,
        ListConfigResourcesResponse,
    )
    from kafka.protocol.api_message import ApiMessage

    class UnregisterBrokerRequest(ApiMessage, load_json="kedge.cluster.schemas"):
        """Remove the registration of a broker (KIP-631)."""

    class UnregisterBrokerResponse(ApiMessage, load_json="kedge.cluster.schemas"):
        """The outcome of it."""


__all__ = [
    "AlterClientQuotasRequest",
    "AlterClientQuotasResponse",
    "DescribeClientQuotasRequest",
    "DescribeClientQuotasResponse",
    "ListConfigResourcesRequest",
    "ListConfigResourcesResponse",
    "UnregisterBrokerRequest",
    "UnregisterBrokerResponse",
    "sasl_mechanism",
]


def sasl_mechanism(name: str, **settings: str) -> Any:
    """A mechanism to authenticate with, by Kafka's name for it."""
    known: Any = sasl
    return known.get_sasl_mechanism(name)(**settings)
