"""The vector kind `raft`: one node of the quorum, the scenario plays its peers and the clock.

Not compared, since Kafka's test double of the log decides it: how many batches a Fetch answer has
beyond the first two, and where among the committed batches a change of the leader is told.
"""

from __future__ import annotations

from typing import Any

from kedge.model.error_codes import ErrorCode
from kedge.quorum import start, step
from kedge.quorum.log import Log
from kedge.quorum.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    InboundResponse,
    RemoveVoterRequest,
    RequestMessage,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoteRequest,
    VoteResponse,
)
from kedge.quorum.node import (
    Append,
    Appended,
    Event,
    Failed,
    FaultKind,
    Ready,
    Refusal,
    RefusalKind,
    Request,
    Resign,
    Response,
    Send,
    StoreElection,
    Tick,
)
from kedge.quorum.values import (
    Batch,
    Election,
    EpochOffset,
    QuorumConfig,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VoterSet,
)
from tests.conformance import raft_view
from tests.conformance.compare import Case, Runner, difference
from tests.conformance.raft_view import api_of, id_or_none

CLUSTER = "raft-oracle-cluster-00"
LISTENER = "LISTENER"
BATCHES_COMPARED = 2
KAFKA_FAULTS = {
    FaultKind.ILLEGAL_STATE: "IllegalStateException",
    FaultKind.ILLEGAL_ARGUMENT: "IllegalArgumentException",
    FaultKind.BELOW_HIGH_WATERMARK: "KafkaException",
    FaultKind.UNALIGNED_HIGH_WATERMARK: "RuntimeException",
    FaultKind.NOT_AUTHORIZED: "ClusterAuthorizationException",
}
KAFKA_REFUSALS = {
    RefusalKind.NOT_LEADER: "NotLeaderException",
    RefusalKind.INVALID: "IllegalArgumentException",
}
# responses name the leader's endpoints from these versions on
ENDPOINTS_SINCE = {"Fetch": 17}
LATEST = 99


def run(case: Case) -> str | None:
    """The first difference between the node and the case."""
    played = Played(case["settings"])
    for number, expected in enumerate(case["steps"]):
        got = played.perform(expected["request"])
        if found := difference(expected, _comparable(expected, got)):
            return f"step {number} {expected['request']}{found}"
    return None


