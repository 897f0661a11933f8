"""The port to a log with one writer, on a topic of a Kafka cluster.

The topic `__kedge_runs` has one partition, compacted. Its writer is a transactional producer whose
`transactional.id` is made of the cluster's id: Kafka lets one producer of that id write, the one
that called InitProducerId last, and refuses the others (PRODUCER_FENCED). Reading is
`read_committed`, to the end of what is stable.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from kedge.cluster.access import Access
from kedge.cluster.admin_session import Session, parse_bootstrap
from kedge.cluster.librdkafka_settings import librdkafka_settings
from kedge.cluster.log_port import NOTHING_READ, LogEntry, LogRecord
from kedge.cluster.log_topic import LogTopic
from kedge.cluster.port import Cluster
from kedge.errors import (
    ClusterUnavailable,
    JournalDamaged,
    KedgeError,
    RequestTimedOut,
    Unauthorised,
    UnsupportedByCluster,
    WriterFenced,
)
from kedge.model.runs_topic import RUNS_TOPIC

PATIENCE_S = 30.0  # for one call
TRANSACTION_MS = 30_000  # after that the cluster aborts the transaction of a dead writer
UNKNOWN_MS = 5_000  # so long a topic that no broker lists may be one that was just created
PARTITION = 0
ELSEWHERE = "or keep runs in a directory with --state PATH"

_FENCED = (
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
)
_LOST_POSITION = (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET)
_UNANSWERED = (  # so does a topic that was just created, and one that was deleted
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._MSG_TIMED_OUT,
)
_PASSING = (  # the group is only a name: no offsets are committed
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
)


class _Reports:
    """What became of produced records: offsets, or errors."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.errors: list[KafkaError] = []

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.offsets.append(message.offset() or 0)


class _InitProducerId:
    """The request that transactions begin with; a lab does not know it."""

    API_KEY = 22


