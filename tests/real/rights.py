"""Users of a secured cluster that hold chosen rights and no others."""

# pyright: reportPrivateImportUsage=false
# (the client re-exports these names without declaring it)

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.real.secured import Secured

CLUSTER = "kafka-cluster"
MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096  # the fewest that Kafka takes

Right = tuple[ResourceType, AclOperation]

SEES_ALL: tuple[Right, ...] = (
    (ResourceType.BROKER, AclOperation.DESCRIBE),
    (ResourceType.BROKER, AclOperation.DESCRIBE_CONFIGS),
    (ResourceType.TOPIC, AclOperation.DESCRIBE),
    (ResourceType.TOPIC, AclOperation.DESCRIBE_CONFIGS),
)
# may set throttles, and may neither reassign partitions nor move directories (Alter on Cluster)
ALTERS_CONFIGS_ONLY: tuple[Right, ...] = (
    *SEES_ALL,
    (ResourceType.BROKER, AclOperation.ALTER_CONFIGS),
    (ResourceType.TOPIC, AclOperation.ALTER_CONFIGS),
)
CLUSTER_ALTER: tuple[Right, ...] = ((ResourceType.BROKER, AclOperation.ALTER),)
CLUSTER_DESCRIBE: tuple[Right, ...] = ((ResourceType.BROKER, AclOperation.DESCRIBE),)
CONFIGS_ALTER: tuple[Right, ...] = (
    (ResourceType.BROKER, AclOperation.ALTER_CONFIGS),
    (ResourceType.TOPIC, AclOperation.ALTER_CONFIGS),
)
CARRIES_OUT: tuple[Right, ...] = (*ALTERS_CONFIGS_ONLY, *CLUSTER_ALTER)  # all that a run does


def client_with(
    rights: Iterable[Right], secured: Secured, bootstrap: str, path: Path, user: str
) -> Path:
    """Make a user with rights on the cluster and on all topics; a file for --command-config.

    `bootstrap` is the listener without SASL, whose clients may do everything.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    password = token_hex(8)
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, ITERATIONS)
    made = UserScramCredentialUpsertion(user, credential, password.encode())
    for answer in admin.alter_user_scram_credentials([made]).values():
        answer.result()
    grant(rights, bootstrap, user)
    return secured.client(path, user, password=password, mechanism=MECHANISM)


def grant(rights: Iterable[Right], bootstrap: str, user: str) -> None:
    """Give a user rights."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for answer in admin.create_acls([_binding(right, user) for right in rights]).values():
        answer.result()


def hide(topic: str, bootstrap: str, user: str) -> None:
    """Deny a user to see one topic, whatever other rights say."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for answer in admin.create_acls([_hiding(topic, user)]).values():
        answer.result()


def show(topic: str, bootstrap: str, user: str) -> None:
    """Undo `hide`."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for answer in admin.delete_acls([_filter(_hiding(topic, user))]).values():
        answer.result()


def _hiding(topic: str, user: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        AclOperation.DESCRIBE,
        AclPermissionType.DENY,
    )


def revoke(rights: Iterable[Right], bootstrap: str, user: str) -> None:
    """Take rights from a user."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    filters = [_filter(_binding(right, user)) for right in rights]
    for answer in admin.delete_acls(filters).values():
        answer.result()


def _filter(binding: AclBinding) -> AclBindingFilter:
    made: Any = AclBindingFilter
    return made(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )


def _binding(right: Right, user: str) -> AclBinding:
    kind, operation = right
    return AclBinding(
        kind,
        CLUSTER if kind is ResourceType.BROKER else "*",  # this client names the cluster "broker"
        ResourcePatternType.LITERAL,
        f"User:{user}",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
