"""Names of things: a broker's id, a topic's partition."""

from typing import NamedTuple, NewType

BrokerId = NewType("BrokerId", int)


class TopicPartition(NamedTuple):
    """One partition of one topic; sorts by topic, then by number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
