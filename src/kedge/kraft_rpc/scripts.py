"""What handlers of requests have in common."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Mapping
from typing import Any, Protocol, TypeAlias

from kedge.metadata import ApiError, Image, Settings
from kedge.model.error_codes import ErrorCode
from kedge.quorum.node import Node
from kedge.quorum.values import EpochOffset
from kedge.topics import decode_id, encode_id

Script: TypeAlias = Generator[Any, Any, Any]
Handler: TypeAlias = Callable[..., Any]
Handlers: TypeAlias = Mapping[int, Handler]  # by key of the request

NO_ID = uuid.UUID(int=0)


class Served(Protocol):
    """What a handler may look at: the committed state of a controller."""

    @property
    def stable(self) -> Image: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def node(self) -> Node: ...
    @property
    def applied(self) -> EpochOffset: ...
    @property
    def is_active(self) -> bool: ...
    @property
    def properties(self) -> Mapping[str, str]:
        """`server.properties` of this node."""
        ...

    def read(self, request: Any) -> Any:
        """The answer to a request that only reads."""
        ...


def code_of(answer: Any) -> ErrorCode:
    """The error of an answer; NONE for one that is no refusal."""
    return answer.code if isinstance(answer, ApiError) else ErrorCode.NONE


def message_of(answer: Any) -> str | None:
    """The text of a refusal."""
    return answer.message if isinstance(answer, ApiError) else None


def wire_id(text: str | None) -> uuid.UUID:
    """An id as a UUID; zero where there is none."""
    return NO_ID if text is None else uuid.UUID(bytes=decode_id(text))


def text_id(sent: uuid.UUID | None) -> str | None:
    """A UUID as 22 letters; None where there is none."""
    return None if sent is None or sent == NO_ID else encode_id(sent.bytes)
