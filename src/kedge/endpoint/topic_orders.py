"""Orders about topics: judged and written on the store's thread, then waited for in the image."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kedge.endpoint.backend import Charging, CreatedTopic, DeletedTopic
from kedge.endpoint.base import Base, Surroundings
from kedge.endpoint.images import Image
from kedge.endpoint.settings import ClusterSettings
from kedge.endpoint.stored_topics import Luck, WrittenTopic
from kedge.errors import (
    KedgeError,
    LeaderNotAvailable,
    RequestTimedOut,
    TopicExists,
    UnknownTopicOrPartition,
)
from kedge.model import BrokerId
from kedge.topics import (
    ClusterView,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    judge_auto_create,
)


class TopicOrders(Base):
    """Create, expand, delete."""

    def __init__(
        self,
        around: Surroundings,
        *,
        settings: ClusterSettings | None = None,
        luck: Luck | None = None,
    ) -> None:
        super().__init__(around, settings=settings, luck=luck)
        self._in_creation: set[str] = set()

    async def create_topics(
        self,
        node: BrokerId,
        requests: Sequence[CreateRequest],
        *,
        timeout_ms: int,
        validate_only: bool,
        charge: Charging,
    ) -> list[CreatedTopic | KedgeError]:
        """Create topics, and wait until all their partitions are led."""
        image = self.image(node)

        def work() -> tuple[list[WrittenTopic | KedgeError], list[CreatedTopic | KedgeError]]:
            written = self.topics.create(
                requests, image, validate_only=validate_only, charge=charge
            )
            return written, self._created(written, image)

        written, answers = await self.thread.run(work)
        if validate_only:
            return answers
        wanted = {
            each.topic.name: each.topic.assignment.keys()
            for each in written
            if isinstance(each, WrittenTopic)
        }
        late = await self._until_led(node, wanted, timeout_ms)
        return [late.get(a.name, a) if isinstance(a, CreatedTopic) else a for a in answers]

    def _created(
        self, written: Sequence[WrittenTopic | KedgeError], image: Image
    ) -> list[CreatedTopic | KedgeError]:
        if not any(isinstance(each, WrittenTopic) for each in written):
            return [each for each in written if isinstance(each, KedgeError)]
        view = self.views.of_topics(image)
        return [
            each if isinstance(each, KedgeError) else self._created_one(each, view)
            for each in written
        ]

    def _created_one(self, written: WrittenTopic, view: ClusterView) -> CreatedTopic:
        topic = written.topic
        entries = self.configs.topic_entries(topic.configs, view)
        counts = topic.partitions, topic.replication_factor
        return CreatedTopic(topic.name, written.topic_id, *counts, entries)

    async def auto_create(
        self,
        node: BrokerId,
        topics: Collection[str],
        *,
        client_allows: bool,
        for_coordinator: bool,
        charge: Charging,
    ) -> Mapping[str, KedgeError]:
        """Have unknown topics made because somebody asked for them; what to tell the client."""
        wanted: list[CreateRequest] = []
        refusals: dict[str, KedgeError] = {}
        nothing = ClusterView(defaults=self.settings.defaults)
        for topic in topics:
            try:
                request = judge_auto_create(
                    topic,
                    nothing,
                    self.settings.auto_create,
                    client_allows=client_allows,
                    for_coordinator=for_coordinator,
                    in_flight=self._in_creation,
                )
                wanted += [request] if request is not None else []
            except KedgeError as refusal:
                refusals[topic] = refusal
        return refusals | await self._create_for(node, wanted, charge)

    async def _create_for(
        self, node: BrokerId, wanted: Sequence[CreateRequest], charge: Charging
    ) -> dict[str, KedgeError]:
        """Create without waiting. Nodes other than the controller pass such a wish on, and can
        only say that they know no such topic."""
        if not wanted:
            return {}
        names, image = {request.name for request in wanted}, self.image(node)
        self._in_creation |= names
        try:
            answers = await self.thread.run(
                lambda: self.topics.create(wanted, image, validate_only=False, charge=charge)
            )
        except KedgeError as refusal:
            answers = [refusal for _ in wanted]
        finally:
            self._in_creation -= names
        told = _told_by_controller if self.is_controller(node) else _told_by_others
        return {r.name: told(r.name, a) for r, a in zip(wanted, answers, strict=True)}

    async def create_partitions(
        self,
        node: BrokerId,
        requests: Sequence[ExpandRequest],
        *,
        timeout_ms: int,
        validate_only: bool,
        charge: Charging,
    ) -> list[str | KedgeError]:
        """Add partitions, and wait until they are led."""
        image = self.image(node)
        answers = await self.thread.run(
            lambda: self.topics.expand(requests, image, validate_only=validate_only, charge=charge)
        )
        judged = dict(zip((r.topic for r in requests), answers, strict=True))
        late: Mapping[str, KedgeError] = {}
        if not validate_only:
            wanted = {
                topic: each.partitions.keys()
                for topic, each in judged.items()
                if not isinstance(each, KedgeError)
            }
            late = await self._until_led(node, wanted, timeout_ms)
        return [
            each if isinstance(each, KedgeError) else late.get(request.topic, request.topic)
            for request, each in zip(requests, answers, strict=True)
        ]

    async def _until_led(
        self, node: BrokerId, wanted: Mapping[str, Collection[int]], timeout_ms: int
    ) -> dict[str, KedgeError]:
        """Wait until every partition has a leader; the topics that came too late. Whoever gives
        no time at all is told so, whatever came of it."""

        def led(topic: str) -> bool:
            known = self.image(node).topics.get(topic)
            return known is not None and all(map(known.has_leader, wanted[topic]))

        if timeout_ms > 0:
            await self.waiting.until(lambda: all(map(led, wanted)), timeout_ms)
        late = [topic for topic in wanted if timeout_ms <= 0 or not led(topic)]
        return {t: RequestTimedOut(f"topic {t} has not got all its leaders yet") for t in late}

    async def delete_topics(
        self,
        node: BrokerId,
        requests: Sequence[DeleteRequest],
        *,
        timeout_ms: int,
        charge: Charging,
    ) -> list[DeletedTopic | KedgeError]:
        """Delete topics, and wait until the node does not know them any more."""
        image = self.image(node)
        answers = await self.thread.run(lambda: self.topics.delete(requests, image, charge=charge))
        marked = [each for each in answers if isinstance(each, DeletedTopic)]

        def gone(topic: DeletedTopic) -> bool:
            known = self.image(node).topics.get(topic.name)
            return known is None or known.topic_id != topic.topic_id

        if timeout_ms > 0:
            await self.waiting.until(lambda: all(map(gone, marked)), timeout_ms)
        late = {topic.name for topic in marked if timeout_ms <= 0 or not gone(topic)}
        return [
            RequestTimedOut(f"topic {each.name} is not gone yet")
            if isinstance(each, DeletedTopic) and each.name in late
            else each
            for each in answers
        ]


def _told_by_controller(topic: str, answer: object) -> KedgeError:
    """A topic that is there or coming has no leader yet; anything else is told as it is."""
    if isinstance(answer, KedgeError) and not isinstance(answer, TopicExists):
        return answer
    return LeaderNotAvailable(f"topic {topic} is being created", hint="ask again")


def _told_by_others(topic: str, _answer: object) -> KedgeError:
    return UnknownTopicOrPartition(f"no topic {topic!r} yet", hint="ask again")
