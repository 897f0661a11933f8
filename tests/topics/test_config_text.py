from __future__ import annotations

import pytest

from kedge.errors import MalformedInput
from kedge.topics import parse_add_config, parse_delete_config, parse_topic_configs


@pytest.mark.parametrize(
    ("text", "configs"),
    [
        ("a=1", {"a": "1"}),
        ("a=", {"a": ""}),
        ("a=1,b=2", {"a": "1", "b": "2"}),
        (" a = 1 , b = 2 ", {"a": "1", "b": "2"}),
        ("a=[1,2],b=3", {"a": "1,2", "b": "3"}),
        ("a=[x=1,y=2]", {"a": "x=1,y=2"}),
        ("a=1,,", {"a": "1"}),
        ("a=1,a=2", {"a": "2"}),
        ("=1", {"": "1"}),
    ],
)
def test_add_config(text: str, configs: dict[str, str]) -> None:
    assert parse_add_config(text) == configs


@pytest.mark.parametrize("text", ["", "a", "a=b=c", ",a=1", "a=1,,b=2", "é=1", "a b=1"])
def test_what_cannot_be_added(text: str) -> None:
    with pytest.raises(MalformedInput):
        parse_add_config(text)


def test_commas_count_for_nothing_between_brackets_but_kafka_topics_has_none() -> None:
    assert parse_topic_configs(["cleanup.policy=compact,delete", "a = [b]"]) == {
        "cleanup.policy": "compact,delete",
        "a": "[b]",
    }


@pytest.mark.parametrize("text", ["", "k", "k=", "k==v", "k=a=b", "=", " = "])
def test_what_kafka_topics_does_not_take(text: str) -> None:
    with pytest.raises(MalformedInput, match="key=value"):
        parse_topic_configs([text])


def test_an_equals_sign_at_the_end_is_dropped_by_kafka_topics() -> None:
    assert parse_topic_configs(["k=v=", "=v"]) == {"k": "v", "": "v"}


def test_delete_config() -> None:
    assert parse_delete_config(["a, b", "c"]) == ["a", "b", "c"]
    with pytest.raises(MalformedInput, match="'a b'"):
        parse_delete_config(["a b"])
