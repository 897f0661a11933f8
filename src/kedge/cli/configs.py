"""`kedge configs …`: what kafka-configs does, with its flags and its lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    DryRunOption,
    connected,
    echo_json,
    echo_lines,
    read_properties,
)
from kedge.cli.entities import Entity
from kedge.cli.entity_options import EntityOptions
from kedge.cli.option_group import with_option_group
from kedge.cli.options import Output, OutputOption, echo, help_without_command, say
from kedge.errors import InvalidRequest, MalformedInput

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster, ConfigEntry, ConfigResource

app = typer.Typer(name="configs", help="Show and change configs and client quotas")


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Show and change configs and client quotas"""
    help_without_command(context)


@app.command("describe")
@with_option_group(EntityOptions)
def describe_command(
    options: EntityOptions,
    bootstrap_server: BootstrapOption,
    all_configs: Annotated[
        bool, typer.Option("--all", help="All configs, not only those set at run time")
    ] = False,
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the configs of topics and brokers, or the quotas of clients

    Example: kedge configs describe --bootstrap-server localhost:9092 --topic orders --all
    """
    entities = options.entities()
    with connected(bootstrap_server, command_config) as cluster:
        if entities[0].has_quotas:
            _describe_quotas(cluster, entities, output)
        else:
            _describe_configs(cluster, entities[0], output, everything=all_configs)


def _describe_configs(
    cluster: Cluster, entity: Entity, output: Output, *, everything: bool
) -> None:
    from kedge.errors import KedgeError
    from kedge.report.configs import config_lines, config_rows

    resources = _resources(cluster, entity)
    found = cluster.describe_configs(resources, synonyms=True)
    rows: list[object] = []
    for resource, entries in found.items():
        if isinstance(entries, KedgeError):
            raise entries
        own = list(entries) if everything else own_entries(resource, entries)
        if not _exists(cluster, resource, own_entries(resource, entries)):
            _say_absent(entity, resource, output)
            continue
        if output is Output.JSON:
            name = resource.name or None
            rows.append({"type": entity.kind, "name": name, "configs": config_rows(own)})
        else:
            echo_lines(config_lines(_title(entity, resource, everything=everything), own))
    if output is Output.JSON:
        echo_json({"entities": rows})


def _exists(cluster: Cluster, resource: ConfigResource, own: Sequence[ConfigEntry]) -> bool:
    """Whether there is such a group or subscription: brokers have defaults for any name."""
    from kedge.cluster.port import ResourceKind
    from kedge.errors import Unauthorised, UnsupportedByCluster

    if own or resource.kind not in (ResourceKind.GROUP, ResourceKind.CLIENT_METRICS):
        return True
    try:
        return resource.name in cluster.config_names(resource.kind)
    except (Unauthorised, UnsupportedByCluster):
        return True


def _say_absent(entity: Entity, resource: ConfigResource, output: Output) -> None:
    """The line of Kafka's tool for what does not exist."""
    line = f"The {entity.kind.removesuffix('s')} '{resource.name}' doesn't exist"
    (echo if output is Output.TABLE else say)(f"{line} and doesn't have dynamic config.")


def _resources(cluster: Cluster, entity: Entity) -> list[ConfigResource]:
    """The resources to describe; without a name all of that type, brokers with their default."""
    from kedge.cluster.port import BROKER_DEFAULTS, ConfigResource, ResourceKind

    kind = {
        "topics": ResourceKind.TOPIC,
        "brokers": ResourceKind.BROKER,
        "broker-loggers": ResourceKind.BROKER_LOGGER,
        "client-metrics": ResourceKind.CLIENT_METRICS,
        "groups": ResourceKind.GROUP,
    }[entity.kind]
    if entity.name is not None:
        return [ConfigResource(kind, entity.name)]
    if kind is ResourceKind.TOPIC:
        return [ConfigResource(kind, name) for name in cluster.topic_names()]
    if kind not in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER):
        return [ConfigResource(kind, name) for name in sorted(cluster.config_names(kind))]
    brokers = [ConfigResource(kind, str(b)) for b in sorted(cluster.describe().alive)]
    return brokers + ([BROKER_DEFAULTS] if kind is ResourceKind.BROKER else [])


def own_entries(resource: ConfigResource, entries: Sequence[ConfigEntry]) -> list[ConfigEntry]:
    """The configs that are set at run time on the thing itself."""
    from kedge.cluster.port import BROKER_DEFAULTS, ConfigSource, ResourceKind

    source = {
        ResourceKind.TOPIC: ConfigSource.TOPIC,
        ResourceKind.BROKER: ConfigSource.BROKER,
        ResourceKind.BROKER_LOGGER: ConfigSource.BROKER_LOGGER,
        ResourceKind.CLIENT_METRICS: ConfigSource.CLIENT_METRICS,
        ResourceKind.GROUP: ConfigSource.GROUP,
    }[resource.kind]
    wanted = ConfigSource.ALL_BROKERS if resource == BROKER_DEFAULTS else source
    return [entry for entry in entries if entry.source is wanted]


