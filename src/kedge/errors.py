"""Every error the project raises, by whose move is next.

    KedgeError
    ├── InvalidRequest                the caller's: ask for something else
    │   ├── MalformedInput            a file or text that does not read as what it should be
    │   │   ├── MalformedNumber         not a whole number in range
    │   │   ├── MalformedJson           JSON whose fields have the wrong shape
    │   │   └── MalformedMessage        bytes that are no message of Kafka's protocol
    │   ├── InvalidPartitions         a partition count that cannot be
    │   ├── InvalidReplicationFactor  a replication factor that these brokers cannot give
    │   ├── InvalidReplicaAssignment  a replica list that cannot be
    │   ├── InvalidTopic              a topic name that cannot be, or collides
    │   ├── InvalidConfiguration      an unknown config name or a value out of its range
    │   ├── UnknownTopicOrPartition   nothing by that name
    │   ├── UnknownTopicId            no topic has that id
    │   ├── UnknownBroker             a broker that the cluster does not have
    │   ├── InvalidPlan               a plan that breaks its own rules or does not fit its snapshot
    │   ├── RefusedCommand            an order that contradicts itself (Kafka: AdminCommandFailed)
    │   ├── DuplicateInRequest        the same thing twice in one request (Kafka: INVALID_REQUEST)
    │   ├── TopicDeletionDisabled     deletion is switched off
    │   ├── NoReassignmentInProgress  nothing to cancel
    │   ├── PolicyViolation           a policy of the operator refuses it
    │   ├── LogDirNotFound            a directory that the broker does not have
    │   ├── OutputInUse               another run is writing to that directory
    │   ├── OutputNotOurs             a directory that holds something else
    │   ├── AuthenticationFailed      the broker rejects the client, or the client the broker
    │   ├── Unauthorised              the client lacks a permission
    │   └── UnsupportedByCluster      the cluster does not know this request
    ├── Unsatisfiable                 the cluster's: it cannot do that as it is
    │   ├── InconsistentRacks           some brokers have a rack and some do not
    │   ├── MissingPartitionZero        a topic without partition 0 cannot be expanded
    │   ├── InfeasibleGoals             no plan can meet what is asked of it
    │   ├── StateChangeFailed           a partition that cannot come to the wanted state
    │   └── LeaderNotAvailable          no replica can lead
    ├── Conflict                      another client wrote first: read again
    │   ├── TopicExists
    │   ├── ReassignmentInProgress
    │   ├── ElectionNotNeeded         the right one leads already
    │   ├── StaleVersion              a write that expected another version
    │   ├── NodeExists
    │   ├── NodeMissing
    │   ├── NodeNotEmpty
    │   ├── NodeEphemeral             a child under a node that can have none
    │   └── ControllerMoved           this controller is no longer the controller
    ├── RunFailed                     a run that ended on an error after it had changed something
    ├── InvariantViolated             a simulated run broke a rule that must always hold
    └── Unavailable                   the outside's: the same call may work later
        ├── StoreUnavailable            no connection to the metadata store
        ├── SessionExpired              the session with the store has ended
        ├── ClusterUnavailable          no broker could be reached
        ├── RequestTimedOut             no answer in time; the change may have happened
        ├── NotController               the broker asked is not in charge (any more)
        ├── ReplicaNotAvailable         the broker does not have that replica yet
        ├── QuotaExceeded               the cluster limits the rate of changes
        ├── BrokerFailed                a broker answered with a fault of its own
        ├── SparkUnavailable            no Spark session could be had, or a job of it failed
        ├── AccountsOpen                rows that went in are not all accounted for
        └── JournalDamaged              a journal that cannot be read back

Leaves have Kafka's names where Kafka has one. Every error carries `what` (one sentence without a
full stop) and `hint` (what to do about it, possibly empty); `str()` is both.
"""

from __future__ import annotations


class KedgeError(Exception):
    """Anything that Kedge refuses or fails to do, said in one sentence."""

    retriable = False

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}; {self.hint}" if self.hint else self.what


class InvalidRequest(KedgeError):
    """The caller asked for something that cannot be; nothing was changed."""


