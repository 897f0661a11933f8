"""Encodes and decodes registrations of brokers: `/brokers/ids/N`.

Version 5 added features (KIP-584), version 4 a listener's name apart from its protocol, version 2
several endpoints. All versions are decoded; 4 and 5 are written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kedge.errors import MalformedJson
from kedge.model import Broker, BrokerId, Endpoint
from kedge.store.znodes.json_fields import JsonFields, dump, load
from kedge.store.znodes.paths import broker_path

_ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")

FeatureRange = tuple[int, int]

# a feature that marks the registration of a controller, which brokers before Kafka 3.0 read there;
# it is not a broker, and no replica is placed on it
CONTROLLER_ONLY = "kedge.controller"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A broker's registration; times in ms, features as (min, max) versions."""

    broker: Broker
    timestamp_ms: int = -1
    jmx_port: int = -1
    features: Mapping[str, FeatureRange] = field(default_factory=dict[str, FeatureRange])
    version: int = 5


def encode_broker(registration: BrokerRegistration) -> bytes:
    """Encode a registration, in version 5 or 4."""
    broker, endpoints = registration.broker, registration.broker.endpoints
    plain = next((e for e in endpoints if e.protocol == "PLAINTEXT"), None)
    value: dict[str, Any] = {}
    if registration.version >= 5:
        value["features"] = {
            name: {"min_version": low, "max_version": high}
            for name, (low, high) in registration.features.items()
        }
    value["listener_security_protocol_map"] = {e.listener: e.protocol for e in endpoints}
    value["endpoints"] = list(map(_endpoint_text, endpoints))
    if broker.rack is not None:
        value["rack"] = broker.rack
    value["jmx_port"] = registration.jmx_port
    # clients older than listeners read these two
    value["port"] = plain.port if plain else -1
    value["host"] = plain.host if plain else None
    value["version"] = registration.version
    value["timestamp"] = str(registration.timestamp_ms)
    return dump(value)


def decode_broker(broker: BrokerId, data: bytes | None) -> BrokerRegistration:
    """Decode a registration of any version."""
    fields = load(data, broker_path(broker))
    version = fields.version()
    endpoints = _old_endpoint(fields) if version == 1 else _endpoints(fields, version)
    rack = fields.text("rack") if "rack" in fields else None
    return BrokerRegistration(
        Broker(broker, rack, endpoints=endpoints),
        timestamp_ms=fields.integer_text("timestamp") if "timestamp" in fields else -1,
        jmx_port=fields.integer("jmx_port", -1),
        features=_features(fields.object("features")) if version >= 5 else {},
        version=version,
    )


def _old_endpoint(fields: JsonFields) -> tuple[Endpoint, ...]:
    return (Endpoint("PLAINTEXT", fields.text("host"), fields.integer("port")),)


def _endpoints(fields: JsonFields, version: int) -> tuple[Endpoint, ...]:
    protocols = fields.object("listener_security_protocol_map")
    found: list[Endpoint] = []
    for text in fields.texts("endpoints"):
        match = _ENDPOINT.fullmatch(text)
        if match is None:
            raise MalformedJson(f"{text!r} is not an endpoint", place=fields.place)
        listener, host, port = match.groups()
        # up to version 3 a listener's name was its protocol
        protocol = protocols.text(listener) if version >= 4 else listener
        found.append(Endpoint(listener, host, int(port), protocol))
    return tuple(found)


def _features(features: JsonFields) -> dict[str, FeatureRange]:
    ranges = {name: features.object(name) for name in features}
    return {
        name: (each.integer("min_version"), each.integer("max_version"))
        for name, each in ranges.items()
    }


def _endpoint_text(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{endpoint.listener}://{host}:{endpoint.port}"