def _title(entity: Entity, resource: ConfigResource, *, everything: bool) -> str:
    if not resource.name:
        return f"Default configs for {entity.kind} in the cluster are:"
    what = "All" if everything else "Dynamic"
    return f"{what} configs for {entity.singular} {resource.name} are:"


def _describe_quotas(cluster: Cluster, entities: Sequence[Entity], output: Output) -> None:
    from kedge.cli.quotas import matching
    from kedge.report.configs import by_name, quota_line, quota_rows

    found = cluster.describe_quotas(matching(entities), strict=True)
    ordered = {each: found[each] for each in by_name(found)}
    if output is Output.JSON:
        echo_json({"entities": quota_rows(ordered)})
    else:
        echo_lines([quota_line(each, quotas) for each, quotas in ordered.items()])


@app.command("alter")
@with_option_group(EntityOptions)
def alter_command(
    options: EntityOptions,
    bootstrap_server: BootstrapOption,
    add_config: Annotated[
        str | None, typer.Option(help="What to set: k1=v1,k2=[a,b]; lists in brackets")
    ] = None,
    add_config_file: Annotated[
        Path | None, typer.Option(help="What to set, from a properties file")
    ] = None,
    delete_config: Annotated[
        list[str] | None, typer.Option(help="What to remove: k1,k2; may be repeated")
    ] = None,
    dry_run: DryRunOption = False,
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set and remove configs of a topic or broker, or quotas of a client

    Example: kedge configs alter --bootstrap-server localhost:9092 --topic orders --add-config
    retention.ms=86400000
    """
    entities = options.entities()
    if any(entity.name is None for entity in entities):
        raise InvalidRequest("No entity given", hint="use --entity-name or --entity-default")
    added = _added(add_config, add_config_file)
    removed = _removed(delete_config)
    if not added and not removed:
        raise InvalidRequest(
            "Nothing to change", hint="use --add-config, --add-config-file or --delete-config"
        )
    with connected(bootstrap_server, command_config) as cluster:
        if entities[0].has_quotas:
            from kedge.cli.quotas import alter_quotas

            alter_quotas(cluster, entities, added, removed, dry_run=dry_run)
        else:
            _alter(cluster, entities[0], added, removed, dry_run=dry_run)
    _tell(entities, output, dry_run=dry_run)


def _added(text: str | None, file: Path | None) -> dict[str, str]:
    if text is not None and file is not None:
        raise InvalidRequest("--add-config and --add-config-file exclude each other")
    return read_properties(file) if text is None else _parsed(text)


def _parsed(text: str) -> dict[str, str]:
    """The configs in a text. Faults do not quote it, since values may be passwords."""
    from kedge.topics import parse_add_config

    try:
        return parse_add_config(text)
    except MalformedInput:
        raise MalformedInput(
            "a config is not of the form key=value",
            place="--add-config",
            hint="separate configs by commas, and put values with commas in brackets",
        ) from None


def _removed(texts: list[str] | None) -> list[str]:
    from kedge.topics import parse_delete_config

    return parse_delete_config(texts or [])


def _alter(
    cluster: Cluster, entity: Entity, added: dict[str, str], removed: list[str], *, dry_run: bool
) -> None:
    from kedge.cluster.port import ConfigChange, ConfigOp
    from kedge.errors import KedgeError
    from kedge.topics import refuse_absent_keys, refuse_repeated_keys

    (resource,) = _resources(cluster, entity)
    refuse_repeated_keys([*added, *removed])
    entries = cluster.describe_configs([resource])[resource]
    if isinstance(entries, KedgeError):
        raise entries
    own = {entry.name: entry.value or "" for entry in own_entries(resource, entries)}
    refuse_absent_keys(own, removed)
    steps = [
        *(ConfigChange(name, ConfigOp.SET, value) for name, value in added.items()),
        *(ConfigChange(name, ConfigOp.DELETE) for name in removed),
    ]
    refusal = cluster.alter_configs({resource: steps}, validate_only=dry_run)[resource]
    if refusal is not None:
        raise refusal


def _tell(entities: Sequence[Entity], output: Output, *, dry_run: bool) -> None:
    if output is Output.JSON:
        named = {entity.kind: entity.name or None for entity in entities}
        echo_json({"entities": named, "dry_run": dry_run})
        return
    done = "Would update" if dry_run else "Completed updating"
    entity = entities[-1]
    if entity.is_default:
        echo(f"{done} default config for {entity.kind} in the cluster.")
    else:
        echo(f"{done} config for {entity.singular} {entity.name}.")
