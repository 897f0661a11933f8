"""From one assignment to another: reassignments, plans, their files, and their status.

All of it is plain functions from values to values, in three parts.

**Reassignment.** Of the replicas of a partition that is reassigned, some are *adding* and some
*removing* (KIP-455). `reassign_to` computes all three from the replicas before the move, so that a
later request replaces an earlier one; `cancel` requests the old replicas.

**Kafka's files and texts.** Operators have scripts around `kafka-reassign-partitions`: its JSON is
read as Kafka reads it (`parse_reassignment`, `parse_execute`, `parse_topics_to_move`,
`parse_election`, `parse_broker_list`), written as Kafka writes it (`reassignment_text`), and its
reports are the same lines (`verification`, `list_lines`). `judge_execute` checks a request before
a move, `throttles_of` lists the replicas and brokers that are throttled meanwhile (KIP-73), and
`propose` is `--generate`.

**The plan.** A plan is a reassignment file with more in it: the replicas before, why each partition
moves, in which waves, and a summary. `parse_plan` refuses plans that contradict themselves;
`verify_plan` checks one against the cluster as it is now, and `inverse` makes the plan back.

One partition from file to end, `orders-0` on brokers 1,2,3:

    the file          {"partitions":[{"topic":"orders","partition":0,"replicas":[3,4,2]}]}
    parse_execute     orders-0 → (3, 4, 2), log directories chosen by the brokers
    throttles_of      leader 0:1,0:2,0:3   follower 0:4   rates on 1, 2, 3, 4
    reassign_to       replicas 3,4,2,1     adding 4       removing 1
    verification      Reassignment of partition orders-0 is still in progress.
    when 4 is in sync replicas 3,4,2
    verification      Reassignment of partition orders-0 is completed.
    reassignment_text of what was there before is the way back

Refusals have a class for each of Kafka's: `MalformedInput` (not JSON, or not a supported version),
`MalformedJson` (JSON of the wrong shape), `MalformedNumber`, and `RefusedCommand` (a request that
contradicts itself). Errors about shape name the exact place, `partitions[3].replicas[1]`.
"""

from kedge.plan.broker_list import parse_broker_list
from kedge.plan.checks import parse_plan, refuse_errors, verify_plan
from kedge.plan.differences import Change, Differences, Figures, differences_between, rows_in
from kedge.plan.execute import (
    failed_lines,
    judge_execute,
    log_dir_lines,
    rollback_lines,
    throttle_lines,
)
from kedge.plan.findings import Finding, Severity
from kedge.plan.from_kafka_file import from_kafka_file, plan_with_before
from kedge.plan.generate import Place, Proposal, propose, usable_brokers
from kedge.plan.kafka_json import (
    Reassignment,
    ReassignmentFile,
    checked_for_execute,
    parse_election,
    parse_execute,
    parse_reassignment,
    parse_topics_to_move,
    reassignments_of,
    replica_lists,
)
from kedge.plan.kafka_text import (
    election_text,
    entries_text,
    reassignment_text,
    topics_to_move_text,
)
from kedge.plan.log_dirs import (
    ANY_LOG_DIR,
    Directories,
    LogDirState,
    LogDirStatus,
    PartitionReplica,
    cancelling_log_dir_moves,
    log_dir_statuses,
)
from kedge.plan.plan_file import Plan, Summary
from kedge.plan.plan_reader import is_plan, read_plan
from kedge.plan.plan_writer import plan_to_json
from kedge.plan.reassignment import cancel, reassign_to, unneeded_replicas
from kedge.plan.rollback import inverse
from kedge.plan.status import (
    Clearing,
    PartitionStatus,
    Verification,
    cancellable,
    cancelled_line,
    clearing,
    list_lines,
    started_line,
    verification,
)
from kedge.plan.throttles import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    Move,
    Throttles,
    active_moves,
    broker_rates,
    log_dir_brokers,
    log_dir_rates,
    move_map,
    throttles_of,
)

__all__ = [
    "ANY_LOG_DIR",
    "BROKER_THROTTLES",
    "TOPIC_THROTTLES",
    "Change",
    "Clearing",
    "Differences",
    "Directories",
    "Figures",
    "Finding",
    "LogDirState",
    "LogDirStatus",
    "Move",
    "PartitionReplica",
    "PartitionStatus",
    "Place",
    "Plan",
    "Proposal",
    "Reassignment",
    "ReassignmentFile",
    "Severity",
    "Summary",
    "Throttles",
    "Verification",
    "active_moves",
    "broker_rates",
    "cancel",
    "cancellable",
    "cancelled_line",
    "cancelling_log_dir_moves",
    "checked_for_execute",
    "clearing",
    "differences_between",
    "election_text",
    "entries_text",
    "failed_lines",
    "from_kafka_file",
    "inverse",
    "is_plan",
    "judge_execute",
    "list_lines",
    "log_dir_brokers",
    "log_dir_lines",
    "log_dir_rates",
    "log_dir_statuses",
    "move_map",
    "parse_broker_list",
    "parse_election",
    "parse_execute",
    "parse_plan",
    "parse_reassignment",
    "parse_topics_to_move",
    "plan_to_json",
    "plan_with_before",
    "propose",
    "read_plan",
    "reassign_to",
    "reassignment_text",
    "reassignments_of",
    "refuse_errors",
    "replica_lists",
    "rollback_lines",
    "rows_in",
    "started_line",
    "throttle_lines",
    "throttles_of",
    "topics_to_move_text",
    "unneeded_replicas",
    "usable_brokers",
    "verification",
    "verify_plan",
]
