"""Collects requests to brokers in a batch, and sends them in Kafka's sequence.

A batch collects, per broker, LeaderAndIsr and StopReplica entries, and one UpdateMetadata content
for a set of brokers. It is sent as LeaderAndIsr, then UpdateMetadata, then StopReplica, to
registered brokers only.

- The same partition twice for one broker: the later entry wins, but "new" and "delete" stay.
- Any LeaderAndIsr also adds its partition to the UpdateMetadata of all registered brokers, even if
  it has no recipient.
- Contents are computed when they are added: a StopReplica added before an ISR change has the epoch
  from before it.
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

# from this version on StopReplica has epochs, and a deletion flag for each partition
_STOP_REPLICA_PER_PARTITION = 3


class RequestBatch:
    """The requests of one step of a script."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._leader_and_isr_entries: dict[BrokerId, dict[TopicPartition, LeaderAndIsrEntry]] = {}
        self._stop_entries: dict[BrokerId, dict[TopicPartition, StopEntry]] = {}
        self._metadata_entries: dict[TopicPartition, MetadataEntry] = {}
        self._metadata_recipients: set[BrokerId] = set()
        # entries of `add_leader_and_isr_to`, shared by all brokers of a partition
        self._shared_entries: dict[TopicPartition, LeaderAndIsrEntry] = {}

    # ---- collecting ---------------------------------------------------------------------------

    def add_leader_and_isr(
        self, brokers: Iterable[BrokerId], tp: TopicPartition, *, is_new: bool
    ) -> None:
        """Add LeaderAndIsr for a partition, which must have a leadership."""
        context = self._context
        leadership = context.leaderships[tp]
        entry = LeaderAndIsrEntry(leadership, context.assignment(tp), is_new)
        for broker in brokers:
            entries = self._leader_and_isr_entries.setdefault(broker, {})
            before = entries.get(tp)
            stays_new = before is not None and before.is_new
            entries[tp] = entry._replace(is_new=True) if stays_new else entry
        self._metadata_recipients.update(context.registered)
        self._set_metadata(tp, leadership)

    def add_leader_and_isr_to(self, broker: BrokerId, partitions: Iterable[TopicPartition]) -> None:
        """Add LeaderAndIsr (not new) to one broker for many partitions; skip those without a
        leadership.
        """
        known, share = self._shared_entries.get, self._shared_entry
        if broker in self._leader_and_isr_entries:
            for tp in partitions:
                if tp in self._context.leaderships:
                    self.add_leader_and_isr((broker,), tp, is_new=False)
            return
        entries = {tp: entry for tp in partitions if (entry := known(tp) or share(tp)) is not None}
        if entries:
            self._leader_and_isr_entries[broker] = entries
            self._metadata_recipients.update(self._context.registered)

    def _shared_entry(self, tp: TopicPartition) -> LeaderAndIsrEntry | None:
        """Return one entry for all brokers of a partition, and add its metadata."""
        leadership = self._context.leaderships.get(tp)
        if leadership is None:
            return None
        entry = LeaderAndIsrEntry(leadership, self._context.assignments[tp], False)
        self._shared_entries[tp] = entry
        self._set_metadata(tp, leadership)
        return entry

    def add_all_leader_and_isr(
        self, partitions: Iterable[TopicPartition], to: Iterable[BrokerId]
    ) -> None:
        """Add LeaderAndIsr (not new) to those of each partition's brokers that are listed.

        A new controller sends it. The loop is over partitions, not brokers, because the values of a
        partition are adjacent in memory.
        """
        leaderships, assignments = self._context.leaderships, self._context.assignments
        entries_by_broker = {broker: self._leader_and_isr_entries.pop(broker, {}) for broker in to}
        for tp in partitions:
            leadership = leaderships.get(tp)
            if leadership is not None:
                assignment = assignments[tp]
                entry = LeaderAndIsrEntry(leadership, assignment, False)
                reached = [broker for broker in assignment.replicas if broker in entries_by_broker]
                for broker in reached:
                    entries_by_broker[broker][tp] = entry
                if reached:
                    self._set_metadata(tp, leadership)
        self._leader_and_isr_entries.update(
            (broker, entries) for broker, entries in entries_by_broker.items() if entries
        )
        if self._leader_and_isr_entries:
            self._metadata_recipients.update(self._context.registered)

    def invalidate(self, tp: TopicPartition) -> None:
        """Drop the shared entry of a partition whose assignment has changed."""
        self._shared_entries.pop(tp, None)

    def add_stop_replica(self, broker: BrokerId, tp: TopicPartition, *, delete: bool) -> None:
        """Add StopReplica, with the current leader epoch."""
        entries = self._stop_entries.setdefault(broker, {})
        before = entries.get(tp)
        kept = before is not None and before.delete
        entries[tp] = StopEntry(self._stop_epoch(tp), delete or kept)

    def add_metadata(
        self, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition]
    ) -> None:
        """Add UpdateMetadata; partitions without a leadership are skipped."""
        self._metadata_recipients.update(brokers)
        leaderships = self._context.leaderships
        for tp in partitions:
            leadership = leaderships.get(tp)
            if leadership is not None:
                self._set_metadata(tp, leadership)

    def add_metadata_to_all(self, partitions: Iterable[TopicPartition]) -> None:
        """Add UpdateMetadata to every registered broker."""
        self.add_metadata(self._context.registered, partitions)

    def _set_metadata(self, tp: TopicPartition, leadership: Leadership) -> None:
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
        self._metadata_entries[tp] = MetadataEntry(leadership, replicas, offline)

    def _stop_epoch(self, tp: TopicPartition) -> int:
        if tp.topic in self._context.topics_to_be_deleted:
            return DELETED_EPOCH
        leadership = self._context.leaderships.get(tp)
        return NO_EPOCH if leadership is None else leadership.leader_epoch

    # ---- sending ------------------------------------------------------------------------------

    def send(self) -> Script[None]:
        """Send the collected requests, if there are any."""
        requests = self.requests()
        if requests:
            yield Send(requests)

    def requests(self) -> list[BrokerRequest]:
        """Return the requests in sending sequence; unregistered brokers get none."""
        versions = request_versions(self._context.settings.ibp)
        return [
            *self._leader_and_isr(versions.leader_and_isr),
            *self._update_metadata(versions),
            *self._stop_replica(versions.stop_replica),
        ]

    def _leader_and_isr(self, version: int) -> Iterable[BrokerRequest]:
        registered, topic_ids = self._context.registered, self._ids()
        for to in sorted(b for b in self._leader_and_isr_entries if b in registered):
            entries = self._leader_and_isr_entries[to]
            leaders = sorted({entry.leadership.leader for entry in entries.values()})
            live = tuple(registered[b].broker for b in leaders if b in registered)
            yield LeaderAndIsr(to, version, self._sender(to), entries, topic_ids, live)

    def _update_metadata(self, versions: RequestVersions) -> Iterable[BrokerRequest]:
        registered = self._context.registered
        recipients = sorted(b for b in self._metadata_recipients if b in registered)
        if not recipients:
            return
        all_brokers = tuple(registered[b].broker for b in sorted(registered))
        topic_ids, version = self._ids(), versions.update_metadata
        for to in recipients:
            yield UpdateMetadata(
                to, version, self._sender(to), self._metadata_entries, topic_ids, all_brokers
            )

    def _stop_replica(self, version: int) -> Iterable[BrokerRequest]:
        registered = self._context.registered
        for to in sorted(b for b in self._stop_entries if b in registered):
            for entries in split_for_version(self._stop_entries[to], version):
                yield StopReplica(to, version, self._sender(to), entries)

    def _sender(self, to: BrokerId) -> Sender:
        context = self._context
        return Sender(context.me, context.epoch, context.registered[to].epoch)

    def _ids(self) -> Mapping[str, str]:
        """Return the ids of all topics in the batch: UpdateMetadata names all of them."""
        known = self._context.topic_ids
        named = {tp.topic for tp in self._metadata_entries}
        return {topic: known[topic] for topic in named if topic in known}


def split_for_version(
    entries: dict[TopicPartition, StopEntry], version: int
) -> list[dict[TopicPartition, StopEntry]]:
    """Return the entries of each request: old versions have one flag per request and no epochs."""
    if version >= _STOP_REPLICA_PER_PARTITION:
        return [entries]
    plain = {tp: StopEntry(NO_EPOCH, entry.delete) for tp, entry in entries.items()}
    groups = [{tp: e for tp, e in plain.items() if e.delete is delete} for delete in (True, False)]
    return [group for group in groups if group]


def send_metadata(
    context: Context, brokers: Iterable[BrokerId], partitions: Iterable[TopicPartition]
) -> Script[None]:
    """Send one UpdateMetadata."""
    batch = RequestBatch(context)
    batch.add_metadata(brokers, partitions)
    yield from batch.send()
