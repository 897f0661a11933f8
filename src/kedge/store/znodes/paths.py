"""The paths of Kafka's znodes."""

from __future__ import annotations

from urllib.parse import quote

from kedge.errors import MalformedNumber
from kedge.model import BrokerId, TopicPartition

ADMIN = "/admin"
BROKERS = "/brokers"
BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE_ID = "/brokers/seqid"
CLUSTER = "/cluster"
CLUSTER_ID = "/cluster/id"
CONFIG_CHANGES = "/config/changes"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
DELETE_TOPICS = "/admin/delete_topics"
FEATURE = "/feature"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
PREFERRED_ELECTION = "/admin/preferred_replica_election"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
TOPICS = "/brokers/topics"

# prefixes of sequential nodes, which get ten digits
NEW_CONFIG_CHANGE = f"{CONFIG_CHANGES}/config_change_"
NEW_ISR_CHANGE = f"{ISR_CHANGES}/isr_change_"
NEW_LOG_DIR_EVENT = f"{LOG_DIR_EVENTS}/log_dir_event_"

DEFAULT_ENTITY = "<default>"
ENTITY_TYPES = ("topics", "clients", "users", "brokers", "ips")

# nodes that a broker creates when it starts, in its sequence; all have null data
PERSISTENT = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE_ID,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    *(f"/config/{entity}" for entity in ENTITY_TYPES),
)


def persistent_paths() -> list[str]:
    """Return every node to create on an empty store, parents before children."""
    every = {prefix: None for path in PERSISTENT for prefix in _prefixes(path)}
    return list(every)


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(2, len(parts) + 1)]


def broker_path(broker: BrokerId) -> str:
    return f"{BROKER_IDS}/{broker}"


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(tp: TopicPartition) -> str:
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}"


def state_path(tp: TopicPartition) -> str:
    return f"{TOPICS}/{tp.topic}/partitions/{tp.partition}/state"


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def topic_config_path(topic: str) -> str:
    return config_path(f"topics/{topic}")


def broker_config_path(broker: BrokerId | None) -> str:
    """Return the path of a broker's configs; with None, of the defaults for all brokers."""
    return config_path(f"brokers/{DEFAULT_ENTITY if broker is None else broker}")


def config_path(entity: str) -> str:
    """Return the path of an entity named as in a notification: `topics/T`, `users/U/clients/C`."""
    return f"/config/{entity}"


def sanitized(name: str) -> str:
    """Return a user or client id as Kafka names its node: percent-encoded, also `~` and `*`."""
    return quote(name, safe="").replace("~", "%7E")


def broker_id_of(name: str) -> BrokerId:
    """Return the broker id of a child of `/brokers/ids`."""
    return BrokerId(_number(name, BROKER_IDS))


def partition_of(name: str, topic: str) -> int:
    """Return the partition number of a child of `…/partitions`."""
    return _number(name, partitions_path(topic))


def sequence_of(name: str) -> int:
    """Return the number at the end of a sequential node's name."""
    return _number(name[-10:], name)


def _number(text: str, place: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise MalformedNumber(f"{text!r} is not a number", place=place)
    return int(text)