class MalformedInput(InvalidRequest):
    """A file or text that does not read as what it should be; `place` names the spot."""

    def __init__(self, what: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(f"{place}: {what}" if place else what, hint=hint)
        self.place = place


class MalformedNumber(MalformedInput):
    """A text that is not a whole number in range."""


class MalformedJson(MalformedInput):
    """JSON whose fields are missing or have the wrong type."""


class MalformedMessage(MalformedInput):
    """Bytes that are no message of Kafka's protocol, or one of an unknown version."""


class InvalidPartitions(InvalidRequest):
    """A partition count that cannot be."""


class InvalidReplicationFactor(InvalidRequest):
    """A replication factor that these brokers cannot give."""


class InvalidReplicaAssignment(InvalidRequest):
    """A replica list that cannot be."""


class InvalidTopic(InvalidRequest):
    """A topic name that cannot be, or that collides with another."""


class InvalidConfiguration(InvalidRequest):
    """An unknown config name, or a value that its type or range does not allow."""


class UnknownTopicOrPartition(InvalidRequest):
    """No topic or partition by that name."""


class UnknownTopicId(InvalidRequest):
    """No topic has that id."""


class UnknownBroker(InvalidRequest):
    """A broker that the cluster does not have, or that is not alive (BROKER_NOT_AVAILABLE)."""


class InvalidPlan(InvalidRequest):
    """A plan that breaks its own rules or does not fit its snapshot."""


class RefusedCommand(InvalidRequest):
    """An order that contradicts itself: duplicates, empty lists (Kafka: AdminCommandFailed)."""


class DuplicateInRequest(InvalidRequest):
    """The same thing named twice, or two options that exclude each other (INVALID_REQUEST)."""


class TopicDeletionDisabled(InvalidRequest):
    """`delete.topic.enable` is false."""


class NoReassignmentInProgress(InvalidRequest):
    """A cancel of a move that is not there."""


class PolicyViolation(InvalidRequest):
    """A policy of the operator refuses it."""


class LogDirNotFound(InvalidRequest):
    """A log directory that the broker does not have."""


class OutputInUse(InvalidRequest):
    """A directory that another run is writing to at this moment."""


class OutputNotOurs(InvalidRequest):
    """A directory that holds something else than what would be written there."""


class AuthenticationFailed(InvalidRequest):
    """A wrong password, an unknown mechanism, or an untrusted certificate."""


class Unauthorised(InvalidRequest):
    """The client lacks a permission (Kafka: …_AUTHORIZATION_FAILED)."""


class UnsupportedByCluster(InvalidRequest):
    """The brokers are of a release that does not know this request (UNSUPPORTED_VERSION)."""


class Unsatisfiable(KedgeError):
    """The cluster cannot do that as it is."""


class InconsistentRacks(Unsatisfiable):
    """Some brokers have a rack and some do not."""


class MissingPartitionZero(Unsatisfiable):
    """A topic without partition 0 has no model for its new partitions."""


class InfeasibleGoals(Unsatisfiable):
    """No plan can meet what is asked of it; the hint is the least change that would help."""


class StateChangeFailed(Unsatisfiable):
    """A partition that cannot be brought to the wanted state as it is."""


class LeaderNotAvailable(Unsatisfiable):
    """No replica can lead the partition (PREFERRED_/ELIGIBLE_LEADERS_NOT_AVAILABLE)."""


class Conflict(KedgeError):
    """Another client wrote first; reading again may help."""


class TopicExists(Conflict):
    """A topic of that name is there, or still being deleted."""


class ReassignmentInProgress(Conflict):
    """The partition is being moved."""


class ElectionNotNeeded(Conflict):
    """The leader that was asked for leads already."""


class StaleVersion(Conflict):
    """A conditional write that expected another version."""


class NodeExists(Conflict):
    """A create met an existing node."""


class NodeMissing(Conflict):
    """A node that should be there is not."""


class NodeNotEmpty(Conflict):
    """A delete met a node with children."""


class NodeEphemeral(Conflict):
    """A create under an ephemeral node, which can have no children."""


class ControllerMoved(Conflict):
    """This controller is no longer the controller."""


class RunFailed(KedgeError):
    """A run that ended on an error after it had changed something."""


class InvariantViolated(KedgeError):
    """A simulated run broke a rule that must always hold; the fault is in the program."""


class Unavailable(KedgeError):
    """The outside did not answer as it should; the same call may work later."""

    retriable = True


class StoreUnavailable(Unavailable):
    """No connection to the metadata store."""


class SessionExpired(Unavailable):
    """The session with the store has ended; ephemeral nodes and watches are gone."""


class ClusterUnavailable(Unavailable):
    """No broker of the cluster could be reached."""


class RequestTimedOut(Unavailable):
    """No answer in time; a change may have happened all the same."""


class NotController(Unavailable):
    """The broker asked is not the controller, or not any more."""


class ReplicaNotAvailable(Unavailable):
    """The broker does not have that replica (yet)."""


class QuotaExceeded(Unavailable):
    """The cluster limits how fast topics may change (THROTTLING_QUOTA_EXCEEDED)."""


class BrokerFailed(Unavailable):
    """A broker answered with a fault of its own."""

    retriable = False


class SparkUnavailable(Unavailable):
    """No Spark session could be had, or one of its jobs failed."""

    retriable = False


class AccountsOpen(Unavailable):
    """Rows that were read are not all accounted for; nothing of the run is kept."""

    retriable = False


class JournalDamaged(Unavailable):
    """A journal that cannot be read back, other than by a torn last record."""

    retriable = False