class KafkaLog:
    """The log of the runs of a cluster; connects when it is first used."""

    def __init__(
        self, cluster: Cluster, bootstrap: str, access: Access, *, topic: str = RUNS_TOPIC
    ) -> None:
        self._bootstrap, self._access = bootstrap, access
        self._settings = librdkafka_settings(bootstrap, access)
        self._transactional_id = f"kedge-runs-{cluster.describe().cluster_id}"
        self._topic_name = topic
        self._topic = LogTopic(cluster, topic)
        self._consumer: Consumer | None = None
        self._writer: Producer | None = None
        self._sender: Producer | None = None
        self._last = NOTHING_READ
        self._found_deleted = False

    @property
    def name(self) -> str:
        return f"topic {self._topic_name}"

    def exists(self) -> bool:
        return self._topic.exists()

    def create(self) -> list[str]:
        with closing(Session(parse_bootstrap(self._bootstrap), self._access)) as session:
            if not session.supports(_InitProducerId, session.deadline()):
                raise UnsupportedByCluster(
                    "This cluster takes no data, so it cannot keep runs",
                    hint="keep them in a directory with --state PATH",
                )
        if self._found_deleted:
            self.close()  # clients of the topic that was deleted
            self._last, self._found_deleted = NOTHING_READ, False
            self._topic.forget()
        return self._topic.create()

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
        for producer in (self._writer, self._sender):
            if producer is not None:
                producer.purge()
        self._consumer = self._writer = self._sender = None

    def clock(self) -> None:
        return None

    # ---- reading --------------------------------------------------------------------------------

    def read(self, after: int) -> list[LogRecord]:
        if self._consumer is None:
            self._consumer = Consumer({
                **self._settings,
                "group.id": self._transactional_id,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 10,  # the end of the log is answered at once
                "topic.metadata.propagation.max.ms": UNKNOWN_MS,
            })  # fmt: skip
        first = OFFSET_BEGINNING if after == NOTHING_READ else after + 1
        self._consumer.assign([TopicPartition(self._topic_name, PARTITION, first)])
        try:
            return self._until_end(self._consumer)
        finally:
            self._consumer.unassign()

    def _until_end(self, consumer: Consumer) -> list[LogRecord]:
        found: list[LogRecord] = []
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is None:
                found.append(_record(message))
                deadline = time.monotonic() + PATIENCE_S
            elif error.code() == KafkaError._PARTITION_EOF:
                self._last = max([self._last, *(each.offset for each in found[-1:])])
                return found
            elif error.code() in _LOST_POSITION:
                raise self._deleted()
            elif error.code() not in _PASSING and not error.retriable():
                raise self._fault(error, "Read")
        if self._topic.is_deleted():
            raise self._deleted()
        raise RequestTimedOut(f"{self.name} was not read within {PATIENCE_S:g} s")

    # ---- writing --------------------------------------------------------------------------------

    def become_writer(self) -> None:
        self._writer = Producer({
            **self._settings,
            "transactional.id": self._transactional_id,
            "transaction.timeout.ms": TRANSACTION_MS,
            "linger.ms": 0,
            "topic.metadata.propagation.max.ms": UNKNOWN_MS,
        })  # fmt: skip
        try:
            self._writer.init_transactions(PATIENCE_S)
        except KafkaException as fault:
            self._writer = None
            if _is_fenced(_error_in(fault)):  # two have called at once
                raise WriterFenced("another process has become the writer") from fault
            raise self._fault(_error_in(fault), "Write") from fault

    def append(self, entries: Sequence[LogEntry]) -> int:
        if self._writer is None:
            raise WriterFenced("this process has to become the writer again")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                with _errors_of_callbacks():
                    return self._transaction(self._writer, entries, deadline)
            except KafkaException as fault:
                error = _error_in(fault)
                may_retry = error.txn_requires_abort() and time.monotonic() < deadline
                if may_retry and not _is_fenced(error) and self._aborted(deadline):
                    continue
                # Whether this process may still write is found out by becoming the writer again.
                self._writer = None
                if _is_fenced(error) or error.fatal():
                    raise WriterFenced("another process writes to the runs") from fault
                raise self._fault(error, "Write") from fault

    def _transaction(self, producer: Producer, entries: Sequence[LogEntry], deadline: float) -> int:
        reports = _Reports()
        producer.begin_transaction()
        for entry in entries:
            self._produce(producer, entry, reports)
        producer.flush(max(0.1, deadline - time.monotonic()))
        if reports.errors:
            raise KafkaException(reports.errors[0])
        if reports.offsets and min(reports.offsets) <= self._last:
            producer.abort_transaction(PATIENCE_S)
            raise self._deleted()
        _committed(producer, deadline)
        self._last = max([self._last, *reports.offsets])
        return self._last

    def _aborted(self, deadline: float) -> bool:
        assert self._writer is not None
        try:
            self._writer.abort_transaction(max(0.1, deadline - time.monotonic()))
        except KafkaException:
            return False
        return True

    def append_unfenced(self, entry: LogEntry) -> int:
        if self._sender is None:
            self._sender = Producer({
                **self._settings,
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": int(1000 * PATIENCE_S),
            })  # fmt: skip
        reports = _Reports()
        try:
            with _errors_of_callbacks():
                self._produce(self._sender, entry, reports)
                self._sender.flush(PATIENCE_S)
        except KafkaException as fault:
            self._sender = None
            raise self._fault(_error_in(fault), "Write") from fault
        if reports.errors:
            raise self._fault(reports.errors[0], "Write")
        if not reports.offsets:
            raise RequestTimedOut(f"{self.name} did not take a record within {PATIENCE_S:g} s")
        return reports.offsets[0]

    def _produce(self, producer: Producer, entry: LogEntry, reports: _Reports) -> None:
        producer.produce(
            self._topic_name,
            key=entry.key.encode(),
            value=entry.value,
            partition=PARTITION,
            on_delivery=reports,
        )

    # ---- errors ---------------------------------------------------------------------------------

    def _deleted(self) -> JournalDamaged:
        self._found_deleted = True
        return JournalDamaged(
            f"Topic {self._topic_name} was deleted or truncated while it was in use",
            hint="check with kedge reassign list and kedge configs describe what runs have left",
        )

    def _fault(self, error: KafkaError, operation: str) -> KedgeError:
        match error.code():
            case KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return missing_permission(f"{operation} on Topic {self._topic_name}")
            case KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                return missing_permission(
                    f"Write and Describe on TransactionalId {self._transactional_id}"
                )
            case code if code in _UNANSWERED:
                if self._topic.is_deleted():
                    return self._deleted()
                return RequestTimedOut(
                    f"{self.name} does not answer: it, or the topic __transaction_state, has no "
                    "leader or too few replicas in sync"
                )
            case _:
                return ClusterUnavailable(f"{self.name}: {error.str()}")


def missing_permission(permission: str) -> Unauthorised:
    """The refusal of a cluster that lacks a right for keeping runs."""
    return Unauthorised(f"Missing permission: {permission}", hint=f"grant it, {ELSEWHERE}")


@contextmanager
def _errors_of_callbacks() -> Generator[None]:
    """Raise a fatal error as what it is.

    The client sets it from within a callback; where the callback of a delivery follows, the
    interpreter reports a SystemError that was caused by it.
    """
    try:
        yield
    except SystemError as fault:
        if isinstance(fault.__cause__, KafkaException):
            raise fault.__cause__ from None
        raise


def _error_in(fault: KafkaException) -> KafkaError:
    return fault.args[0]


def _is_fenced(error: KafkaError) -> bool:
    return error.code() in _FENCED


def _committed(producer: Producer, deadline: float) -> None:
    """Commit; a commit that is not answered is repeated, which is safe, until the deadline."""
    while True:
        try:
            return producer.commit_transaction(max(0.1, deadline - time.monotonic()))
        except KafkaException as fault:
            if not _error_in(fault).retriable() or time.monotonic() >= deadline:
                raise


def _record(message: Message) -> LogRecord:
    kind, at_ms = message.timestamp()
    at = 0.0 if kind == TIMESTAMP_NOT_AVAILABLE else at_ms / 1000
    return LogRecord(message.offset() or 0, at, _text(message.key()), message.value())


def _text(key: Any) -> str | None:
    try:
        return key.decode() if isinstance(key, bytes) else None
    except UnicodeDecodeError:
        return None
