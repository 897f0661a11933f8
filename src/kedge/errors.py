"""Every error the project raises, in one tree by who has to act next.

    KedgeError
    ├── InvalidRequest                the caller has to change the request
    │   ├── MalformedInput            a file or text that cannot be parsed
    │   │   ├── MalformedNumber         not a whole number in range
    │   │   ├── MalformedJson           JSON with missing fields or wrong types
    │   │   ├── TruncatedInput          input that ends early, as half a download does
    │   │   └── MalformedMessage        bytes that are not a message of Kafka's protocol
    │   ├── InvalidPartitions         an invalid partition count
    │   ├── InvalidReplicationFactor  an invalid replication factor, or more than the brokers
    │   ├── InvalidReplicaAssignment  an invalid replica list
    │   ├── InvalidTopic              an invalid topic name, or a collision
    │   ├── InvalidConfiguration      an unknown config name or a value out of its range
    │   ├── UnknownTopicOrPartition   no such topic or partition
    │   ├── UnknownTopicId            no topic has that id
    │   ├── UnknownBroker             a broker that the cluster does not have
    │   ├── InvalidPlan               a plan that is invalid or does not match its snapshot
    │   ├── RefusedCommand            a contradictory command (Kafka: AdminCommandFailed)
    │   │   └── ClusterNotHealthy       a run that a cluster is not healthy enough for
    │   ├── DuplicateInRequest        a duplicate within a request (Kafka: INVALID_REQUEST)
    │   ├── TopicDeletionDisabled     deletion is disabled
    │   ├── NoReassignmentInProgress  nothing to cancel
    │   ├── PolicyViolation           a policy of the operator rejects it
    │   ├── LogDirNotFound            a directory that the broker does not have
    │   ├── OutputInUse               another run is writing to that directory
    │   ├── OutputNotOurs             a directory that holds other files
    │   ├── AuthenticationFailed      the broker rejects the client, or the client the broker
    │   ├── Unauthorised              the client lacks a permission
    │   ├── NotAuthenticated          no valid token or session of this server
    │   ├── PermissionDenied          the account's role does not suffice, or a read-only server
    │   ├── UnknownResource           the server has no such cluster, plan, job or run
    │   ├── RequestTooLarge           a request body beyond the server's limit
    │   ├── QueryTooLarge             a metrics server refuses to compute so much at once
    │   └── UnsupportedByCluster      the cluster does not support this request
    ├── Unsatisfiable                 the cluster's state does not allow the request
    │   ├── InconsistentRacks           some brokers have a rack and some do not
    │   ├── MissingPartitionZero        a topic without partition 0 cannot be expanded
    │   ├── InfeasibleGoals             no plan can meet the goals
    │   ├── StateChangeFailed           a partition that cannot reach the requested state
    │   ├── MoveSetAside                a move that a run leaves out, with the reason
    │   └── LeaderNotAvailable          no replica can lead
    ├── Conflict                      another client wrote first: read again
    │   ├── TopicExists
    │   ├── ReassignmentInProgress
    │   ├── ElectionNotNeeded         the replica is already the leader
    │   ├── StaleVersion              a write that expected another version
    │   ├── NodeExists
    │   ├── NodeMissing
    │   ├── NodeNotEmpty
    │   ├── NodeEphemeral             a child of an ephemeral node
    │   ├── ControllerMoved           this controller is no longer the controller
    │   ├── KeyReused                 an idempotency key of another request
    │   ├── WriterFenced              another writer has replaced this one
    │   └── RunTakenOver              another process has taken the run over
    │       └── RunLeft                 it was asked for, and this process has left it
    ├── RunFailed                     a run that failed after it had made changes
    ├── InvariantViolated             a simulated run violated an invariant
    └── Unavailable                   an outside system failed: the same call may work later
        ├── StoreUnavailable            no connection to the metadata store
        ├── SessionExpired              the session with the store has ended
        ├── ClusterUnavailable          no broker could be reached
        ├── RequestTimedOut             no answer in time; the change may have happened
        ├── NotController               the broker is not the controller (any more)
        ├── ReplicaNotAvailable         the broker does not have that replica yet
        ├── TooManyRequests             a client, or all of them, exceed the server's limits
        ├── QuotaExceeded               the cluster limits the rate of changes
        ├── BrokerFailed                a broker answered with an internal error
        ├── ServerFailed                a server of Kedge failed on a request, by a fault of its own
        ├── PrometheusUnavailable       a metrics server could not be reached, or failed
        ├── SparkUnavailable            no Spark session could be started, or a job failed
        ├── AccountsOpen                input rows are not all accounted for
        └── JournalDamaged              a journal that cannot be read

Leaves have Kafka's names where Kafka has one. Every error carries `what` (one sentence without a
full stop) and `hint` (what to do about it, possibly empty); `str()` is both.
"""

