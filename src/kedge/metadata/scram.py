"""SCRAM credentials (RFC 5802): the controller keeps keys made from a salted password."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from kedge.metadata import metadata_version
from kedge.metadata.decision import Decision, Situation, of_version_0
from kedge.metadata.records import (
    MetadataRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from kedge.metadata.refusal import SUCCESS, ApiError
from kedge.model.error_codes import ErrorCode

HASHES: Mapping[int, str] = {1: "sha256", 2: "sha512"}
ITERATIONS_MIN, ITERATIONS_MAX = 4_096, 16_384

_TWICE = ApiError(
    ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
)
_TOO_OLD = ApiError(
    ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM"
)
_ABSENT = ApiError(
    ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
)


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """A credential to be set."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


@dataclass(frozen=True, slots=True)
class ScramDeletion:
    """A credential to be deleted."""

    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class AlterScram:
    """AlterUserScramCredentials."""

    deletions: tuple[ScramDeletion, ...] = ()
    upsertions: tuple[ScramUpsertion, ...] = ()


def alter_scram(at: Situation, request: AlterScram) -> Decision[dict[str, ApiError]]:
    """Delete and set credentials; each user may be named once, deletions are looked at first."""
    results: dict[str, ApiError] = {}
    accepted: dict[str, ScramDeletion | ScramUpsertion] = {}
    for item in (*request.deletions, *request.upsertions):
        if item.name in accepted:
            del accepted[item.name]
            results[item.name] = _TWICE
        elif item.name not in results:
            if (error := _fault(at, item)).failed:
                results[item.name] = error
            else:
                accepted[item.name] = item
    results |= dict.fromkeys(accepted, SUCCESS)
    return Decision(results, of_version_0(map(_record, accepted.values())))


def _fault(at: Situation, item: ScramDeletion | ScramUpsertion) -> ApiError:
    if not metadata_version.has_scram(at.level):
        return _TOO_OLD
    if not item.name:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if item.mechanism not in HASHES:
        return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(item, ScramDeletion):
        return SUCCESS if (item.name, item.mechanism) in at.image.scram else _ABSENT
    if item.iterations < ITERATIONS_MIN:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if item.iterations > ITERATIONS_MAX:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return SUCCESS


def _record(item: ScramDeletion | ScramUpsertion) -> MetadataRecord:
    if isinstance(item, ScramDeletion):
        return RemoveUserScramCredentialRecord(item.name, item.mechanism)
    stored_key, server_key = keys_of(item.salted_password, HASHES[item.mechanism])
    return UserScramCredentialRecord(
        item.name, item.mechanism, item.salt, stored_key, server_key, item.iterations
    )


def keys_of(salted_password: bytes, hash_name: str) -> tuple[bytes, bytes]:
    """The stored key and the server key of a salted password (RFC 5802, section 3)."""
    client_key = hmac.digest(salted_password, b"Client Key", hash_name)
    stored_key = hashlib.new(hash_name, client_key).digest()
    return stored_key, hmac.digest(salted_password, b"Server Key", hash_name)
