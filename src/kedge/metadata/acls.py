"""Access control entries: created once each, deleted by filters.

The controller keeps and hands out ACLs; brokers and controllers enforce them elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from kedge.metadata.decision import Decision, Situation, of_version_0, refuse_too_many
from kedge.metadata.open_enum import OpenEnum
from kedge.metadata.records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from kedge.metadata.refusal import SUCCESS, ApiError, Refused
from kedge.model.error_codes import ErrorCode

WILDCARD = "*"


class ResourceType(OpenEnum):
    """What an ACL is about."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(OpenEnum):
    """How the resource's name is meant. MATCH is for filters: whatever would apply to the name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(OpenEnum):
    """What is allowed or denied."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(OpenEnum):
    """Whether it is allowed or denied."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


@dataclass(frozen=True, slots=True)
class Acl:
    """One ACL."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission: Permission


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Matches ACLs; None and ANY match everything."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def matches(self, acl: Acl) -> bool:
        """Whether the ACL is one of those meant."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        name = self.resource_name
        if name is None:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return name == acl.resource_name
        if acl.pattern_type is PatternType.PREFIXED:
            return name.startswith(acl.resource_name)
        return acl.resource_name in (name, WILDCARD)


@dataclass(frozen=True, slots=True)
class CreateAcls:
    """CreateAcls."""

    acls: tuple[Acl, ...]


@dataclass(frozen=True, slots=True)
class DeleteAcls:
    """DeleteAcls."""

    filters: tuple[AclFilter, ...]


@dataclass(frozen=True, slots=True)
class DeletedAcls:
    """What one filter deleted."""

    error: ApiError = SUCCESS
    acls: tuple[Acl, ...] = ()


def acl_of(record: AccessControlEntryRecord) -> Acl:
    """The ACL that a record holds."""
    return Acl(
        ResourceType(record.resource_type),
        record.resource_name,
        PatternType(record.pattern_type),
        record.principal,
        record.host,
        Operation(record.operation),
        Permission(record.permission_type),
    )


def create_acls(at: Situation, request: CreateAcls) -> Decision[tuple[ApiError, ...]]:
    """Create ACLs; one that exists already is a success without a record."""
    existing = {acl_of(record) for record in at.image.acls.values()}
    results: list[ApiError] = []
    records: list[AccessControlEntryRecord] = []
    for acl in request.acls:
        try:
            _validate(acl)
        except Refused as refused:
            results.append(refused.error)
            continue
        if acl not in existing:
            existing.add(acl)
            records.append(_record(at, acl))
        results.append(SUCCESS)
    refuse_too_many(len(records))
    return Decision(tuple(results), of_version_0(records))


def delete_acls(at: Situation, request: DeleteAcls) -> Decision[tuple[DeletedAcls, ...]]:
    """Delete what the filters match; an ACL that two filters match is deleted once."""
    acls = {acl_id: acl_of(record) for acl_id, record in sorted(at.image.acls.items())}
    results: list[DeletedAcls] = []
    doomed: dict[str, None] = {}
    for wanted in request.filters:
        if error := _unknown(wanted):
            results.append(DeletedAcls(error))
            continue
        found = {acl_id: acl for acl_id, acl in acls.items() if wanted.matches(acl)}
        doomed |= dict.fromkeys(found)
        results.append(DeletedAcls(SUCCESS, tuple(found.values())))
    records = [RemoveAccessControlEntryRecord(acl_id) for acl_id in doomed]
    refuse_too_many(len(records))
    return Decision(tuple(results), of_version_0(records))


def _record(at: Situation, acl: Acl) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        at.new_id(),
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )


_NOT_FOR_ACLS: Mapping[str, frozenset[IntEnum]] = {
    "resourceType": frozenset({ResourceType.UNKNOWN, ResourceType.ANY}),
    "patternType": frozenset({PatternType.UNKNOWN, PatternType.ANY, PatternType.MATCH}),
    "operation": frozenset({Operation.UNKNOWN, Operation.ANY}),
    "permissionType": frozenset({Permission.UNKNOWN, Permission.ANY}),
}


def _validate(acl: Acl) -> None:
    given = (acl.resource_type, acl.pattern_type, acl.operation, acl.permission)
    for (name, refused), value in zip(_NOT_FOR_ACLS.items(), given, strict=True):
        if value in refused:
            raise _invalid(f"Invalid {name} {value.name}")
    if not acl.resource_name:
        raise _invalid("Resource name should not be empty")
    if ":" not in acl.principal:
        raise _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating "
            "the principal type from the principal name)"
        )


def _unknown(wanted: AclFilter) -> ApiError | None:
    if ResourceType.UNKNOWN is wanted.resource_type or PatternType.UNKNOWN is wanted.pattern_type:
        return ApiError(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")
    if Operation.UNKNOWN is wanted.operation or Permission.UNKNOWN is wanted.permission:
        return ApiError(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
    return None


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