class Played:
    """One node under a scenario."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.now = 1_000_000
        self.me = settings.get("node", 1)
        jitter = settings.get("jitter", 250)
        self.draw = lambda bound: min(jitter, bound - 1)
        self.open: list[Send] = []
        self.waiting: list[int] = []
        self.token = 0
        self.stored = Election()
        ids = sorted(settings["voters"])
        log = Log()
        for epoch, count in settings.get("log", ()):
            log = log.appended([_batch(log.end, epoch, count)])
        config = QuorumConfig(
            self.me,
            _directory(self.me),
            CLUSTER,
            (_endpoint(self.me),),
            LISTENER,
            tuple(ids),
            append_linger_ms=0,
        )
        voters = VoterSet(Voter(ReplicaKey(id_), (_endpoint(id_),)) for id_ in ids)
        stored = _stored(settings.get("stored"))
        self.node, self.first = start(config, log, stored, voters, now=self.now, draw=self.draw)

    def perform(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do a step; gives what there is to see after it."""
        op = request["op"]
        if op == "start":
            return self._seen(request, None, self.first)
        if op == "advance":
            self.now += request["ms"]
        if op == "request":
            self.token += 1
            event: Event = Request(
                self.token,
                self._request(request),
                LISTENER,
                request.get("version", LATEST) >= ENDPOINTS_SINCE.get(request["api"], 1),
            )
        elif op in ("reply", "fail"):
            found = self._take_open(request)
            if found is None:
                return self._seen(request, "nothing open", Ready())
            event = (
                Failed(found.peer, found.correlation, found.message)
                if op == "fail"
                else Response(found.peer, found.correlation, self._reply(request))
            )
        elif op == "append":
            records = tuple(request["records"])
            event = Append(request.get("epoch", self.node.role.epoch), records)
        elif op == "resign":
            event = Resign(request.get("epoch", self.node.role.epoch))
        else:
            event = Tick()
        self.node, ready = step(self.node, event, now=self.now, draw=self.draw)
        return self._seen(request, self._response(op, ready), ready)

    def _response(self, op: str, ready: Ready) -> Any:
        if ready.fault:
            return None
        if op == "request":
            answers = {answer.token: answer.message for answer in ready.answers}
            if self.token in answers:
                return raft_view.response_view(answers[self.token])
            self.waiting.append(self.token)
            return "waits"
        match ready.outcome:
            case Appended(last):
                return {"last": last}
            case Refusal(kind):
                return {"refused": KAFKA_REFUSALS[kind]}
            case None:
                return None

    def _seen(self, request: dict[str, Any], response: Any, ready: Ready) -> dict[str, Any]:
        for write in ready.writes:
            if isinstance(write, StoreElection):
                self.stored = write.election
        self.open.extend(ready.sends)
        sent = sorted(map(raft_view.request_view, ready.sends), key=lambda r: (r["api"], r["to"]))
        done = {answer.token: answer.message for answer in ready.answers}
        late = [token for token in self.waiting if token in done]
        self.waiting = [token for token in self.waiting if token not in late]
        return {
            **({"dies": KAFKA_FAULTS[ready.fault.kind]} if ready.fault else {}),
            "request": request,
            "response": response,
            "sent": [] if ready.fault else sent,
            "completed": [raft_view.response_view(done[token]) for token in late],
            "heard": [raft_view.notification_view(heard) for heard in ready.notifications],
            "after": raft_view.state_view(self.node, self.stored),
        }

    def _take_open(self, request: dict[str, Any]) -> Send | None:
        """The newest open request of that API to that node."""
        for index in reversed(range(len(self.open))):
            sent = self.open[index]
            if api_of(sent.message) == request["api"] and sent.peer == request.get(
                "from", sent.peer
            ):
                return self.open.pop(index)
        return None

    def _request(self, given: dict[str, Any]) -> RequestMessage:
        sender, epoch = given.get("from", 2), given.get("epoch", 0)
        key = ReplicaKey(sender, _directory(sender))
        cluster = given.get("cluster", CLUSTER)
        me = given.get("voter", self.me)
        directory = _directory(99 if given.get("wrong_dir") else self.me)
        addressee = ReplicaKey(me, directory) if me >= 0 else None
        end, last_epoch = given.get("end"), given.get("last_epoch")
        endpoints = (_endpoint(sender),)
        match given["api"]:
            case "Vote":
                last = EpochOffset(last_epoch or 0, end or 0)
                pre_vote, partition = given.get("pre_vote", False), given.get("partition", 0)
                return VoteRequest(key, epoch, last, pre_vote, addressee, cluster, partition)
            case "BeginQuorumEpoch":
                return BeginQuorumEpochRequest(sender, epoch, addressee, endpoints, cluster)
            case "EndQuorumEpoch":
                preferred = given.get("preferred", ())
                keys = tuple(ReplicaKey(id_, _directory(id_)) for id_ in preferred)
                return EndQuorumEpochRequest(sender, epoch, keys, endpoints, cluster)
            case "Fetch":
                return FetchRequest(
                    key,
                    epoch,
                    given.get("offset", 0),
                    last_epoch or 0,
                    given.get("high_watermark", 2**63 - 1),
                    given.get("max_wait", 0),
                    cluster_id=cluster,
                )
            case "FetchSnapshot":
                snapshot = EpochOffset(
                    1 if last_epoch is None else last_epoch, 1 if end is None else end
                )
                return FetchSnapshotRequest(key, epoch, snapshot, 0, cluster_id=cluster)
            case "DescribeQuorum":
                return DescribeQuorumRequest()
            case "UpdateRaftVoter":
                return UpdateVoterRequest(key, epoch, endpoints, cluster_id=cluster)
            case "AddRaftVoter":
                return AddVoterRequest(key, endpoints, cluster)
            case "RemoveRaftVoter":
                return RemoveVoterRequest(key, cluster)
            case other:
                raise ValueError(f"no request of {other}")

    def _reply(self, given: dict[str, Any]) -> InboundResponse:
        error = ErrorCode[given.get("partition_error", "NONE")]
        top = ErrorCode[given.get("error", "NONE")]
        epoch = given.get("epoch", self.node.role.epoch)
        leader = id_or_none(given.get("leader", -1))
        match given["api"]:
            case "Vote":
                granted = given.get("granted", False)
                return VoteResponse(top, None if top else error, leader, epoch, granted)
            case "BeginQuorumEpoch":
                return BeginQuorumEpochResponse(ErrorCode.NONE, error, leader, epoch)
            case "EndQuorumEpoch":
                return EndQuorumEpochResponse(ErrorCode.NONE, error, leader, epoch)
            case "UpdateRaftVoter":
                return UpdateVoterResponse(error, leader, epoch)
            case "Fetch":
                records = given.get("records")
                end = self.node.log.end
                return FetchResponse(
                    top,
                    error,
                    leader,
                    epoch,
                    id_or_none(given.get("high_watermark", -1)),
                    0,
                    EpochOffset(*given["diverging"]) if "diverging" in given else None,
                    EpochOffset(*reversed(given["snapshot"])) if "snapshot" in given else None,
                    (_batch(end, records[0], records[1]),) if records else (),
                )
            case other:
                raise ValueError(f"no reply of {other}")


def _stored(given: dict[str, Any] | None) -> Election:
    if given is None:
        return Election()
    voted = given.get("voted")
    if given.get("leader") is not None:
        return Election(given["epoch"], given["leader"])
    return Election(given["epoch"], None, None if voted is None else ReplicaKey(voted))


def _batch(base: int, epoch: int, count: int) -> Batch:
    return Batch(base, epoch, tuple(f"r{base + i}" for i in range(count)))


def _directory(node: int) -> str:
    return f"dir:{node}"


def _endpoint(node: int) -> VoterEndpoint:
    return VoterEndpoint(LISTENER, f"host{node}", 9000 + node)


def _comparable(expected: dict[str, Any], got: dict[str, Any]) -> dict[str, Any]:
    """What came, with the parts that are not compared taken from the expectation."""
    if isinstance(expected["response"], dict):
        got["response"] = _prefix(expected["response"], got["response"])
    if len(expected["completed"]) == len(got["completed"]):
        pairs = zip(expected["completed"], got["completed"], strict=True)
        got["completed"] = [_prefix(one, other) for one, other in pairs]
    if _in_kinds(expected["heard"]) == _in_kinds(got["heard"]):
        got["heard"] = expected["heard"]
    return got


def _prefix(expected: dict[str, Any], got: Any) -> Any:
    if isinstance(got, dict) and len(expected.get("batches", ())) >= BATCHES_COMPARED:
        got["batches"] = got["batches"][: len(expected["batches"])]
    return got


def _in_kinds(heard: list[str]) -> tuple[list[str], list[str]]:
    commits = [line for line in heard if line.startswith("commit")]
    return commits, [line for line in heard if not line.startswith("commit")]


RUNNERS: dict[str, Runner] = {"raft": run}
