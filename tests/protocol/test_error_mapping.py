"""Every error has a code, and the nearest class decides which."""

from __future__ import annotations

import pytest

from kedge import errors
from kedge.errors import KedgeError, MalformedMessage
from kedge.model.error_codes import ErrorCode
from kedge.protocol import FRAME_BYTES_MAX, code_of, frame_length


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.TopicExists("x"), 36),
        (errors.InvalidTopic("x"), 17),
        (errors.InvalidPartitions("x"), 37),
        (errors.InvalidReplicationFactor("x"), 38),
        (errors.InvalidReplicaAssignment("x"), 39),
        (errors.InvalidConfiguration("x"), 40),
        (errors.DuplicateInRequest("x"), 42),
        (errors.MalformedNumber("x"), 42),
        (errors.PolicyViolation("x"), 44),
        (errors.RequestTimedOut("x"), 7),
        (errors.UnknownTopicOrPartition("x"), 3),
        (errors.UnknownTopicId("x"), 100),
        (errors.ReassignmentInProgress("x"), 60),
        (errors.TopicDeletionDisabled("x"), 73),
        (errors.QuotaExceeded("x"), 89),
        (errors.NotController("x"), 41),
        (errors.InconsistentRacks("x"), -1),
        (errors.StoreUnavailable("x"), -1),
        (ValueError("x"), -1),
    ],
)
def test_an_error_has_kafkas_code(error: Exception, code: int) -> None:
    assert code_of(error) == code


def test_no_error_of_ours_counts_as_success() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    tree = [kind for kind in kinds if issubclass(kind, KedgeError)]
    assert len(tree) > 30
    assert ErrorCode.NONE not in {code_of(kind("x")) for kind in tree}


@pytest.mark.parametrize("length", [0, -1, FRAME_BYTES_MAX + 1, 2**31 - 1, -(2**31)])
def test_a_frame_of_an_impossible_length_is_refused(length: int) -> None:
    with pytest.raises(MalformedMessage, match=str(length)):
        frame_length(length.to_bytes(4, "big", signed=True))


def test_a_frame_may_be_as_long_as_the_limit() -> None:
    assert frame_length(b"\x00\x00\x00\x01") == 1
    assert frame_length(FRAME_BYTES_MAX.to_bytes(4, "big")) == FRAME_BYTES_MAX
