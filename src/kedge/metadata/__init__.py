"""The metadata of a KRaft cluster: records, the image that they make, and what requests write.

Kafka without ZooKeeper keeps everything in one log. The active controller decides which records a
request writes; raft commits them; every broker and every other controller replays them. So there
are three questions, and each has one pure answer here:

    replay(image, record) -> image           what a record means
    decide(situation, request) -> Decision   which records a request writes, and its answer
    snapshot(image) -> records               how to say the same with fewer records

The image is immutable and shares what did not change (`persistent_map`): a controller that loses
the lead drops back to the image of the last committed offset. What only the active controller knows
of brokers (when they were last heard of, how far they have read) is the soft state: it is in no
record, and a new controller starts without it.

Where things are:

    records, record_schemas, record_json   the 26 records, their versions and tags, as JSON
    image, draft, index_edit, replay       the image and its edits
    snapshot                               the image as records
    decision, decide, soft, tasks          situation and decision, dispatch, periodic tasks
    change                                 how one partition changes: every change takes this way
    partition_changes                      many partitions change for one cause
    brokers, heartbeats, directories       the life of a broker
    topics, more_partitions, assignments   topics and where their replicas go
    isr_changes, reassignments, elections  partitions that move and change leaders
    configs, config_faults, topic_settings configs, and Kafka's words about wrong ones
    features, metadata_version             levels that the cluster has agreed on
    activation, producer_ids, quotas, scram, acls

Worked example. Brokers 1, 2, 3; partition t-0 on 1, 2 is to move to 3, 2:

    request                      record                                          leader, ISR
    reassign t-0 to 3,2          replicas 3,2,1 · adding 3 · removing 1           1   1,2
    AlterPartition isr 1,2,3     isr 2,3 · replicas 3,2 · adding ∅ · removing ∅   3   2,3
                                 · leader 3: the first of the replicas in sync

The second request comes from leader 1, which is not in the target: its answer is
NEW_LEADER_ELECTED, though its change is written.
"""

from kedge.metadata.decide import HANDLERS, decide
from kedge.metadata.decision import Decision, Settings, Situation
from kedge.metadata.image import EMPTY, Image, Partition, Topic
from kedge.metadata.records import MetadataRecord, Versioned
from kedge.metadata.refusal import ApiError
from kedge.metadata.replay import replay, replay_all
from kedge.metadata.snapshot import snapshot
from kedge.metadata.soft import SoftState
from kedge.metadata.tasks import Periods, Schedule

__all__ = [
    "EMPTY",
    "HANDLERS",
    "ApiError",
    "Decision",
    "Image",
    "MetadataRecord",
    "Partition",
    "Periods",
    "Schedule",
    "Settings",
    "Situation",
    "SoftState",
    "Topic",
    "Versioned",
    "decide",
    "replay",
    "replay_all",
    "snapshot",
]
