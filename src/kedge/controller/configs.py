"""Configs that are changed while the cluster runs (KIP-226), as far as a controller acts on them.

Whoever changes a config stores it and leaves a note, numbered in sequence, that names the entity
and nothing else: the reader looks the config up. Of all that the controller decides by, Kafka lets
one be changed without a restart, `unclean.leader.election.enable`:

    note             what it leads to
    topics/T         T allows unclean elections: its partitions without a leader get another chance
    brokers/<default>, brokers/N with this controller's N
                     the default for topics that say nothing; from "no" to "yes", every partition
                     without a leader gets another chance
    anything else    nothing: throttles and the like are the brokers' own business

At a take-over the notes that are there need not be opened. What they tell of is read afterwards.
Notes are left for everybody, so nobody may remove them at once: they go a quarter of an hour after
this controller first saw them, when a later note makes it look.
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
    """At failover: watch for changes first, then read what is set."""
    changes: ConfigChanges = yield ReadConfigChanges(after=None)
    record_seen(context, changes)
    context.unclean_by_default = yield ReadUncleanDefault(before=None)


def on_config_changes_notified(context: Context) -> Script[None]:
    """Heed the notes that are new, in their order; remove those that are expired."""
    changes: ConfigChanges = yield ReadConfigChanges(after=context.last_config_change)
    record_seen(context, changes)
    changed = dict.fromkeys(changes.entities)
    if any(entity in changed for entity in own_entities(context)):
        yield from apply_unclean_default(context)
    topics = [name for kind, name in map(split_entity, changed) if kind == "topics"]
    yield from apply_unclean_topics(context, topics)
    yield from delete_expired(context, changes.now_ms)


def record_seen(context: Context, changes: ConfigChanges) -> None:
    """Which notes there are, since when we know each, and which was the last."""
    seen, now_ms = context.config_changes_seen_ms, changes.now_ms
    context.config_changes_seen_ms = {name: seen.get(name, now_ms) for name in changes.names}
    context.last_config_change = max(context.last_config_change, changes.last)


def own_entities(context: Context) -> tuple[str, str]:
    """The entities whose configs are this process's own."""
    return f"brokers/{_ALL_BROKERS}", f"brokers/{context.me}"


def split_entity(entity: str) -> tuple[str, str]:
    """An entity's kind and its name."""
    kind, _, name = entity.partition("/")
    return kind, name


def apply_unclean_default(context: Context) -> Script[None]:
    """The default may be another; only its change to "yes" is an order to elect."""
    before = context.unclean_elections
    context.unclean_by_default = yield ReadUncleanDefault(context.unclean_by_default)
    if context.unclean_elections and not before:
        yield Enqueue(UncleanElectionEnabled())


def apply_unclean_topics(context: Context, topics: Iterable[str]) -> Script[None]:
    """Topics that allow unclean elections by themselves; whether they did before is not asked."""
    known = [topic for topic in topics if topic in context.topics]
    if known:
        allowed: dict[str, bool | None] = yield ReadUncleanAllowed(known, default=False)
        for topic in known:
            if allowed[topic]:
                yield Enqueue(UncleanElectionEnabled(topic))


def delete_expired(context: Context, now_ms: int) -> Script[None]:
    """Remove the notes that everybody has had time to read."""
    seen = context.config_changes_seen_ms
    expired = tuple(
        name for name, since_ms in seen.items() if now_ms - since_ms > NOTIFICATION_EXPIRATION_MS
    )
    if expired:
        yield DeleteNotifications(NotificationKind.CONFIG_CHANGES, expired)
