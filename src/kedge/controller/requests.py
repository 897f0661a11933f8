"""Collecting what brokers are to be told, and saying it in the right order.

A batch gathers, per broker, LeaderAndIsr and StopReplica entries, and one UpdateMetadata content
for a set of brokers. It goes out as LeaderAndIsr, then UpdateMetadata, then StopReplica, to
registered brokers only.

- The same partition twice for one broker: the later entry wins, but "new" and "delete" stay.
- Any LeaderAndIsr also puts its partition into the UpdateMetadata of all registered brokers, even
  if there was nobody to send it to.
- Contents are computed when they are added: a StopReplica added before an ISR change carries the
  epoch from before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kedge.controller.context import Context
from kedge.controller.effects import Script, Send
from kedge.controller.settings import RequestVersions, request_versions
from kedge.model import BrokerId, Leadership, TopicPartition
from kedge.model.broker_requests import (
    DELETED_EPOCH,
    DELETED_LEADER,
    NO_EPOCH,
    BrokerRequest,
    LeaderAndIsr,
    LeaderAndIsrEntry,
    MetadataEntry,
    Sender,
    StopEntry,
    StopReplica,
    UpdateMetadata,
)

# from this version on StopReplica carries epochs, and a choice of deletion for each partition
_STOP_BY_PARTITION = 3


class RequestBatch:
    """What one step of a script wants to tell brokers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lead: dict[BrokerId, dict[TopicPartition, LeaderAndIsrEntry]] = {}
        self._stop: dict[BrokerId, dict[TopicPartition, StopEntry]] = {}
        self._metadata: dict[TopicPartition, MetadataEntry] = {}
        self._metadata_to: set[BrokerId] = set()
        # entries of `lead_again`, one for all brokers of a partition
        self._shared: dict[TopicPartition, LeaderAndIsrEntry] = {}

    # ---- gathering ----------------------------------------------------------------------------

    def lead(self, brokers: Iterable[BrokerId], tp: TopicPartition, *, is_new: bool) -> None:
        """LeaderAndIsr with what the context knows of a partition; it must have a leadership."""
        context = self._context
        leadership = context.leaderships[tp]
        entry = LeaderAndIsrEntry(leadership, context.assignment(tp), is_new)
        for broker in brokers:
            entries = self._lead.setdefault(broker, {})
            before = entries.get(tp)
            stays_new = before is not None and before.is_new
            entries[tp] = entry._replace(is_new=True) if stays_new else entry
        self._metadata_to.update(context.registered)
        self._describe(tp, leadership)

    def lead_again(self, broker: BrokerId, partitions: Iterable[TopicPartition]) -> None:
        """LeaderAndIsr (not new) to one broker for the partitions that have a leadership: what
        `lead` does, made for many."""
        known, share = self._shared.get, self._share
        if broker in self._lead:
            for tp in partitions:
                if tp in self._context.leaderships:
                    self.lead((broker,), tp, is_new=False)
            return
        entries = {tp: entry for tp in partitions if (entry := known(tp) or share(tp)) is not None}
        if entries:
            self._lead[broker] = entries
            self._metadata_to.update(self._context.registered)

    def _share(self, tp: TopicPartition) -> LeaderAndIsrEntry | None:
        """One entry for all brokers of a partition, with its part of UpdateMetadata."""
        leadership = self._context.leaderships.get(tp)
        if leadership is None:
            return None
        entry = LeaderAndIsrEntry(leadership, self._context.assignments[tp], False)
        self._shared[tp] = entry
        self._describe(tp, leadership)
        return entry

    def lead_all(self, partitions: Iterable[TopicPartition], to: Iterable[BrokerId]) -> None:
        """LeaderAndIsr (not new) to those of each partition's brokers that are listed.

        What a new controller says: it goes from partition to partition, not from broker to
        broker, because each partition's values lie together in memory.
        """
        leaderships, assignments = self._context.leaderships, self._context.assignments
        told = {broker: self._lead.pop(broker, {}) for broker in to}
        for tp in partitions:
            leadership = leaderships.get(tp)
            if leadership is not None:
                assignment = assignments[tp]
                entry = LeaderAndIsrEntry(leadership, assignment, False)
                reached = [broker for broker in assignment.replicas if broker in told]
                for broker in reached:
                    told[broker][tp] = entry
                if reached:
                    self._describe(tp, leadership)
        self._lead.update((broker, entries) for broker, entries in told.items() if entries)
        if self._lead:
            self._metadata_to.update(self._context.registered)

    def reassigned(self, tp: TopicPartition) -> None:
        """A partition's assignment has changed since it was added."""
        self._shared.pop(tp, None)

    def stop(self, broker: BrokerId, tp: TopicPartition, *, delete: bool) -> None:
        """StopReplica, with the leader epoch as it is known now."""
        entries = self._stop.setdefault(broker, {})
        before = entries.get(tp)
        kept = before is not None and before.delete
        entries[tp] = StopEntry(self._stop_epoch(tp), delete or kept)

    def metadata(self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition]) -> None:
        """UpdateMetadata; partitions without a leadership are skipped."""
        self._metadata_to.update(brokers)
        leaderships = self._context.leaderships
        for tp in partitions:
            leadership = leaderships.get(tp)
            if leadership is not None:
                self._describe(tp, leadership)

    def metadata_to_all(self, partitions: Iterable[TopicPartition]) -> None:
        """UpdateMetadata to every registered broker."""
        self.metadata(self._context.registered, partitions)

    def _describe(self, tp: TopicPartition, leadership: Leadership) -> None:
        context = self._context
        replicas = context.assignments[tp].replicas
        if tp.topic in context.topics_to_be_deleted:
            leadership = Leadership(
                DELETED_LEADER, leadership.isr, 0, 0, leadership.controller_epoch
            )
        offline: tuple[BrokerId, ...] = ()
        if context.offline_dirs or not context.live.issuperset(replicas):
            online = context.online_brokers(tp)
            offline = tuple([b for b in replicas if b not in online])
        self._metadata[tp] = MetadataEntry(leadership, replicas, offline)

    def _stop_epoch(self, tp: TopicPartition) -> int:
        if tp.topic in self._context.topics_to_be_deleted:
            return DELETED_EPOCH
        leadership = self._context.leaderships.get(tp)
        return NO_EPOCH if leadership is None else leadership.leader_epoch

    # ---- sending ------------------------------------------------------------------------------

    def send(self) -> Script[None]:
        """Order the requests gathered so far to be sent, if there are any."""
        requests = self.requests()
        if requests:
            yield Send(requests)

    def requests(self) -> list[BrokerRequest]:
        """The requests in the order of sending; brokers that are not registered get none."""
        versions = request_versions(self._context.settings.ibp)
        return [
            *self._leader_and_isr(versions.leader_and_isr),
            *self._update_metadata(versions),
            *self._stop_replica(versions.stop_replica),
        ]

    def _leader_and_isr(self, version: int) -> Iterable[BrokerRequest]:
        registered, topic_ids = self._context.registered, self._ids()
        for to in sorted(b for b in self._lead if b in registered):
            entries = self._lead[to]
            leaders = sorted({entry.leadership.leader for entry in entries.values()})
            live = tuple(registered[b].broker for b in leaders if b in registered)
            yield LeaderAndIsr(to, version, self._sender(to), entries, topic_ids, live)

    def _update_metadata(self, versions: RequestVersions) -> Iterable[BrokerRequest]:
        registered = self._context.registered
        recipients = sorted(b for b in self._metadata_to if b in registered)
        if not recipients:
            return
        everyone = tuple(registered[b].broker for b in sorted(registered))
        topic_ids, version = self._ids(), versions.update_metadata
        for to in recipients:
            yield UpdateMetadata(to, version, self._sender(to), self._metadata, topic_ids, everyone)

    def _stop_replica(self, version: int) -> Iterable[BrokerRequest]:
        registered = self._context.registered
        for to in sorted(b for b in self._stop if b in registered):
            for entries in split_for_version(self._stop[to], version):
                yield StopReplica(to, version, self._sender(to), entries)

    def _sender(self, to: BrokerId) -> Sender:
        context = self._context
        return Sender(context.me, context.epoch, context.registered[to].epoch)

    def _ids(self) -> Mapping[str, str]:
        """The ids of all topics named: what is in any LeaderAndIsr is in UpdateMetadata too."""
        known = self._context.topic_ids
        named = {tp.topic for tp in self._metadata}
        return {topic: known[topic] for topic in named if topic in known}


def split_for_version(
    entries: dict[TopicPartition, StopEntry], version: int
) -> list[dict[TopicPartition, StopEntry]]:
    """The entries of each request: old versions have one flag per request and know no epochs."""
    if version >= _STOP_BY_PARTITION:
        return [entries]
    plain = {tp: StopEntry(NO_EPOCH, entry.delete) for tp, entry in entries.items()}
    halves = [{tp: e for tp, e in plain.items() if e.delete is delete} for delete in (True, False)]
    return [half for half in halves if half]


def tell_metadata(
    context: Context, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition]
) -> Script[None]:
    """One UpdateMetadata by itself."""
    batch = RequestBatch(context)
    batch.metadata(brokers, partitions)
    yield from batch.send()
