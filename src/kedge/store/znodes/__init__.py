"""Kafka's znodes: their paths and their JSON, byte for byte as Kafka 3.9 writes them.

A Kafka controller can take over from Kedge and Kedge from it, without any conversion. So every form
is written as Kafka writes it, keys in Kafka's sequence, and read as liberally as Kafka reads it:
older versions are supported, unknown fields are ignored. Content that cannot be decoded is a
MalformedInput that names the node.

All functions are pure: they map bytes to model values and model values to bytes.

    decode_topic("orders", b'{"partitions":{"0":[2,1]},…}')   → TopicAssignment
    encode_state(Leadership(leader=2, isr=(2, 1), …))          → b'{"controller_epoch":1,…}'

| file          | nodes                                                                  |
|---------------|------------------------------------------------------------------------|
| paths         | all paths, and the nodes to create on an empty store                   |
| brokers       | `/brokers/ids/N`                                                       |
| topics        | `/brokers/topics/T`, `…/partitions/P/state`                            |
| cluster       | `/controller`, its epoch, `/cluster/id`, `/feature`, producer ids      |
| notifications | elections, ISR changes, log directory failures, config changes         |
| reassignments | `/admin/reassign_partitions`, which Kafka decodes differently          |
| configs       | `/config/…`                                                            |

Where a Kafka object has more entries than its library keeps in sequence (five listeners or more in
one registration), the sequence of the entries may differ from Kafka's; no reader depends on it.
"""

from kedge.store.znodes.brokers import (
    CONTROLLER_ONLY,
    BrokerRegistration,
    decode_broker,
    encode_broker,
)
from kedge.store.znodes.cluster import (
    ControllerClaim,
    Features,
    ProducerIdBlock,
    decode_cluster_id,
    decode_controller,
    decode_controller_epoch,
    decode_features,
    decode_producer_id_block,
    encode_cluster_id,
    encode_controller,
    encode_controller_epoch,
    encode_features,
    encode_producer_id_block,
)
from kedge.store.znodes.configs import decode_config, encode_config
from kedge.store.znodes.notifications import (
    decode_config_change,
    decode_log_dir_event,
    decode_partitions,
    decode_preferred_election,
    encode_config_change,
    encode_log_dir_event,
    encode_partitions,
)
from kedge.store.znodes.paths import (
    BROKER_IDS,
    BROKER_SEQUENCE_ID,
    CLUSTER_ID,
    CONFIG_CHANGES,
    CONTROLLER,
    CONTROLLER_EPOCH,
    DEFAULT_ENTITY,
    DELETE_TOPICS,
    ENTITY_TYPES,
    FEATURE,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    NEW_CONFIG_CHANGE,
    NEW_ISR_CHANGE,
    NEW_LOG_DIR_EVENT,
    PERSISTENT,
    PREFERRED_ELECTION,
    PRODUCER_ID_BLOCK,
    REASSIGN_PARTITIONS,
    TOPICS,
    broker_config_path,
    broker_id_of,
    broker_path,
    config_path,
    delete_topic_path,
    partition_of,
    partition_path,
    partitions_path,
    persistent_paths,
    sanitized,
    sequence_of,
    state_path,
    topic_config_path,
    topic_path,
)
from kedge.store.znodes.reassignments import decode_reassignments, encode_reassignments
from kedge.store.znodes.topics import (
    TopicAssignment,
    decode_state,
    decode_topic,
    encode_state,
    encode_topic,
)

__all__ = [
    "BROKER_IDS",
    "BROKER_SEQUENCE_ID",
    "CLUSTER_ID",
    "CONFIG_CHANGES",
    "CONTROLLER",
    "CONTROLLER_EPOCH",
    "CONTROLLER_ONLY",
    "DEFAULT_ENTITY",
    "DELETE_TOPICS",
    "ENTITY_TYPES",
    "FEATURE",
    "ISR_CHANGES",
    "LOG_DIR_EVENTS",
    "NEW_CONFIG_CHANGE",
    "NEW_ISR_CHANGE",
    "NEW_LOG_DIR_EVENT",
    "PERSISTENT",
    "PREFERRED_ELECTION",
    "PRODUCER_ID_BLOCK",
    "REASSIGN_PARTITIONS",
    "TOPICS",
    "BrokerRegistration",
    "ControllerClaim",
    "Features",
    "ProducerIdBlock",
    "TopicAssignment",
    "broker_config_path",
    "broker_id_of",
    "broker_path",
    "config_path",
    "decode_broker",
    "decode_cluster_id",
    "decode_config",
    "decode_config_change",
    "decode_controller",
    "decode_controller_epoch",
    "decode_features",
    "decode_log_dir_event",
    "decode_partitions",
    "decode_preferred_election",
    "decode_producer_id_block",
    "decode_reassignments",
    "decode_state",
    "decode_topic",
    "delete_topic_path",
    "encode_broker",
    "encode_cluster_id",
    "encode_config",
    "encode_config_change",
    "encode_controller",
    "encode_controller_epoch",
    "encode_features",
    "encode_log_dir_event",
    "encode_partitions",
    "encode_producer_id_block",
    "encode_reassignments",
    "encode_state",
    "encode_topic",
    "partition_of",
    "partition_path",
    "partitions_path",
    "persistent_paths",
    "sanitized",
    "sequence_of",
    "state_path",
    "topic_config_path",
    "topic_path",
]