from __future__ import annotations


class KedgeError(Exception):
    """An error of Kedge, described in one sentence."""

    retriable = False

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}; {self.hint}" if self.hint else self.what


class InvalidRequest(KedgeError):
    """The request is invalid; nothing was changed."""


class MalformedInput(InvalidRequest):
    """A file or text that cannot be parsed; `place` names the position."""

    def __init__(self, what: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(f"{place}: {what}" if place else what, hint=hint)
        self.place = place


class MalformedNumber(MalformedInput):
    """A text that is not a whole number in range."""


class MalformedJson(MalformedInput):
    """JSON whose fields are missing or have the wrong type."""


class TruncatedInput(MalformedInput):
    """Input that ends early, as half a download does."""


class MalformedMessage(MalformedInput):
    """Bytes that are not a message of Kafka's protocol, or one of an unknown version."""


class InvalidPartitions(InvalidRequest):
    """An invalid partition count."""


class InvalidReplicationFactor(InvalidRequest):
    """An invalid replication factor, or one larger than the number of brokers."""


class InvalidReplicaAssignment(InvalidRequest):
    """An invalid replica list."""


class InvalidTopic(InvalidRequest):
    """An invalid topic name, or one that collides with another."""


class InvalidConfiguration(InvalidRequest):
    """An unknown config name, or a value outside its type or range."""


class UnknownTopicOrPartition(InvalidRequest):
    """No such topic or partition."""


class UnknownTopicId(InvalidRequest):
    """No topic has that id."""


class UnknownBroker(InvalidRequest):
    """A broker that the cluster does not have, or that is not alive (BROKER_NOT_AVAILABLE)."""


class InvalidPlan(InvalidRequest):
    """A plan that is invalid or does not match its snapshot."""


class RefusedCommand(InvalidRequest):
    """A contradictory command: duplicates, empty lists (Kafka: AdminCommandFailed)."""


class ClusterNotHealthy(RefusedCommand):
    """A run on a cluster with brokers that are down or replicas that are not in sync."""


class DuplicateInRequest(InvalidRequest):
    """A duplicate, or two options that exclude each other (INVALID_REQUEST)."""


class TopicDeletionDisabled(InvalidRequest):
    """`delete.topic.enable` is false."""


class NoReassignmentInProgress(InvalidRequest):
    """A cancellation of a move that is not in progress."""


class PolicyViolation(InvalidRequest):
    """A policy of the operator rejects the request."""


class LogDirNotFound(InvalidRequest):
    """A log directory that the broker does not have."""


class OutputInUse(InvalidRequest):
    """A directory that another run is writing to."""


class OutputNotOurs(InvalidRequest):
    """A directory that holds other files than the ones to be written there."""


class AuthenticationFailed(InvalidRequest):
    """A wrong password, an unknown mechanism, or an untrusted certificate."""


class Unauthorised(InvalidRequest):
    """The client lacks a permission (Kafka: …_AUTHORIZATION_FAILED)."""


class NotAuthenticated(InvalidRequest):
    """The request carries no valid token or session of this server."""


class PermissionDenied(InvalidRequest):
    """The role of the account does not suffice, or the server is read-only."""


class UnknownResource(InvalidRequest):
    """The server has no such cluster, plan, job or run."""


class RequestTooLarge(InvalidRequest):
    """A request body beyond the server's limit."""


class QueryTooLarge(InvalidRequest):
    """A metrics server refuses to compute so many values at once."""


class UnsupportedByCluster(InvalidRequest):
    """The brokers' release does not support this request (UNSUPPORTED_VERSION)."""


class Unsatisfiable(KedgeError):
    """The state of the cluster does not allow the request."""


class InconsistentRacks(Unsatisfiable):
    """Some brokers have a rack and some do not."""


class MissingPartitionZero(Unsatisfiable):
    """A topic without partition 0 gives no pattern for new partitions."""


class InfeasibleGoals(Unsatisfiable):
    """No plan can meet the goals; the hint is the smallest change that would help."""


class StateChangeFailed(Unsatisfiable):
    """A partition that cannot reach the requested state."""


class MoveSetAside(Unsatisfiable):
    """A move that a run leaves out, and goes on with the rest."""


class LeaderNotAvailable(Unsatisfiable):
    """No replica can lead the partition (PREFERRED_/ELIGIBLE_LEADERS_NOT_AVAILABLE)."""


class Conflict(KedgeError):
    """Another client wrote first; reading again may help."""


class TopicExists(Conflict):
    """A topic of that name exists, or is still being deleted."""


class ReassignmentInProgress(Conflict):
    """The partition is being moved."""


class ElectionNotNeeded(Conflict):
    """The requested replica is already the leader."""


class StaleVersion(Conflict):
    """A conditional write that expected another version."""


class NodeExists(Conflict):
    """A node to be created exists."""


class NodeMissing(Conflict):
    """A required node does not exist."""


class NodeNotEmpty(Conflict):
    """A node to be deleted has children."""


class NodeEphemeral(Conflict):
    """The parent of a node to be created is ephemeral, and can have no children."""


class KeyReused(Conflict):
    """An idempotency key that belongs to another request, or to one that is still under way."""


class ControllerMoved(Conflict):
    """This controller is no longer the controller."""


class WriterFenced(Conflict):
    """Another writer has replaced this one (PRODUCER_FENCED); nothing was written."""


class RunTakenOver(Conflict):
    """Another process has taken the run over; this one changes nothing further."""


class RunLeft(RunTakenOver):
    """Another process has asked for the run, and this one has left it as it is."""


class RunFailed(KedgeError):
    """A run that failed after it had made changes."""


class InvariantViolated(KedgeError):
    """A simulated run violated an invariant; the program is wrong."""


class Unavailable(KedgeError):
    """An outside system failed; the same call may work later."""

    retriable = True


class PrometheusUnavailable(Unavailable):
    """A metrics server could not be reached, or failed again and again."""


class StoreUnavailable(Unavailable):
    """No connection to the metadata store."""


class SessionExpired(Unavailable):
    """The session with the store has ended; ephemeral nodes and watches are gone."""


class ClusterUnavailable(Unavailable):
    """No broker of the cluster could be reached."""


class RequestTimedOut(Unavailable):
    """No answer in time; the change may have happened."""


class NotController(Unavailable):
    """The broker is not the controller, or not any more."""


class ReplicaNotAvailable(Unavailable):
    """The broker does not have that replica (yet)."""


class TooManyRequests(Unavailable):
    """A client, or all of them together, exceed the limits of the server."""


class QuotaExceeded(Unavailable):
    """The cluster limits the rate of topic changes (THROTTLING_QUOTA_EXCEEDED)."""


class BrokerFailed(Unavailable):
    """A broker answered with an internal error."""

    retriable = False


class ServerFailed(Unavailable):
    """A server of Kedge failed on a request; what the request asked for may have happened."""

    retriable = False


class SparkUnavailable(Unavailable):
    """No Spark session could be started, or a job failed."""

    retriable = False


class AccountsOpen(Unavailable):
    """Input rows are not all accounted for; the run's output is discarded."""

    retriable = False


class JournalDamaged(Unavailable):
    """A journal that cannot be read, other than for a torn last record."""

    retriable = False
