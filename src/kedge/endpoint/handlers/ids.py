"""Topic ids: 22 letters of base64 in the store and in people's hands, a UUID on the wire."""

from __future__ import annotations

import uuid

from kedge.topics import TopicId, decode_id, encode_id

NO_ID = uuid.UUID(int=0)


def wire_id(topic_id: str | None) -> uuid.UUID:
    """The id as it is sent; zero where there is none."""
    return NO_ID if topic_id is None else uuid.UUID(bytes=decode_id(topic_id))


def text_id(sent: uuid.UUID | None) -> TopicId | None:
    """The id that was sent, None where there was none."""
    return None if sent is None or sent == NO_ID else encode_id(sent.bytes)
