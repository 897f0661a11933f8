"""Configs in the store: read, judged, written, and announced to whoever watches for changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kedge.endpoint.backend import ConfigEntry, ConfigKind, ConfigSetting, Resource, ResourceType
from kedge.endpoint.broker_configs import (
    as_release,
    describe_all_brokers,
    describe_broker,
    judge_broker_configs,
)
from kedge.endpoint.images import Image
from kedge.endpoint.settings import ClusterSettings
from kedge.endpoint.views import Views
from kedge.errors import InvalidConfiguration, InvalidRequest, KedgeError, NodeMissing
from kedge.model import BrokerId
from kedge.model.java_text import whole_number
from kedge.protocol.reader import TEXT_BYTES_MAX
from kedge.store.port import Create, SetData, Store
from kedge.store.znodes import (
    DEFAULT_ENTITY,
    NEW_CONFIG_CHANGE,
    config_path,
    encode_config,
    encode_config_change,
)
from kedge.topics import (
    Alteration,
    ClusterView,
    Described,
    Op,
    Release,
    apply_alterations,
    describe,
    judge_alter,
    judge_replace,
    validate_name,
)
from kedge.topics.configure import refuse_unknown

Configs = Mapping[str, str]


class TopicEntries:
    """Configs of topics, described once for all topics with the same overrides."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._made: dict[frozenset[tuple[str, str]], tuple[ConfigEntry, ...]] = {}

    def of(self, overrides: Configs) -> tuple[ConfigEntry, ...]:
        """The configs of a topic with these overrides, whether it exists or not."""
        key = frozenset(overrides.items())
        if key not in self._made:
            view = self._view
            described = describe(overrides, view.broker_configs, view.release)
            self._made[key] = tuple(_topic_entry(each, view.release) for each in described)
        return self._made[key]


def _topic_entry(described: Described, release: Release) -> ConfigEntry:
    key = release.key(described.name)
    synonyms = tuple(ConfigSetting(s.source, s.name, s.value) for s in described.synonyms)
    return ConfigEntry(
        described.name,
        described.value,
        described.source,
        ConfigKind[key.kind.name],
        synonyms=synonyms,
    )


class StoredConfigs:
    """Configs of topics, and of the brokers that this endpoint speaks for."""

    def __init__(self, store: Store, views: Views, settings: Callable[[], ClusterSettings]) -> None:
        self._store = store
        self._views = views
        self._settings = settings

    # ---- describe -----------------------------------------------------------------------------

    def describe(
        self, node: BrokerId, resources: Sequence[Resource], image: Image
    ) -> list[Sequence[ConfigEntry] | KedgeError]:
        """All configs of each resource, with where they come from."""
        view = self._views.of_configs(image, node, _topics(resources))
        topics = TopicEntries(view)
        answers: list[Sequence[ConfigEntry] | KedgeError] = []
        for resource in resources:
            try:
                answers.append(self._describe_one(node, resource, view, topics))
            except KedgeError as refusal:
                answers.append(refusal)
        return answers

    def _describe_one(
        self, node: BrokerId, resource: Resource, view: ClusterView, topics: TopicEntries
    ) -> Sequence[ConfigEntry]:
        if resource.type == ResourceType.TOPIC:
            validate_name(resource.name)
            refuse_unknown(resource.name, view)
            return topics.of(view.overrides(resource.name))
        if resource.type == ResourceType.BROKER_LOGGER and resource.name == str(node):
            return []  # a broker that has no loggers
        if _broker_of(node, resource) is None:
            return describe_all_brokers(view.broker_configs.dynamic_default, view.release)
        return describe_broker(view.broker_configs, view.release)

    # ---- alter --------------------------------------------------------------------------------

    def alter(
        self,
        node: BrokerId,
        changes: Mapping[Resource, Sequence[Alteration]],
        image: Image,
        *,
        replace: bool,
        validate_only: bool,
    ) -> dict[Resource, KedgeError | None]:
        """Change each resource for itself; None where it went well."""
        view = self._views.of_configs(image, node, _topics(changes))
        outcome: dict[Resource, KedgeError | None] = {}
        for resource, steps in changes.items():
            try:
                entity, configs = self._judge(node, resource, steps, view, replace)
                _refuse_long(configs)
                if not validate_only:
                    self._write(entity, configs)
                outcome[resource] = None
            except KedgeError as refusal:
                outcome[resource] = refusal
        return outcome

    def _judge(
        self,
        node: BrokerId,
        resource: Resource,
        steps: Sequence[Alteration],
        view: ClusterView,
        replace: bool,
    ) -> tuple[str, Configs]:
        if resource.type == ResourceType.TOPIC:
            return f"topics/{resource.name}", self._judge_topic(resource.name, steps, view, replace)
        broker = _broker_of(node, resource)
        entity = f"brokers/{DEFAULT_ENTITY if broker is None else broker}"
        layers = view.broker_configs
        stored = layers.dynamic_default if broker is None else layers.dynamic
        known = as_release(view.release)
        after = apply_alterations({} if replace else stored, steps, known)
        touched = [step.name for step in steps if step.op is not Op.DELETE]
        judge_broker_configs(after, touched, view.release, for_all=broker is None)
        return entity, after

    def _judge_topic(
        self, topic: str, steps: Sequence[Alteration], view: ClusterView, replace: bool
    ) -> Configs:
        policy = self._settings().alter_policy
        if replace:
            return judge_replace(topic, _texts(steps), view, policy=policy).configs
        return judge_alter(topic, steps, view, policy=policy).configs

    def _write(self, entity: str, configs: Configs) -> None:
        """The configs, then the notice: whoever reads the notice finds the configs."""
        path, data = config_path(entity), encode_config(configs)
        (answer,) = self._store.batch([SetData(path, data)])
        if isinstance(answer, NodeMissing):
            self._store.batch([Create(path, data)])
        notice = encode_config_change(entity)
        self._store.batch([Create(NEW_CONFIG_CHANGE, notice, sequential=True)])


def _broker_of(node: BrokerId, resource: Resource) -> BrokerId | None:
    """The broker that a resource is, None for all of them; others are not ours to speak for."""
    if resource.type != ResourceType.BROKER:
        raise InvalidRequest(f"{resource} has no configs here")
    if resource.name == "":
        return None
    number = whole_number(resource.name)
    if number is None:
        raise InvalidRequest(f"{resource.name!r} is not a broker's id")
    if number != node:
        raise InvalidRequest(
            f"this is broker {node}, not {number}", hint="ask that broker, or leave the id empty"
        )
    return node


def _refuse_long(configs: Configs) -> None:
    """Refuse values that no answer could show: APPEND makes them longer than one text may be."""
    for name, text in configs.items():
        if len(text.encode()) > TEXT_BYTES_MAX:
            raise InvalidConfiguration(
                f"{name} would have more than {TEXT_BYTES_MAX} bytes", hint="give a shorter list"
            )


def _texts(steps: Sequence[Alteration]) -> dict[str, str]:
    empty = [step.name for step in steps if step.value is None]
    if empty:
        raise InvalidRequest(f"no value for {', '.join(empty)}")
    return {step.name: step.value for step in steps if step.value is not None}


def _topics(resources: Iterable[Resource]) -> list[str]:
    return [r.name for r in resources if r.type == ResourceType.TOPIC]
