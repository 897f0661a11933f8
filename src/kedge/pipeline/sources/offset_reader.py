"""Reads offsets of partitions and committed offsets of groups from a live cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from kedge.cluster.access import access_from
from kedge.cluster.librdkafka_settings import librdkafka_settings
from kedge.errors import ClusterUnavailable

TIMEOUT_S: Final = 30.0
Offsets = dict[str, dict[str, int | None]]  # topic, then partition; None: the leader did not answer
GroupOffsets = dict[str, dict[str, Any]]  # group, then topic and partition; or its error


class OffsetReader(Protocol):
    """Tells offsets of a cluster."""

    def offsets(self, partitions: Mapping[str, Sequence[int]], *, end: bool) -> Offsets:
        """The end or start offset of each partition."""
        ...

    def committed(self) -> GroupOffsets:
        """The committed offsets of all groups."""
        ...


class KafkaOffsets:
    """Offsets over Kafka's protocol: ListOffsets, ListGroups and OffsetFetch."""

    def __init__(self, bootstrap: str, settings: Mapping[str, str]) -> None:
        admin: Any = import_module("confluent_kafka.admin")
        self._kafka: Any = import_module("confluent_kafka")
        self._spec: Any = admin.OffsetSpec
        self._client: Any = admin.AdminClient(
            librdkafka_settings(bootstrap, access_from(dict(settings)))
        )

    def offsets(self, partitions: Mapping[str, Sequence[int]], *, end: bool) -> Offsets:
        """The end or start offset of each partition."""
        spec = self._spec.latest() if end else self._spec.earliest()
        wanted = {
            self._kafka.TopicPartition(topic, partition): spec
            for topic, ids in partitions.items()
            for partition in ids
        }
        found: Offsets = {topic: {} for topic in partitions}
        if not wanted:
            return found
        answers = self._client.list_offsets(wanted, request_timeout=TIMEOUT_S)
        for tp, answer in answers.items():
            try:
                offset: int | None = int(answer.result().offset)
            except self._kafka.KafkaException:
                offset = None
            found[tp.topic][str(tp.partition)] = offset
        return found

    def committed(self) -> GroupOffsets:
        """The committed offsets of all groups."""
        try:
            listed = self._client.list_consumer_groups(request_timeout=TIMEOUT_S).result()
        except self._kafka.KafkaException as error:
            raise ClusterUnavailable(f"no list of groups: {error.args[0].str()}") from error
        found: GroupOffsets = {}
        for group in sorted(one.group_id for one in listed.valid):
            found[group] = self._of_group(group)
        return found

    def _of_group(self, group: str) -> dict[str, Any]:
        request = self._kafka.ConsumerGroupTopicPartitions(group)
        answer = self._client.list_consumer_group_offsets([request], request_timeout=TIMEOUT_S)
        try:
            partitions = answer[group].result().topic_partitions
        except self._kafka.KafkaException as error:
            return {"error": error.args[0].str()}
        offsets: dict[str, dict[str, int]] = {}
        for one in partitions:
            if one.error is None and one.offset >= 0:
                offsets.setdefault(one.topic, {})[str(one.partition)] = one.offset
        return offsets
