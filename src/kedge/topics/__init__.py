"""Rules for topics: validates what clients request, and returns what is to be written.

A request and a view of the cluster go in, a value comes out: what is to be written, or why not.
Nothing is read or written here, and random numbers come only from the `draw` that is passed in. The
writing is in `kedge.topic_changes`.

    create        a new topic: counts or replica lists, configs       → NewTopic
    expand        more partitions for a topic                         → NewPartitions
    delete        a topic, by name or id                              → Marked
    alter_configs configs set, deleted, appended to, subtracted from  → NewConfigs
    auto_create   an unknown topic that a client named                → CreateRequest

Rules.

- The sequence of checks is Kafka's and is part of the answer: of two faults the caller gets the one
  that Kafka would report. Each module gives its sequence at the top.
- `validate_…` raises the first refusal. `validate_…s` takes a batch and puts refusals beside the
  successes.
- Values are parsed exactly as Kafka's brokers parse them (`config_types`): a text that one side
  accepts and the other refuses would leave a cluster with a topic that no broker can load.
- Names with '.' and '_' in the same places collide, because both become '_' in metric names. That
  relation is an equivalence; an equal name is reported first, as TopicExists.
- An operator's policy is checked last (`policy`).

Worked example. Three brokers, and a topic `orders_eu` exists:

    request                                     answer
    orders.eu, 3 partitions, rf 2               InvalidTopic: collides with orders_eu
    orders.eu, 3 partitions, rf 4               InvalidReplicationFactor: placement comes first
    payments, rf 2, retention.ms=1d             InvalidConfiguration: not a whole number
    payments, rf 2, min.cleanable.dirty.ratio=1d  NewTopic: as a double `1d` is 1
    payments twice in one batch                 DuplicateInRequest for both

Configs. `config_table` has every config of Kafka 3.9 and 4.1, `configs` validates a map of them,
`effective` returns the value that applies and its source.
"""

from kedge.topics.alter_configs import NewConfigs, describe_topic, validate_alter, validate_replace
from kedge.topics.auto_create import (
    AutoCreate,
    InternalTopic,
    automatic_request,
    validate_auto_create,
)
from kedge.topics.config_keys import ConfigKey, Release, Synonym
from kedge.topics.config_steps import (
    Alteration,
    Op,
    apply_alterations,
    refuse_absent_keys,
    refuse_repeated_keys,
)
from kedge.topics.config_table import V3_9, V4_1
from kedge.topics.config_text import parse_add_config, parse_delete_config, parse_topic_configs
from kedge.topics.config_types import ConfigType, Value
from kedge.topics.configs import normalize, parse_value, validate_configs
from kedge.topics.create import (
    CreateBatch,
    CreateRequest,
    NewTopic,
    validate_create,
    validate_creates,
)
from kedge.topics.delete import DeleteRequest, Marked, validate_delete, validate_deletes
from kedge.topics.effective import (
    BrokerConfigs,
    Described,
    Setting,
    Source,
    broker_defaults,
    describe,
    effective_value,
)
from kedge.topics.expand import ExpandRequest, NewPartitions, validate_expand, validate_expands
from kedge.topics.ids import TopicId, decode_id, encode_id, is_reserved, new_topic_id, topic_id
from kedge.topics.layout import Flavour, validate_new_topic, validate_shape, validate_shape_kraft
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
from kedge.topics.tiered import TieredRules, validate_tiered
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
    "new_topic_id",
    "normalize",
    "parse_add_config",
    "parse_delete_config",
    "parse_topic_configs",
    "parse_value",
    "refuse_absent_keys",
    "refuse_repeated_keys",
    "topic_id",
    "validate_alter",
    "validate_auto_create",
    "validate_configs",
    "validate_create",
    "validate_creates",
    "validate_delete",
    "validate_deletes",
    "validate_expand",
    "validate_expands",
    "validate_name",
    "validate_new_topic",
    "validate_replace",
    "validate_shape",
    "validate_shape_kraft",
    "validate_tiered",
]
