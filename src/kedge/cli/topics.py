"""`kedge topics …`: what kafka-topics does, with its flags and its lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import (
    BootstrapOption,
    CommandConfigOption,
    DryRunOption,
    YesOption,
    ZooKeeperOption,
    confirm,
    connected,
    echo_json,
    echo_lines,
)
from kedge.cli.options import Output, OutputOption, echo, help_without_command, say
from kedge.errors import InvalidPartitions, InvalidReplicationFactor, InvalidRequest

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster, TopicCreation, TopicDescription, TopicExpansion
    from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
    from kedge.report.topics import DescribedTopic

FACTOR_MAX = 32_767
TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")

PatternOption = Annotated[
    str | None, typer.Option("--topic", help="Name or pattern; separate several by commas")
]
NeededPatternOption = Annotated[
    str, typer.Option("--topic", help="Name or pattern; separate several by commas")
]
IfExistsOption = Annotated[
    bool, typer.Option("--if-exists", help="Do nothing if the topic does not exist")
]
ExcludeInternalOption = Annotated[
    bool, typer.Option("--exclude-internal", help="Leave out internal topics")
]

app = typer.Typer(name="topics", help="Create, list, describe, grow and delete topics")


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Create, list, describe, grow and delete topics"""
    help_without_command(context)


@app.command("create")
def create_command(
    topic: Annotated[str, typer.Option(help="The name of the topic")],
    partitions: Annotated[
        int | None, typer.Option(help="Number of partitions; default of the cluster")
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option(help="Replicas per partition; default of the cluster")
    ] = None,
    replica_assignment: Annotated[
        str,
        typer.Option(help="Replica lists instead of counts: 0:1:2,1:2:0,… preferred leader first"),
    ] = "",
    config: Annotated[
        list[str] | None, typer.Option(help="A config as key=value; may be repeated")
    ] = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing if the topic already exists")
    ] = False,
    dry_run: DryRunOption = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a topic

    Example: kedge topics create --bootstrap-server localhost:9092 --topic orders --partitions 6
    """
    from kedge.errors import TopicExists
    from kedge.topics import has_collision_chars

    wanted = _creation(topic, partitions, replication_factor, replica_assignment, config or [])
    if has_collision_chars(topic):
        say("note: '.' and '_' are the same in metric names; use only one of them")
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        refusal = cluster.create_topics([wanted], validate_only=dry_run)[topic]
    existed = isinstance(refusal, TopicExists) and if_not_exists
    if refusal is not None and not existed:
        raise refusal
    if output is Output.JSON:
        echo_json({"topic": topic, "created": not (existed or dry_run), "dry_run": dry_run})
    elif not existed:
        echo(f"{'Would create' if dry_run else 'Created'} topic {topic}.")


def _creation(
    topic: str, partitions: int | None, factor: int | None, lists: str, configs: list[str]
) -> TopicCreation:
    from kedge.cluster.port import BY_DEFAULT, TopicCreation
    from kedge.placement import parse_manual
    from kedge.topics import parse_topic_configs

    if lists and (partitions is not None or factor is not None):
        raise InvalidRequest(
            "--replica-assignment excludes --partitions and --replication-factor",
            hint="the assignment has both",
        )
    if partitions is not None and partitions < 1:
        raise InvalidPartitions(f"--partitions {partitions}", hint="use 1 or more")
    if factor is not None and not 1 <= factor <= FACTOR_MAX:
        raise InvalidReplicationFactor(
            f"--replication-factor {factor}", hint=f"use 1 to {FACTOR_MAX}"
        )
    return TopicCreation(
        topic,
        BY_DEFAULT if partitions is None else partitions,
        BY_DEFAULT if factor is None else factor,
        parse_manual(lists).as_mapping() if lists else {},
        parse_topic_configs(configs),
    )


@app.command("list")
def list_command(
    topic: PatternOption = None,
    exclude_internal: ExcludeInternalOption = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the names of topics

    Example: kedge topics list --bootstrap-server localhost:9092 --exclude-internal
    """
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        names = _matching(cluster, topic, exclude_internal=exclude_internal, must_exist=False)
    if output is Output.JSON:
        echo_json({"topics": names})
    else:
        echo_lines(names)


