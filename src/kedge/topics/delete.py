"""Validates DeleteTopics: accepted topics are marked, and the controller deletes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kedge.errors import (
    DuplicateInRequest,
    KedgeError,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kedge.topics.ids import TopicId
from kedge.topics.view import ClusterView


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """A topic to be deleted, by its name or by its id."""

    name: str | None = None
    topic_id: TopicId | None = None


@dataclass(frozen=True, slots=True)
class Marked:
    """A topic to be marked for deletion."""

    name: str


def validate_delete(request: DeleteRequest, view: ClusterView) -> Marked:
    """The topic to mark, or the first refusal, raised."""
    _refuse_disabled(view)
    name = _name_of(request, view)
    if not view.knows(name):
        raise UnknownTopicOrPartition(f"Topic {name!r} not found")
    return Marked(name)


def validate_deletes(
    requests: Sequence[DeleteRequest], view: ClusterView
) -> list[Marked | KedgeError]:
    """One answer for each request, in order. Disabled deletion, or a request with both a name and
    an id, is raised for all."""
    _refuse_disabled(view)
    for request in requests:
        _refuse_name_and_id(request)
    times = Counter(_target(request, view) for request in requests)
    answers: list[Marked | KedgeError] = []
    for request in requests:
        try:
            _refuse_repeated(request, times[_target(request, view)])
            answers.append(validate_delete(request, view))
        except KedgeError as refusal:
            answers.append(refusal)
    return answers


def _refuse_disabled(view: ClusterView) -> None:
    if not view.deletion_enabled:
        raise TopicDeletionDisabled(
            "Topic deletion is disabled", hint="delete.topic.enable is false on the brokers"
        )


def _refuse_name_and_id(request: DeleteRequest) -> None:
    if (request.name is None) == (request.topic_id is None):
        raise DuplicateInRequest(
            f"delete by name or by id, not {request.name!r} and {request.topic_id!r}"
        )


def _refuse_repeated(request: DeleteRequest, times: int) -> None:
    if times > 1:
        named = request.name or request.topic_id
        raise DuplicateInRequest(f"the request deletes topic {named!r} more than once")


def _target(request: DeleteRequest, view: ClusterView) -> str | None:
    if request.topic_id is None:
        return request.name
    return view.topic_ids.get(request.topic_id, request.topic_id)


def _name_of(request: DeleteRequest, view: ClusterView) -> str:
    _refuse_name_and_id(request)
    if request.topic_id is None:
        return request.name or ""
    if request.topic_id not in view.topic_ids:
        raise UnknownTopicId(f"No topic has the id {request.topic_id}")
    return view.topic_ids[request.topic_id]
