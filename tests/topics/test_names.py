from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidRequest, InvalidTopic
from kedge.topics import (
    collides,
    colliding,
    has_collision_chars,
    is_internal,
    is_valid_name,
    validate_name,
)
from kedge.topics.names import TopicNames, refuse_reserved

NAMES = st.text(alphabet="ab._-", max_size=4)


@pytest.mark.parametrize(
    "name", ["a", "...", "-", "_", "A.b_c-9", "a" * 249, "__consumer_offsets", "0"]
)
def test_legal_names(name: str) -> None:
    validate_name(name)
    assert is_valid_name(name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        (".", "cannot be named"),
        ("..", "cannot be named"),
        ("a" * 250, "250 characters"),
        ("a b", "contains ' '"),
        ("a\n", "contains '\\n'"),
        ("é", "contains 'é'"),
        ("٣", "contains"),
        ("a/b", "contains '/'"),
    ],
)
def test_illegal_names_say_why(name: str, why: str) -> None:
    with pytest.raises(InvalidTopic, match=why.replace("\\", "\\\\")):
        validate_name(name)
    assert not is_valid_name(name)


@given(st.text(max_size=4))
def test_judging_and_asking_agree(name: str) -> None:
    try:
        validate_name(name)
    except InvalidTopic:
        assert not is_valid_name(name)
    else:
        assert is_valid_name(name)


@given(NAMES, NAMES, NAMES)
def test_collision_is_an_equivalence(a: str, b: str, c: str) -> None:
    assert collides(a, a)
    assert collides(a, b) == collides(b, a)
    if collides(a, b) and collides(b, c):
        assert collides(a, c)


@given(NAMES, NAMES)
def test_names_without_dots_and_underscores_collide_with_themselves_only(a: str, b: str) -> None:
    if not has_collision_chars(a):
        assert collides(a, b) == (a == b)


def test_a_dash_never_collides_and_case_matters() -> None:
    assert not collides("a-b", "a_b")
    assert not collides("A.b", "a.b")


def test_colliding_topics_are_named_in_order() -> None:
    assert colliding("a.b", ["a__b", "a_b", "a.b", "ab"]) == ["a.b", "a_b"]
    assert colliding("ab", ["ab"]) == []


def test_three_topics_are_internal() -> None:
    internal = ["__consumer_offsets", "__transaction_state", "__share_group_state"]
    assert all(map(is_internal, internal))
    assert not is_internal("__cluster_metadata")


def test_the_clusters_own_topic_cannot_be_created() -> None:
    with pytest.raises(InvalidRequest, match="__cluster_metadata"):
        refuse_reserved("__cluster_metadata")


@given(st.lists(NAMES, max_size=8), NAMES)
def test_indexed_names_collide_as_listed_ones_do(names: list[str], name: str) -> None:
    indexed = TopicNames(names)
    assert colliding(name, indexed) == colliding(name, set(names))
    assert (name in indexed) == (name in names)
    assert sorted(indexed) == sorted(set(names))
    assert len(indexed) == len(set(names))
