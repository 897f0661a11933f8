"""The options that name an entity with configs, for all commands of `kedge configs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from kedge.cli.entities import Entity, entities_from
from kedge.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class EntityOptions:
    """The options, as typed."""

    entity_type: Annotated[
        list[str] | None, typer.Option(help="topics, brokers, users, clients, ips, …")
    ] = None
    entity_name: Annotated[list[str] | None, typer.Option(help="Its name")] = None
    entity_default: Annotated[
        int, typer.Option("--entity-default", count=True, help="The default of the type instead")
    ] = 0
    topic: Annotated[str | None, typer.Option(help="A topic")] = None
    broker: Annotated[str | None, typer.Option(help="A broker's id")] = None
    broker_defaults: Annotated[
        bool, typer.Option("--broker-defaults", help="What holds for all brokers")
    ] = False
    broker_logger: Annotated[
        str | None, typer.Option(help="The loggers of a broker, by its id")
    ] = None
    user: Annotated[str | None, typer.Option(help="A user, for quotas")] = None
    user_defaults: Annotated[bool, typer.Option("--user-defaults", help="Any user")] = False
    client: Annotated[str | None, typer.Option(help="A client id, for quotas")] = None
    client_defaults: Annotated[bool, typer.Option("--client-defaults", help="Any client id")] = (
        False
    )
    ip: Annotated[str | None, typer.Option(help="An address, for quotas")] = None
    ip_defaults: Annotated[bool, typer.Option("--ip-defaults", help="Any address")] = False
    client_metrics: Annotated[str | None, typer.Option(help="A subscription of client metrics")] = (
        None
    )
    group: Annotated[str | None, typer.Option(help="A consumer group")] = None

    def entities(self) -> tuple[Entity, ...]:
        """The entities named, by either way of naming."""
        return entities_from(
            self.entity_type or [],
            self.entity_name or [],
            defaults=self.entity_default,
            shortcuts={
                "topics": self.topic,
                "brokers": _short("brokers", self.broker, default=self.broker_defaults),
                "broker-loggers": self.broker_logger,
                "users": _short("users", self.user, default=self.user_defaults),
                "clients": _short("clients", self.client, default=self.client_defaults),
                "ips": _short("ips", self.ip, default=self.ip_defaults),
                "client-metrics": self.client_metrics,
                "groups": self.group,
            },
        )


def _short(kind: str, name: str | None, *, default: bool) -> str | None:
    """A name, the empty one for the default, or None where neither is given."""
    if default and name is not None:
        raise InvalidRequest(
            f"Both a name and the default of {kind} are given", hint="use one of them"
        )
    return "" if default else name
