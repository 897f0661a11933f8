"""Handles config changes at run time (KIP-226) that affect the controller.

A client that changes a config writes it and a numbered notification, which contains only the name
of the entity: the reader then reads the config. Of the configs that the controller uses, Kafka
allows one to be changed without a restart, `unclean.leader.election.enable`:

    notification     effect
    topics/T         if T now allows unclean elections, its partitions without a leader are retried
    brokers/<default>, brokers/N with this controller's N
                     the default for topics without their own setting; when it changes to true,
                     all partitions without a leader are retried
    anything else    none: throttles and others concern only the brokers

At a failover existing notifications are not read: the configs are read afterwards. Notifications
are for all brokers, so they may not be deleted at once: they are deleted fifteen minutes after this
controller first saw them, when a later notification arrives.
"""

from __future__ import annotations

from collections.abc import Iterable

from kedge.controller.context import Context
from kedge.controller.effects import (
    ConfigChanges,
    DeleteNotifications,
    Enqueue,
    NotificationKind,
    ReadConfigChanges,
    ReadUncleanAllowed,
    ReadUncleanDefault,
    Script,
)
from kedge.controller.events import UncleanElectionEnabled

NOTIFICATION_EXPIRATION_MS = 15 * 60 * 1000
_ALL_BROKERS = "<default>"


def load_configs(context: Context) -> Script[None]:
    """At failover: watch for changes first, then read the configs."""
    changes: ConfigChanges = yield ReadConfigChanges(after=None)
    record_seen(context, changes)
    context.unclean_by_default = yield ReadUncleanDefault(before=None)


def on_config_changes_notified(context: Context) -> Script[None]:
    """Process new notifications in sequence; delete expired ones."""
    changes: ConfigChanges = yield ReadConfigChanges(after=context.last_config_change)
    record_seen(context, changes)
    changed = dict.fromkeys(changes.entities)
    if any(entity in changed for entity in own_entities(context)):
        yield from apply_unclean_default(context)
    topics = [name for kind, name in map(split_entity, changed) if kind == "topics"]
    yield from apply_unclean_topics(context, topics)
    yield from delete_expired(context, changes.now_ms)


def record_seen(context: Context, changes: ConfigChanges) -> None:
    """Record which notifications exist, since when each is known, and the last number."""
    seen, now_ms = context.config_changes_seen_ms, changes.now_ms
    context.config_changes_seen_ms = {name: seen.get(name, now_ms) for name in changes.names}
    context.last_config_change = max(context.last_config_change, changes.last)


def own_entities(context: Context) -> tuple[str, str]:
    """Return the entities whose configs apply to this process."""
    return f"brokers/{_ALL_BROKERS}", f"brokers/{context.me}"


def split_entity(entity: str) -> tuple[str, str]:
    """Return an entity's type and its name."""
    kind, _, name = entity.partition("/")
    return kind, name


def apply_unclean_default(context: Context) -> Script[None]:
    """Read the default; retry elections only if it changed to true."""
    before = context.unclean_elections
    context.unclean_by_default = yield ReadUncleanDefault(context.unclean_by_default)
    if context.unclean_elections and not before:
        yield Enqueue(UncleanElectionEnabled())


def apply_unclean_topics(context: Context, topics: Iterable[str]) -> Script[None]:
    """Retry elections of topics that allow unclean ones, whether they did before or not."""
    known = [topic for topic in topics if topic in context.topics]
    if known:
        allowed: dict[str, bool | None] = yield ReadUncleanAllowed(known, default=False)
        for topic in known:
            if allowed[topic]:
                yield Enqueue(UncleanElectionEnabled(topic))


def delete_expired(context: Context, now_ms: int) -> Script[None]:
    """Delete the notifications that all brokers have had time to read."""
    seen = context.config_changes_seen_ms
    expired = tuple(
        name for name, since_ms in seen.items() if now_ms - since_ms > NOTIFICATION_EXPIRATION_MS
    )
    if expired:
        yield DeleteNotifications(NotificationKind.CONFIG_CHANGES, expired)
