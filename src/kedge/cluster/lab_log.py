"""The port to a log with one writer, on a lab: a request of its own instead of a topic.

The lab counts the epochs of writers as Kafka's transaction coordinator does, so that a writer which
was replaced is refused. Every request may be repeated: a record that is written twice has the same
key, and an epoch that no client got to know is only skipped.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from kedge.cluster.access import Access
from kedge.cluster.admin_session import Session, parse_bootstrap
from kedge.cluster.error_mapping import refusal
from kedge.cluster.log_port import ClusterClock, LogEntry, LogRecord
from kedge.errors import InvalidRequest, WriterFenced
from kedge.protocol import FRAME_BYTES_MAX
from kedge.protocol.runs_log import (
    FENCED,
    RUNS_LOG,
    RunsLogOp,
    RunsLogRequest,
    RunsLogResponse,
    SentEntry,
)

NAME = "the lab's store"
HEADER_BYTES_MAX = 1_000  # of a request, besides its entries
ENTRY_BYTES = 16  # of an entry, besides its key and value


class LabLog:
    """The log of the runs of a lab; connects when it is first used."""

    def __init__(self, bootstrap: str, access: Access) -> None:
        self._session = Session(parse_bootstrap(bootstrap), access)
        self._epoch = 0

    def is_served(self) -> bool:
        """Whether the cluster is a lab that keeps such a log."""
        return self._session.supports(_Sent, self._session.deadline())

    @property
    def name(self) -> str:
        return NAME

    def exists(self) -> bool:
        return True

    def create(self) -> list[str]:
        return []

    def read(self, after: int) -> list[LogRecord]:
        found: list[LogRecord] = []
        while True:
            part = self._answer(RunsLogRequest(RunsLogOp.READ, after=after))
            found += [LogRecord(r.offset, r.at_ms / 1000, r.key, r.value) for r in part.records]
            if not part.more:
                return found
            after = part.last

    def become_writer(self) -> None:
        self._epoch = self._answer(RunsLogRequest(RunsLogOp.BECOME_WRITER)).epoch

    def append(self, entries: Sequence[LogEntry]) -> int:
        return self._appended(RunsLogOp.APPEND, entries)

    def append_unfenced(self, entry: LogEntry) -> int:
        return self._appended(RunsLogOp.APPEND_UNFENCED, [entry])

    def clock(self) -> ClusterClock:
        found = self._answer(RunsLogRequest(RunsLogOp.CLOCK))
        return ClusterClock(found.lab_ms / 1000, found.speed / 1000)

    def close(self) -> None:
        self._session.close()

    def _appended(self, op: RunsLogOp, entries: Sequence[LogEntry]) -> int:
        sizes = (ENTRY_BYTES + len(key) + len(value or b"") for key, value in entries)
        if sum(sizes) > FRAME_BYTES_MAX - HEADER_BYTES_MAX:
            raise InvalidRequest(
                f"The plan is too long for a lab: more than {FRAME_BYTES_MAX >> 20} MiB compressed",
                hint="keep the run in a directory with --state PATH",
            )
        sent = tuple(SentEntry(*entry) for entry in entries)
        return self._answer(RunsLogRequest(op, epoch=self._epoch, entries=sent)).last

    def _answer(self, request: RunsLogRequest) -> RunsLogResponse:
        session = self._session
        if not session.cluster_id:  # then the other brokers are known, if this one goes down
            session.refresh(session.deadline())
        answer = session.send(_Sent(request), RunsLogResponse, session.deadline())
        if answer.error == FENCED:
            raise WriterFenced(answer.message)
        if fault := refusal(answer.error, answer.message):
            raise fault
        return answer


class _Header:
    """What a response begins with."""

    def __init__(self, correlation_id: int) -> None:
        self.correlation_id = correlation_id


class _Sent:
    """A request in the form that connections send: that of kafka-python's messages."""

    API_KEY = RUNS_LOG.key
    API_VERSION = RUNS_LOG.newest
    max_version = RUNS_LOG.newest

    def __init__(self, request: RunsLogRequest) -> None:
        self._request = request
        self._correlation = 0
        self._client = ""

    def with_header(self, *, correlation_id: int, client_id: str) -> None:
        self._correlation, self._client = correlation_id, client_id

    def encode(self, **_: bool) -> bytes:
        return RUNS_LOG.encode_request(
            self.API_VERSION, self._request, correlation=self._correlation, client=self._client
        )

    @property
    def header(self) -> _Sent:
        return self

    def get_response_class(self) -> _Sent:
        return self

    def parse_header(self, frame: io.BytesIO) -> _Header:
        return _Header(int.from_bytes(frame.getvalue()[:4], "big"))

    def decode(self, frame: io.BytesIO) -> Any:
        return RUNS_LOG.decode_response(self.API_VERSION, frame.getvalue())[1]
