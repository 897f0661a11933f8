"""What is configured in the store, and the notes that it was changed."""

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

# what the controller decides by and Kafka reads only when a broker starts
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
    """Topics' own settings, the default where they say nothing, None where they make no sense."""
    paths = [topic_config_path(topic) for topic in effect.topics]
    nodes = store.nodes(paths)
    return {
        topic: unclean_allowed(path, node, effect.default)
        for topic, path, node in zip(effect.topics, paths, nodes, strict=True)
    }


def unclean_allowed(path: str, node: Node | None, default: bool) -> bool | None:
    """What one topic's configuration says."""
    try:
        values = unclean_setting(configs_at(path, node), path)
    except MalformedInput:
        return None
    return default if values is None else values


def read_unclean_default(
    store: FencedStore, effect: ReadUncleanDefault, me: BrokerId
) -> bool | None:
    """What is set for this broker, else for all; one that cannot be read changes nothing."""
    paths = [broker_config_path(me), broker_config_path(None)]
    values: list[bool | None] = []
    for path, node in zip(paths, store.nodes(paths), strict=True):
        try:
            configs = configs_at(path, node)
            values.append(unclean_setting(configs, path))
        except MalformedInput as error:
            store.warn(f"{error}; what was set before stays")
            return effect.before
        for name in sorted(configs.keys() & set(RESTART_ONLY)):
            store.warn(f"{path}: {name} is ignored: it takes a restart to change it")
    return next((value for value in values if value is not None), None)


def configs_at(path: str, node: Node | None) -> dict[str, str]:
    """What is set in a node; nothing where there is none."""
    return {} if node is None else decode_config(node.data, path)


def unclean_setting(configs: dict[str, str], path: str) -> bool | None:
    """What configs say on unclean elections, None if nothing."""
    text = configs.get(UNCLEAN)
    if text is None:
        return None
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise MalformedInput(f"{UNCLEAN} is neither true nor false", place=path)
    return value


# ---- notes -----------------------------------------------------------------------------------


def read_config_changes(store: FencedStore, after: int | None, now_ms: int) -> ConfigChanges:
    """Which notes there are, and what those say that are to be opened."""
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
    """A note's number; a node that has none is no note."""
    try:
        return sequence_of(name)
    except MalformedNumber:
        store.warn(f"{CONFIG_CHANGES}/{name} is passed over: its name has no number")
        return None


def entity_of(store: FencedStore, path: str, node: Node) -> str | None:
    """The entity that a note is about, as in `topics/T`."""
    try:
        entity = decode_config_change(node.data, path)
        if entity.partition("/")[0] not in ENTITY_TYPES:
            raise MalformedInput(f"{entity!r} is nothing that has configs", place=path)
    except MalformedInput as error:
        store.warn(f"{error}; the note is passed over")
        return None
    return entity
