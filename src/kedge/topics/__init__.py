"""Topics: judging what people want to do with them.

Goal. A request comes in, a view of the cluster lies beside it, and the answer is a value: what is
to be written, or why not. Nothing is written here, nothing is read, no luck is drawn but from the
`draw` that is handed in. Whoever holds the store carries the answer out.

    create       a new topic: counts or replica lists, configs       → NewTopic
    expand       more partitions for a topic                         → NewPartitions
    delete       a topic, by name or id                              → Marked
    configure    configs set, deleted, appended to, subtracted from  → NewConfigs
    auto_create  a topic that came up by being asked for             → CreateRequest

Rules.

- The order of checks is Kafka's and is part of the answer: of two faults the caller is told the
  one that Kafka would tell. Each file says its order at the top.
- `judge_…` raises the first refusal. `judge_…s` takes a batch and puts refusals beside successes.
- Values are read as Kafka's brokers read them, letter by letter (`config_types`): a text that one
  side takes and the other refuses would leave a cluster with a topic that no broker can load.
- Names with '.' and '_' in the same places collide, for both become '_' in metric names. That
  relation is an equivalence; identity is told first, as TopicExists.
- An operator's policy is asked last, when nothing but its no stands in the way (`policy`).

Worked example. Three brokers, and a topic `orders_eu` exists:

    request                                     answer
    orders.eu, 3 partitions, rf 2               InvalidTopic: collides with orders_eu
    orders.eu, 3 partitions, rf 4               InvalidReplicationFactor: placement comes first
    payments, rf 2, retention.ms=1d             InvalidConfiguration: not a whole number
    payments, rf 2, min.cleanable.dirty.ratio=1d  NewTopic: as a double `1d` is 1
    payments twice in one batch                 DuplicateInRequest for both

Configs. `config_table` has every config of Kafka 3.9 and 4.1, `configs` judges a map of them,
`effective` says which value counts in the end and where it came from.
"""

from kedge.topics.alteration import (
    Alteration,
    Op,
    apply_alterations,
    refuse_absent_keys,
    refuse_repeated_keys,
)
from kedge.topics.auto_create import AutoCreate, InternalTopic, automatic_request, judge_auto_create
from kedge.topics.config_keys import ConfigKey, Release, Synonym
from kedge.topics.config_table import V3_9, V4_1
from kedge.topics.config_text import parse_add_config, parse_delete_config, parse_topic_configs
from kedge.topics.config_types import ConfigType, Value
from kedge.topics.configs import normalize, parse_value, validate_configs
from kedge.topics.configure import NewConfigs, describe_topic, judge_alter, judge_replace
from kedge.topics.create import (
    CreateBatch,
    CreateRequest,
    NewTopic,
    judge_create,
    judge_creates,
)
from kedge.topics.delete import DeleteRequest, Marked, judge_delete, judge_deletes
from kedge.topics.effective import (
    BrokerConfigs,
    Described,
    Setting,
    Source,
    broker_defaults,
    describe,
    effective_value,
)
from kedge.topics.expand import ExpandRequest, NewPartitions, judge_expand, judge_expands
from kedge.topics.ids import TopicId, decode_id, encode_id, is_reserved, new_topic_id, topic_id
from kedge.topics.names import (
    collides,
    colliding,
    has_collision_chars,
    is_internal,
    is_valid_name,
    validate_name,
)
from kedge.topics.policy import (
    AlterPolicy,
    AlterProposal,
    CreatePolicy,
    CreateProposal,
    FrozenConfigs,
    Limits,
    Policy,
    all_of,
    allow,
)
from kedge.topics.tiered import TieredRules, judge_tiered
from kedge.topics.validation import Flavour, judge_shape, judge_shape_kraft, validate_create
from kedge.topics.view import BY_DEFAULT, ClusterView, Defaults, at_rest

__all__ = [
    "BY_DEFAULT",
    "V3_9",
    "V4_1",
    "AlterPolicy",
    "AlterProposal",
    "Alteration",
    "AutoCreate",
    "BrokerConfigs",
    "ClusterView",
    "ConfigKey",
    "ConfigType",
    "CreateBatch",
    "CreatePolicy",
    "CreateProposal",
    "CreateRequest",
    "Defaults",
    "DeleteRequest",
    "Described",
    "ExpandRequest",
    "Flavour",
    "FrozenConfigs",
    "InternalTopic",
    "Limits",
    "Marked",
    "NewConfigs",
    "NewPartitions",
    "NewTopic",
    "Op",
    "Policy",
    "Release",
    "Setting",
    "Source",
    "Synonym",
    "TieredRules",
    "TopicId",
    "Value",
    "all_of",
    "allow",
    "apply_alterations",
    "at_rest",
    "automatic_request",
    "broker_defaults",
    "collides",
    "colliding",
    "decode_id",
    "describe",
    "describe_topic",
    "effective_value",
    "encode_id",
    "has_collision_chars",
    "is_internal",
    "is_reserved",
    "is_valid_name",
    "judge_alter",
    "judge_auto_create",
    "judge_create",
    "judge_creates",
    "judge_delete",
    "judge_deletes",
    "judge_expand",
    "judge_expands",
    "judge_replace",
    "judge_shape",
    "judge_shape_kraft",
    "judge_tiered",
    "new_topic_id",
    "normalize",
    "parse_add_config",
    "parse_delete_config",
    "parse_topic_configs",
    "parse_value",
    "refuse_absent_keys",
    "refuse_repeated_keys",
    "topic_id",
    "validate_configs",
    "validate_create",
    "validate_name",
]
