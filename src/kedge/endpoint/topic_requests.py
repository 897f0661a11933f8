"""Requests to create, expand and delete topics: written to the store, then awaited in the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kedge.endpoint.cluster_access import ClusterAccess
from kedge.endpoint.config_requests import TopicEntries
from kedge.endpoint.metadata_caches import CachedTopic, MetadataCache
from kedge.endpoint.threads import chunks
from kedge.errors import (
    KedgeError,
    LeaderNotAvailable,
    PolicyViolation,
    RequestTimedOut,
    TopicExists,
    UnknownTopicOrPartition,
)
from kedge.model import BrokerId
from kedge.store.znodes import TopicAssignment
from kedge.topic_changes import TopicChanges, WrittenTopic
from kedge.topics import (
    ClusterView,
    CreateRequest,
    DeleteRequest,
    ExpandRequest,
    new_topic_id,
    validate_auto_create,
)

Charging = Callable[[int], None]  # takes tokens for so many partitions, or raises QuotaExceeded


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    """A topic that is deleted, or marked for deletion."""

    name: str
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class CreatedTopics:
    """The answers to CreateTopics, and what describes the configs of those created."""

    answers: list[WrittenTopic | KedgeError]
    entries: TopicEntries


class TopicRequests:
    """Create, expand, delete."""

    def __init__(self, cluster: ClusterAccess) -> None:
        self._cluster = cluster
        self._in_creation: set[str] = set()

    def _changes(self, cache: MetadataCache) -> TopicChanges:
        """Changes that are validated against a node's cache and the store."""
        cluster = self._cluster
        return TopicChanges(
            cluster.store.batch,
            partial(cluster.views.for_topics, cache),
            draw=cluster.rng.draw,
            new_id=lambda: new_topic_id(cluster.rng.draw_bytes),
            policy=cluster.settings.create_policy,
        )

    # ---- create -------------------------------------------------------------------------------

    async def create(
        self,
        node: BrokerId,
        requests: Sequence[CreateRequest],
        *,
        timeout_ms: int,
        validate_only: bool,
        charge: Charging,
    ) -> CreatedTopics:
        """Create topics, and wait until all their partitions have leaders. Many are written in
        chunks: other requests use the store in between, and a chunk that was not begun when the
        time is up is not written."""
        deadline = _Deadline(timeout_ms)
        self._refuse_too_many(len(r.assignments) or r.partitions for r in requests)
        changes = self._changes(self._cluster.cache(node))
        creation = await self._cluster.thread.run(
            partial(changes.begin_creation, requests, validate_only=validate_only)
        )
        write = partial(changes.create_some, creation, charge=charge)
        written: list[WrittenTopic | KedgeError] = []
        for some in chunks(requests):
            if written and deadline.is_over:
                written += [_not_begun(request.name, timeout_ms) for request in some]
            else:
                written += await self._cluster.thread.run(partial(write, some))
        late: Mapping[str, KedgeError] = {}
        if not validate_only:
            made = [each.topic for each in written if isinstance(each, WrittenTopic)]
            wanted = {topic.name: topic.assignment.keys() for topic in made}
            late = await self._wait_for_leaders(node, wanted, deadline.left_ms)
        answers = [
            each if isinstance(each, KedgeError) else late.get(each.topic.name) or each
            for each in written
        ]
        return CreatedTopics(answers, TopicEntries(creation.view))

    async def auto_create(
        self,
        node: BrokerId,
        topics: Collection[str],
        *,
        client_allows: bool,
        for_coordinator: bool,
        charge: Charging,
    ) -> Mapping[str, KedgeError]:
        """Create unknown topics that a client named, where that is allowed; the error with
        which each is answered."""
        wanted: list[CreateRequest] = []
        refusals: dict[str, KedgeError] = {}
        settings = self._cluster.settings
        nothing = ClusterView(defaults=settings.defaults)
        for topic in topics:
            try:
                request = validate_auto_create(
                    topic,
                    nothing,
                    settings.auto_create,
                    client_allows=client_allows,
                    for_coordinator=for_coordinator,
                    in_flight=self._in_creation,
                )
                wanted += [request] if request is not None else []
            except KedgeError as refusal:
                refusals[topic] = refusal
        return refusals | await self._create_without_waiting(node, wanted, charge)

    async def _create_without_waiting(
        self, node: BrokerId, wanted: Sequence[CreateRequest], charge: Charging
    ) -> dict[str, KedgeError]:
        """Create topics; the error with which each is answered. Nodes other than the controller
        pass such a request on in Kafka, and answer that the topic is unknown."""
        if not wanted:
            return {}
        names, changes = {r.name for r in wanted}, self._changes(self._cluster.cache(node))
        self._in_creation |= names
        try:
            self._refuse_too_many(r.partitions for r in wanted)
            answers = await self._cluster.thread.run(partial(changes.create, wanted, charge=charge))
        except KedgeError as refusal:
            answers = [refusal for _ in wanted]
        finally:
            self._in_creation -= names
        answered = _by_controller if self._cluster.is_controller(node) else _by_others
        return {r.name: answered(r.name, a) for r, a in zip(wanted, answers, strict=True)}

    # ---- expand -------------------------------------------------------------------------------

    async def expand(
        self,
        node: BrokerId,
        requests: Sequence[ExpandRequest],
        *,
        timeout_ms: int,
        validate_only: bool,
        charge: Charging,
    ) -> list[TopicAssignment | KedgeError]:
        """Add partitions, and wait until they have leaders."""
        self._refuse_too_many(request.total for request in requests)
        changes = self._changes(self._cluster.cache(node))
        answers = await self._cluster.thread.run(
            partial(changes.expand, requests, validate_only=validate_only, charge=charge)
        )
        late: Mapping[str, KedgeError] = {}
        if not validate_only:
            wanted = {
                request.topic: each.partitions.keys()
                for request, each in zip(requests, answers, strict=True)
                if not isinstance(each, KedgeError)
            }
            late = await self._wait_for_leaders(node, wanted, timeout_ms)
        return [
            each if isinstance(each, KedgeError) else late.get(request.topic, each)
            for request, each in zip(requests, answers, strict=True)
        ]

    async def _wait_for_leaders(
        self, node: BrokerId, wanted: Mapping[str, Collection[int]], timeout_ms: int
    ) -> dict[str, KedgeError]:
        """Wait until every partition has a leader; an error for each topic that came too late.
        Without time all of them are late, whether they have leaders or not, as in Kafka."""
        left = list(wanted)

        def all_have_leaders() -> bool:
            # a topic that had its leaders once counts: each check starts where the last one ended
            topics = self._cluster.cache(node).topics
            while left and _has_leaders(topics.get(left[-1]), wanted[left[-1]]):
                left.pop()
            return not left

        if timeout_ms > 0:
            await self._cluster.changes.wait_until(all_have_leaders, timeout_ms)
        topics = self._cluster.cache(node).topics
        late = [t for t in left if timeout_ms <= 0 or not _has_leaders(topics.get(t), wanted[t])]
        return {t: RequestTimedOut(f"topic {t} does not have all its leaders yet") for t in late}

    def _refuse_too_many(self, counts: Iterable[int]) -> None:
        """Refuse the whole request, before anything is placed."""
        total, most = sum(max(0, count) for count in counts), self._cluster.settings.partitions_max
        if total > most:
            raise PolicyViolation(f"{total} partitions in one request", hint=f"at most {most}")

    # ---- delete -------------------------------------------------------------------------------

    async def delete(
        self,
        node: BrokerId,
        requests: Sequence[DeleteRequest],
        *,
        timeout_ms: int,
        charge: Charging,
    ) -> list[DeletedTopic | KedgeError]:
        """Delete topics, and wait until the node's cache does not have them any more."""
        cache = self._cluster.cache(node)
        changes = self._changes(cache)

        def charge_for(topic: str) -> None:
            charge(len(cache.topics[topic].partitions))

        validated = await self._cluster.thread.run(
            partial(changes.delete, requests, charge=charge_for)
        )
        answers = [
            each
            if isinstance(each, KedgeError)
            else DeletedTopic(each.name, cache.topics[each.name].topic_id)
            for each in validated
        ]
        marked = [each for each in answers if isinstance(each, DeletedTopic)]

        def gone(topic: DeletedTopic) -> bool:
            known = self._cluster.cache(node).topics.get(topic.name)
            return known is None or known.topic_id != topic.topic_id

        if timeout_ms > 0:
            await self._cluster.changes.wait_until(lambda: all(map(gone, marked)), timeout_ms)
        late = {topic.name for topic in marked if timeout_ms <= 0 or not gone(topic)}
        return [
            RequestTimedOut(f"topic {each.name} is still being deleted")
            if isinstance(each, DeletedTopic) and each.name in late
            else each
            for each in answers
        ]


def _by_controller(topic: str, answer: object) -> KedgeError:
    """The controller's answer: a topic that exists or was created now has no leader yet."""
    if isinstance(answer, KedgeError) and not isinstance(answer, TopicExists):
        return answer
    return LeaderNotAvailable(f"topic {topic} is being created", hint="try again")


def _by_others(topic: str, _answer: object) -> KedgeError:
    """The answer of any other node."""
    return UnknownTopicOrPartition(f"no topic {topic!r} yet", hint="try again")


def _has_leaders(known: CachedTopic | None, partitions: Collection[int]) -> bool:
    return known is not None and all(map(known.has_leader, partitions))


def _not_begun(topic: str, timeout_ms: int) -> KedgeError:
    return RequestTimedOut(
        f"the creation of topic {topic} did not begin within {timeout_ms} ms",
        hint="it was not created; try again, with fewer topics or more time",
    )


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
