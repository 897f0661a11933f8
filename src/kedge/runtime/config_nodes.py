"""Reads configs that affect the controller, and notifications of config changes."""

from __future__ import annotations

from kedge.controller.effects import ConfigChanges, ReadUncleanAllowed, ReadUncleanDefault
from kedge.errors import MalformedInput, MalformedNumber
from kedge.model import BrokerId
from kedge.runtime.fenced_store import FencedStore
from kedge.store.port import Node
from kedge.store.znodes import (
    CONFIG_CHANGES,
    ENTITY_TYPES,
    broker_config_path,
    decode_config,
    decode_config_change,
    sequence_of,
    topic_config_path,
)

UNCLEAN = "unclean.leader.election.enable"
_BOOLEANS = {"true": True, "false": False}

# configs of the controller that Kafka reads only when a broker starts
RESTART_ONLY = (
    "auto.create.topics.enable",
    "auto.leader.rebalance.enable",
    "delete.topic.enable",
    "inter.broker.protocol.version",
    "leader.imbalance.check.interval.seconds",
    "leader.imbalance.per.broker.percentage",
)


# ---- unclean elections -----------------------------------------------------------------------


def read_unclean_allowed(store: FencedStore, effect: ReadUncleanAllowed) -> dict[str, bool | None]:
    """Return topics' own settings, the default if not set, None if malformed."""
    paths = [topic_config_path(topic) for topic in effect.topics]
    nodes = store.nodes(paths)
    return {
        topic: unclean_allowed(path, node, effect.default)
        for topic, path, node in zip(effect.topics, paths, nodes, strict=True)
    }


def unclean_allowed(path: str, node: Node | None, default: bool) -> bool | None:
    """Return the setting of one topic."""
    try:
        values = unclean_setting(configs_at(path, node), path)
    except MalformedInput:
        return None
    return default if values is None else values


def read_unclean_default(
    store: FencedStore, effect: ReadUncleanDefault, me: BrokerId
) -> bool | None:
    """Return the setting of this broker, else of all; a malformed one changes nothing."""
    paths = [broker_config_path(me), broker_config_path(None)]
    values: list[bool | None] = []
    for path, node in zip(paths, store.nodes(paths), strict=True):
        try:
            configs = configs_at(path, node)
            values.append(unclean_setting(configs, path))
        except MalformedInput as error:
            store.warn(f"{error}; the previous value stays")
            return effect.before
        for name in sorted(configs.keys() & set(RESTART_ONLY)):
            store.warn(f"{path}: {name} is ignored: changing it requires a restart")
    return next((value for value in values if value is not None), None)


def configs_at(path: str, node: Node | None) -> dict[str, str]:
    """Return the configs of a node; none if it does not exist."""
    return {} if node is None else decode_config(node.data, path)


def unclean_setting(configs: dict[str, str], path: str) -> bool | None:
    """Return the setting of unclean elections, None if not set."""
    text = configs.get(UNCLEAN)
    if text is None:
        return None
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise MalformedInput(f"{UNCLEAN} is neither true nor false", place=path)
    return value


# ---- notifications ---------------------------------------------------------------------------


def read_config_changes(store: FencedStore, after: int | None, now_ms: int) -> ConfigChanges:
    """Return the existing notifications, and the entities of those to be read."""
    names = store.children(CONFIG_CHANGES, watch=True)
    numbers = {name: number_of(store, name) for name in names}
    known = {name: number for name, number in numbers.items() if number is not None}
    new = () if after is None else [name for name, number in known.items() if number > after]
    paths = [f"{CONFIG_CHANGES}/{name}" for name in sorted(new, key=lambda name: known[name])]
    found = [
        entity_of(store, path, node)
        for path, node in zip(paths, store.nodes(paths), strict=True)
        if node is not None
    ]
    last = max(known.values(), default=-1)
    return ConfigChanges(names, last, tuple(e for e in found if e is not None), now_ms)


def number_of(store: FencedStore, name: str) -> int | None:
    """Return a notification's number; None for any other node."""
    try:
        return sequence_of(name)
    except MalformedNumber:
        store.warn(f"{CONFIG_CHANGES}/{name} is skipped: its name has no number")
        return None


def entity_of(store: FencedStore, path: str, node: Node) -> str | None:
    """Return the entity of a notification, as in `topics/T`."""
    try:
        entity = decode_config_change(node.data, path)
        if entity.partition("/")[0] not in ENTITY_TYPES:
            raise MalformedInput(f"{entity!r} is not an entity with configs", place=path)
    except MalformedInput as error:
        store.warn(f"{error}; the notification is skipped")
        return None
    return entity
