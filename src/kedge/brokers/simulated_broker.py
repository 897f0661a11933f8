"""A simulated broker without disk, socket or thread, which checks requests as real brokers do.

The order of its checks is that of a ZooKeeper-mode broker: its own epoch, the controller's epoch,
then per partition the directory, the topic's id, the leader epoch, the assignment and, without an
error, the partition epoch. Fetches, timers and ISR changes go through `Environment`, so the same
broker runs in virtual time and in real time.

One `SimulatedBroker` is one process; its `Disks` survive it. A restarted broker is a new
`SimulatedBroker` on the same disks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kedge.brokers.disks import Disks
from kedge.brokers.environment import Environment, FetchRequest, FetchResponse
from kedge.brokers.log import ReplicaLog
from kedge.brokers.partition_host import AckCallback, HostedPartition, Timings
from kedge.model import NO_LEADER, Broker, BrokerId, TopicPartition
from kedge.model.broker_requests import (
    DELETED_EPOCH,
    DELETED_LEADER,
    NO_EPOCH,
    BrokerAnswer,
    BrokerRequest,
    LeaderAndIsr,
    LeaderAndIsrEntry,
    MetadataEntry,
    Sender,
    StopEntry,
    StopReplica,
    UpdateMetadata,
)
from kedge.model.error_codes import ErrorCode

ANY_BROKER_EPOCH = -1
DEFAULT_TIMINGS = Timings()


class SimulatedBroker:
    """One process of a broker."""

    def __init__(
        self,
        broker: Broker,
        disks: Disks,
        environment: Environment,
        timings: Timings = DEFAULT_TIMINGS,
    ) -> None:
        self.broker = broker
        self.id = broker.id
        self.disks = disks
        self.environment = environment
        self.timings = timings
        self.epoch = 0  # of its registration; set by the cluster at each registration
        self.controller: BrokerId | None = None
        self.controller_epoch = 0
        self.live: frozenset[BrokerId] = frozenset()
        self.metadata: dict[TopicPartition, MetadataEntry] = {}
        self.hosted: dict[TopicPartition, HostedPartition] = {}
        self.halted = False
        for log in disks.held().values():
            log.restart()

    # ---- requests of the controller ----

    def handle(self, request: BrokerRequest) -> BrokerAnswer:
        """Check and execute a request."""
        error = self._check_epochs(request.sender)
        if error is not ErrorCode.NONE:
            return BrokerAnswer(error, _partition_errors(request, error))
        if isinstance(request, LeaderAndIsr):
            return BrokerAnswer(errors=self._lead_or_follow_all(request))
        if isinstance(request, StopReplica):
            stop = self._stop
            return BrokerAnswer(errors={tp: stop(tp, e) for tp, e in request.partitions.items()})
        self._update_metadata(request)
        return BrokerAnswer()

    def follow_image(
        self, partitions: Mapping[TopicPartition, LeaderAndIsrEntry], topic_ids: Mapping[str, str]
    ) -> None:
        """Take over what the metadata log says of this broker's partitions (KRaft).

        Unlike LeaderAndIsr, a change of ISR or replicas may come within a leader epoch, and a
        partition may have no leader.
        """
        for tp, entry in partitions.items():
            known = self.hosted.get(tp)
            now = entry.leadership
            if known is not None and now.leader == NO_LEADER:
                known.drop()
            elif known is not None and now.leader_epoch == known.leader_epoch:
                known.refresh(entry)
            else:
                self._lead_or_follow(tp, entry, topic_ids.get(tp.topic, ""))

    def _check_epochs(self, sender: Sender) -> ErrorCode:
        if sender.broker_epoch != ANY_BROKER_EPOCH and sender.broker_epoch < self.epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        if sender.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_epoch = sender.controller_epoch
        return ErrorCode.NONE

    def _lead_or_follow_all(self, request: LeaderAndIsr) -> dict[TopicPartition, ErrorCode]:
        ids = request.topic_ids
        return {
            tp: self._lead_or_follow(tp, entry, ids.get(tp.topic, ""))
            for tp, entry in request.partitions.items()
        }

    def _lead_or_follow(
        self, tp: TopicPartition, entry: LeaderAndIsrEntry, topic_id: str
    ) -> ErrorCode:
        log = self.disks.find(tp)
        if log is None and self._may_be_unreadable(tp, entry):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if log is not None and topic_id and log.topic_id and log.topic_id != topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID
        now = entry.leadership
        known = self.hosted.get(tp)
        if known is not None and now.leader_epoch <= known.leader_epoch:
            return _add_topic_id(known.log, topic_id, now.leader_epoch == known.leader_epoch)
        if self.id not in entry.assignment.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if known is None or known.partition_epoch <= now.partition_epoch:
            self._take_role(tp, entry, topic_id)
        return ErrorCode.NONE

    def _may_be_unreadable(self, tp: TopicPartition, entry: LeaderAndIsrEntry) -> bool:
        """Whether a log that was not found may be in a failed directory."""
        if self.disks.directory_of(tp) is not None:
            return True
        return bool(self.disks.failed) and not entry.is_new

    def _take_role(self, tp: TopicPartition, entry: LeaderAndIsrEntry, topic_id: str) -> None:
        log = self.disks.find(tp) or self.disks.create(tp, topic_id)
        log.topic_id = log.topic_id or topic_id
        leader = entry.leadership.leader
        if leader != self.id and leader not in self.live:
            # no live leader: the log is created, and the epoch stays open for the next request
            self.hosted.setdefault(tp, HostedPartition(self, tp, log))
            return
        hosted = self.hosted.setdefault(tp, HostedPartition(self, tp, log))
        hosted.lead(entry) if leader == self.id else hosted.follow(entry)

    def _stop(self, tp: TopicPartition, entry: StopEntry) -> ErrorCode:
        hosted = self.hosted.get(tp)
        unreadable = self.disks.directory_of(tp) in self.disks.failed
        if unreadable:
            return ErrorCode.KAFKA_STORAGE_ERROR
        checked = entry.leader_epoch not in (DELETED_EPOCH, NO_EPOCH)
        if checked and hosted is not None and entry.leader_epoch < hosted.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if hosted is not None:
            hosted.drop() if entry.delete else hosted.stop()
        if entry.delete:
            self.hosted.pop(tp, None)
            self.disks.delete(tp)
        return ErrorCode.NONE

    def _update_metadata(self, request: UpdateMetadata) -> None:
        self.controller = request.sender.controller
        self.live = frozenset(broker.id for broker in request.live_brokers)
        for tp, entry in request.partitions.items():
            if entry.leadership.leader == DELETED_LEADER:
                self.metadata.pop(tp, None)
            else:
                self.metadata[tp] = entry

    # ---- requests of clients and followers ----

    def produce(
        self, tp: TopicPartition, identity: int, size_bytes: int, acked: AckCallback
    ) -> bool:
        """Append a record with acks=all; False if it is rejected."""
        hosted = self.hosted.get(tp)
        return hosted is not None and hosted.produce(identity, size_bytes, acked)

    def serve_fetch(self, fetch: FetchRequest, reply: Callable[[FetchResponse], None]) -> None:
        """Respond to a follower's fetch request."""
        hosted = self.hosted.get(fetch.tp)
        if hosted is None:
            reply(FetchResponse(refused=True))
        else:
            hosted.serve_fetch(fetch, reply)

    # ---- timers and failures ----

    def tick(self) -> None:
        """Update ISRs and checkpoint high watermarks; called at half the lag time."""
        for tp in sorted(self.hosted):
            self.hosted[tp].maybe_change_isr()
        for log in self.disks.held().values():
            log.checkpoint = log.high_watermark

    def fail_directory(self, name: str) -> None:
        """Fail a directory: its replicas are offline until a restart."""
        self.disks.failed.add(name)
        for tp in sorted(self.disks.logs[name]):
            hosted = self.hosted.pop(tp, None)
            if hosted is not None:
                hosted.drop()
        self.environment.announce_failed_directory()

    def halt(self) -> None:
        """End the process; later callbacks have no effect."""
        self.halted = True


def _partition_errors(
    request: BrokerRequest, error: ErrorCode
) -> dict[TopicPartition, ErrorCode] | None:
    """The partition errors of a rejected request; only a LeaderAndIsr response contains them."""
    if isinstance(request, LeaderAndIsr) and error is ErrorCode.STALE_BROKER_EPOCH:
        return dict.fromkeys(request.partitions, error)
    return {}


def _add_topic_id(log: ReplicaLog, topic_id: str, same_epoch: bool) -> ErrorCode:
    """Reject an epoch that is not higher, unless the request only adds the topic's missing id."""
    if same_epoch and topic_id and not log.topic_id:
        log.topic_id = topic_id
        return ErrorCode.NONE
    return ErrorCode.STALE_CONTROLLER_EPOCH
