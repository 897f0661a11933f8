"""Topics: listed from the last read, described live, created, expanded, configured, deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from kedge.cluster.port import (
    BY_DEFAULT,
    Cluster,
    ConfigChange,
    ConfigOp,
    TopicCreation,
    TopicExpansion,
    topic_resource,
)
from kedge.errors import InvalidRequest, KedgeError
from kedge.report.configs import config_rows
from kedge.report.topics import DescribedTopic, Selection, describe_rows
from kedge.web.access.roles import Role
from kedge.web.api.clusters import view_of
from kedge.web.api.requests import (
    Change,
    ClusterName,
    Done,
    Reachable,
    Reader,
    ServicesOf,
    answer,
    changes,
)
from kedge.web.services import Services

router = APIRouter(prefix="/api/v1/clusters/{cluster}/topics", tags=["topics"])

TopicName = Annotated[str, Path(min_length=1, max_length=249)]
SortBy = Literal["name", "partitions", "bytes", "under_replicated"]
PARTITIONS_MAX = 100_000


class CreateTopic(BaseModel):
    """A topic to be created; counts that are left out are the cluster's defaults."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=249)
    partitions: int | None = Field(default=None, ge=1, le=PARTITIONS_MAX)
    replication_factor: int | None = Field(default=None, ge=1, le=32_767)
    configs: dict[str, str] = Field(default_factory=dict, max_length=100)
    dry_run: bool = False


class ExpandTopic(BaseModel):
    """The new number of partitions."""

    model_config = ConfigDict(extra="forbid")
    total: int = Field(ge=1, le=PARTITIONS_MAX)
    dry_run: bool = False


class AlterConfigs(BaseModel):
    """Configs to be set, and configs to go back to their defaults."""

    model_config = ConfigDict(extra="forbid")
    set: dict[str, str] = Field(default_factory=dict, max_length=100)
    unset: list[str] = Field(default_factory=list, max_length=100)
    dry_run: bool = False


@router.get("")
def list_topics(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    search: Annotated[str, Query(max_length=249)] = "",
    sort: SortBy = "name",
    descending: bool = False,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Topics whose name contains a text, a page of them at a time."""
    rows = view_of(services, cluster).topics
    wanted = search.lower()
    found = [row for row in rows if wanted in row["name"].lower()] if wanted else rows
    if sort != "name" or descending:
        found = sorted(found, key=lambda row: row[sort], reverse=descending)
    return answer({"total": len(found), "topics": found[offset : offset + limit]})


@router.get("/{topic}")
def show_topic(
    cluster: ClusterName, topic: TopicName, _: Reachable, services: ServicesOf
) -> Response:
    """One topic as the cluster has it now: partitions, moves and configs."""
    with services.registry.open(cluster, brief=True) as opened:
        return answer(_described(opened, topic))


@router.post("", status_code=201)
def create_topic(
    cluster: ClusterName,
    body: CreateTopic,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "topic.create")],
) -> Response:
    """Create a topic."""
    wanted = TopicCreation(
        body.name,
        BY_DEFAULT if body.partitions is None else body.partitions,
        BY_DEFAULT if body.replication_factor is None else body.replication_factor,
        configs=body.configs,
    )

    def act(opened: Cluster) -> Done:
        _raise(opened.create_topics([wanted], validate_only=body.dry_run)[body.name])
        row = body.model_dump()
        made = {"topic": body.name, "created": not body.dry_run}
        return Done(made, 200 if body.dry_run else 201, after=row)

    return _changed(change, services, cluster, body.name, act)


@router.post("/{topic}/partitions")
def expand_topic(
    cluster: ClusterName,
    topic: TopicName,
    body: ExpandTopic,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "topic.expand")],
) -> Response:
    """Give a topic more partitions."""

    def act(opened: Cluster) -> Done:
        before = len(_topic(opened, topic).partitions)
        wanted = TopicExpansion(topic, body.total)
        _raise(opened.expand_topics([wanted], validate_only=body.dry_run)[topic])
        done = {"topic": topic, "partitions": body.total, "dry_run": body.dry_run}
        after = {"partitions": body.total, "dry_run": body.dry_run}
        return Done(done, before={"partitions": before}, after=after)

    return _changed(change, services, cluster, topic, act)


@router.patch("/{topic}/configs")
def alter_configs(
    cluster: ClusterName,
    topic: TopicName,
    body: AlterConfigs,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "topic.configure")],
) -> Response:
    """Set configs of a topic, or let them go back to their defaults."""
    steps = [ConfigChange(name, ConfigOp.SET, value) for name, value in body.set.items()]
    steps += [ConfigChange(name, ConfigOp.DELETE) for name in body.unset]

    def act(opened: Cluster) -> Done:
        if not steps:
            raise InvalidRequest("No config is to be changed", hint="send set or unset")
        resource = topic_resource(topic)
        before = _config_values(opened, topic, [step.name for step in steps])
        _raise(opened.alter_configs({resource: steps}, validate_only=body.dry_run)[resource])
        done = {"topic": topic, "set": body.set, "unset": body.unset, "dry_run": body.dry_run}
        after = {**body.set, **dict.fromkeys(body.unset), "dry_run": body.dry_run}
        return Done(done, before=before, after=after)

    return _changed(change, services, cluster, topic, act)


@router.delete("/{topic}")
def delete_topic(
    cluster: ClusterName,
    topic: TopicName,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "topic.delete")],
    confirm: Annotated[str, Query(max_length=249, description="The topic's name again")],
) -> Response:
    """Delete a topic and all its records; its name is sent twice."""

    def act(opened: Cluster) -> Done:
        if confirm != topic:
            raise InvalidRequest("The confirmation is not the topic's name")
        partitions = len(_topic(opened, topic).partitions)
        _raise(opened.delete_topics([topic])[topic])
        return Done({"topic": topic, "deleted": True}, before={"partitions": partitions})

    return _changed(change, services, cluster, topic, act)


# ---- shared --------------------------------------------------------------------------------------


def _changed(
    change: Change, services: Services, cluster: str, topic: str, act: Callable[[Cluster], Done]
) -> Response:
    """Make a change on the live cluster; the next read shows it."""

    def acting() -> Done:
        with services.registry.open(cluster) as opened:
            return act(opened)

    response = change.make(acting, f"topic {topic}")
    services.watchers[cluster].refresh()
    return response


def _raise(refusal: KedgeError | None) -> None:
    if refusal is not None:
        raise refusal


def _topic(opened: Cluster, name: str) -> Any:
    found = opened.describe_topics([name])[name]
    if isinstance(found, KedgeError):
        raise found
    return found


def _described(opened: Cluster, name: str) -> dict[str, Any]:
    topic = _topic(opened, name)
    configs = opened.describe_configs([topic_resource(name)])[topic_resource(name)]
    entries = () if isinstance(configs, KedgeError) else configs
    described = DescribedTopic(topic, entries, opened.reassignments())
    row = describe_rows([described], Selection(), ())[0]
    return {**row, "configs": config_rows(entries)}


def _config_values(opened: Cluster, topic: str, names: list[str]) -> dict[str, Any]:
    """What configs are now; sensitive ones have no value."""
    found = opened.describe_configs([topic_resource(topic)])[topic_resource(topic)]
    if isinstance(found, KedgeError):
        raise found
    return {entry.name: entry.value for entry in found if entry.name in names}
