"""Orders about topics: judged and written on the store's thread, then waited for in the image."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from kedge.endpoint.backend import Charging, CreatedTopic, DeletedTopic
from kedge.endpoint.base import TOGETHER, Base, Surroundings, batched
from kedge.endpoint.images import CachedTopic
from kedge.endpoint.settings import ClusterSettings
from kedge.endpoint.stored_configs import TopicEntries
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
        """Create topics, and wait until all their partitions are led. Many are written in pieces:
        others use the store in between, and what has not begun when the time is up never does."""
        deadline = _Deadline(timeout_ms)
        creation = await self.thread.run(
            partial(
                self.topics.begin_creation,
                requests,
                self.image(node),
                validate_only=validate_only,
            )
        )
        write = partial(self.topics.create_some, creation, charge=charge)
        written: list[WrittenTopic | KedgeError] = []
        for some in batched(requests, TOGETHER):
            if written and deadline.is_over:
                written += [_not_begun(request.name, timeout_ms) for request in some]
            else:
                written += await self.thread.run(partial(write, some))
        late: Mapping[str, KedgeError] = {}
        if not validate_only:
            made = [each.topic for each in written if isinstance(each, WrittenTopic)]
            wanted = {topic.name: topic.assignment.keys() for topic in made}
            late = await self._until_led(node, wanted, deadline.left_ms)
        entries = TopicEntries(creation.view)
        return [
            each
            if isinstance(each, KedgeError)
            else late.get(each.topic.name) or _created(each, entries)
            for each in written
        ]

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

        left = list(wanted)

        def all_led() -> bool:
            # what is led once counts: every look begins where the last one ended
            topics = self.image(node).topics
            while left and _is_led(topics.get(left[-1]), wanted[left[-1]]):
                left.pop()
            return not left

        if timeout_ms > 0:
            await self.waiting.until(all_led, timeout_ms)
        topics = self.image(node).topics
        late = [t for t in left if timeout_ms <= 0 or not _is_led(topics.get(t), wanted[t])]
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


def _is_led(known: CachedTopic | None, partitions: Collection[int]) -> bool:
    return known is not None and all(map(known.has_leader, partitions))


def _not_begun(topic: str, timeout_ms: int) -> KedgeError:
    return RequestTimedOut(
        f"topic {topic} was not begun within {timeout_ms} ms",
        hint="it was not created; ask again, for fewer topics or with more time",
    )


def _created(written: WrittenTopic, entries: TopicEntries) -> CreatedTopic:
    topic = written.topic
    counts = topic.partitions, topic.replication_factor
    return CreatedTopic(topic.name, written.topic_id, *counts, entries.of(topic.configs))


class _Deadline:
    """When a request's time is up. A request that gives no time at all does not wait."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._end_s = time.monotonic() + timeout_ms / 1000

    @property
    def left_ms(self) -> int:
        if self._timeout_ms <= 0:
            return 0
        return max(1, int((self._end_s - time.monotonic()) * 1000))

    @property
    def is_over(self) -> bool:
        return self._timeout_ms > 0 and time.monotonic() > self._end_s