def _matching(
    cluster: Cluster, pattern: str | None, *, exclude_internal: bool = False, must_exist: bool
) -> list[str]:
    from kedge.cli.select_topics import select_topics

    internal = cluster.topic_names()
    names = [name for name in internal if not (exclude_internal and internal[name])]
    return select_topics(names, pattern, must_exist=must_exist)


@app.command("describe")
def describe_command(
    topic: PatternOption = None,
    topic_id: Annotated[str | None, typer.Option(help="The topic with this id instead")] = None,
    if_exists: IfExistsOption = False,
    exclude_internal: ExcludeInternalOption = False,
    under_replicated_partitions: Annotated[
        bool,
        typer.Option(
            "--under-replicated-partitions", help="Only partitions with replicas out of sync"
        ),
    ] = False,
    unavailable_partitions: Annotated[
        bool, typer.Option("--unavailable-partitions", help="Only partitions without a live leader")
    ] = False,
    under_min_isr_partitions: Annotated[
        bool,
        typer.Option(
            "--under-min-isr-partitions", help="Only with fewer in-sync replicas than the minimum"
        ),
    ] = False,
    at_min_isr_partitions: Annotated[
        bool,
        typer.Option(
            "--at-min-isr-partitions", help="Only with as many in-sync replicas as the minimum"
        ),
    ] = False,
    topics_with_overrides: Annotated[
        bool, typer.Option("--topics-with-overrides", help="Only topics with own configs")
    ] = False,
    partition_size_limit_per_response: Annotated[
        int | None,
        typer.Option(min=1, help="Accepted as by Kafka's tool; Kedge chooses its page size itself"),
    ] = None,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show partitions, leaders, replicas and configs of topics

    Example: kedge topics describe --bootstrap-server localhost:9092 --topic orders
    """
    from kedge.report.topics import Selection, describe_lines, describe_rows

    del partition_size_limit_per_response
    selection = Selection(
        under_replicated_partitions,
        unavailable_partitions,
        under_min_isr_partitions,
        at_min_isr_partitions,
        topics_with_overrides,
    )
    if selection.by_partition and topics_with_overrides:
        raise InvalidRequest(
            "--topics-with-overrides shows no partitions to filter", hint="leave one out"
        )
    if topic_id is not None:
        _check_topic_id(topic_id)
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        must_exist = not if_exists
        names = _matching(
            cluster,
            None if topic_id else topic,
            exclude_internal=exclude_internal,
            must_exist=must_exist,
        )
        topics = _topics(cluster, names, topic_id, must_exist=must_exist)
        needs_configs = under_min_isr_partitions or at_min_isr_partitions or topics_with_overrides
        described = _described(cluster, topics, needs_configs=needs_configs)
        alive = _alive(cluster, wanted=unavailable_partitions)
    if output is Output.JSON:
        echo_json({"topics": describe_rows(described, selection, alive)})
    else:
        echo_lines(describe_lines(described, selection, alive))


def _alive(cluster: Cluster, *, wanted: bool) -> frozenset[BrokerId]:
    return cluster.describe().alive if wanted else frozenset()


def _topics(
    cluster: Cluster, names: list[str], topic_id: str | None, *, must_exist: bool
) -> list[TopicDescription]:
    """The topics of these names, or the one of them with this id."""
    from kedge.errors import KedgeError, UnknownTopicId

    found: list[TopicDescription] = []
    for topic in cluster.describe_topics(names).values() if names else ():
        if isinstance(topic, KedgeError):
            raise topic
        found.append(topic)
    if topic_id is None:
        return found
    chosen = [_without_elr(topic) for topic in found if topic.topic_id == topic_id]
    if not chosen and must_exist:
        raise UnknownTopicId(f"No topic has the id {topic_id}")
    return chosen


def _without_elr(topic: TopicDescription) -> TopicDescription:
    """Kafka's request by id returns no eligible leaders: like its tool, this shows N/A."""
    from dataclasses import replace

    bare = (replace(p, eligible=None, last_known_eligible=None) for p in topic.partitions)
    return replace(topic, partitions=tuple(bare))


def _check_topic_id(topic_id: str) -> None:
    if TOPIC_ID.fullmatch(topic_id) is None:
        raise InvalidRequest(
            f"--topic-id: {topic_id!r} is not a topic id",
            hint="kedge topics describe shows ids of 22 characters",
        )


def _described(
    cluster: Cluster, topics: list[TopicDescription], *, needs_configs: bool
) -> list[DescribedTopic]:
    """Topics with their configs; like Kafka's tool, this needs no permission on the cluster."""
    from kedge.cluster.port import topic_resource
    from kedge.errors import KedgeError, Unauthorised
    from kedge.report.topics import DescribedTopic

    if not topics:
        return []
    configs = cluster.describe_configs([topic_resource(topic.name) for topic in topics])
    moving = _moving(cluster)
    described: list[DescribedTopic] = []
    for topic in topics:
        settings = configs[topic_resource(topic.name)]
        if isinstance(settings, Unauthorised) and not needs_configs:
            say(f"note: configs of topic {topic.name} are not shown: {settings.what}")
            settings = ()
        if isinstance(settings, KedgeError):
            raise settings
        described.append(DescribedTopic(topic, settings, moving))
    return described


def _moving(cluster: Cluster) -> Mapping[TopicPartition, ReplicaAssignment]:
    """The moves under way; none where listing them is not permitted, as in Kafka's tool."""
    from kedge.errors import Unauthorised

    try:
        return cluster.reassignments()
    except Unauthorised:
        return {}


@app.command("alter")
def alter_command(
    topic: NeededPatternOption,
    partitions: Annotated[int, typer.Option(help="The new number of partitions")],
    replica_assignment: Annotated[
        str, typer.Option(help="The replicas of all partitions, old ones first: 0:1,1:0,…")
    ] = "",
    if_exists: IfExistsOption = False,
    dry_run: DryRunOption = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give topics more partitions

    Example: kedge topics alter --bootstrap-server localhost:9092 --topic orders --partitions 12
    """
    if partitions < 1:
        raise InvalidPartitions(f"--partitions {partitions}", hint="use 1 or more")
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        names = _matching(cluster, topic, must_exist=not if_exists)
        wanted = [_expansion(cluster, name, partitions, replica_assignment) for name in names]
        answers = cluster.expand_topics(wanted, validate_only=dry_run) if wanted else {}
    _raise_first(list(answers.values()))
    if output is Output.JSON:
        echo_json({"topics": names, "partitions": partitions, "dry_run": dry_run})
    elif dry_run:
        echo_lines([f"Would give topic {name} {partitions} partitions." for name in names])


def _expansion(cluster: Cluster, name: str, total: int, lists: str) -> TopicExpansion:
    """The expansion of one topic; lists of partitions that exist already are skipped."""
    from kedge.cluster.port import TopicExpansion
    from kedge.errors import KedgeError
    from kedge.placement import parse_manual

    if not lists:
        return TopicExpansion(name, total)
    topic = cluster.describe_topics([name])[name]
    if isinstance(topic, KedgeError):
        raise topic
    there = len(topic.partitions)
    manual = parse_manual(lists).as_mapping()
    return TopicExpansion(name, total, [ids for p, ids in sorted(manual.items()) if p >= there])


@app.command("delete")
def delete_command(
    topic: NeededPatternOption,
    if_exists: IfExistsOption = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    bootstrap_server: BootstrapOption = "",
    zookeeper: ZooKeeperOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete topics and all their records; asks first, and needs --yes without a terminal

    Example: kedge topics delete --bootstrap-server localhost:9092 --topic orders --yes
    """
    with connected(bootstrap_server, command_config, zookeeper=zookeeper) as cluster:
        names = _matching(cluster, topic, must_exist=not if_exists)
        if names and not dry_run:
            listed = f"{', '.join(names[:10])}{', …' if len(names) > 10 else ''}"
            where = cluster.describe().cluster_id
            what = "topic" if len(names) == 1 else f"{len(names)} topics"
            confirm(f"Delete {what} of cluster {where}: {listed}?", yes=yes)
            _raise_first(list(cluster.delete_topics(names).values()))
    if output is Output.JSON:
        echo_json({"topics": names, "dry_run": dry_run})
    elif dry_run:
        echo_lines([f"Would delete topic {name}." for name in names])


def _raise_first(outcomes: list[Exception | None]) -> None:
    for outcome in outcomes:
        if outcome is not None:
            raise outcome
