"""Kafka's files, read: what passes, what is refused, with which class and at which place.

Each row was asked of Kafka 3.9.1's own parser.
"""

from __future__ import annotations

import pytest

from kedge.errors import KedgeError, MalformedInput, MalformedJson, RefusedCommand
from kedge.model import TopicPartition
from kedge.plan import (
    PartitionReplica,
    checked_for_execute,
    parse_election,
    parse_execute,
    parse_reassignment,
    parse_topics_to_move,
)

FOO = '{"topic":"foo","partition":0,"replicas":[1,2]}'


def file(*entries: str) -> str:
    return '{"version":1,"partitions":[' + ",".join(entries) + "]}"


def foo(more: str = "", replicas: str = "[1,2]", partition: str = "0") -> str:
    fields = f'"topic":"foo","partition":{partition},"replicas":{replicas}'
    return file("{" + fields + more + "}")


@pytest.mark.parametrize(
    "text",
    [
        file(FOO),
        f'{{"partitions":[{FOO}]}}',
        f" \n\t\r{file(FOO)}",
        file(FOO) + " trailing",
        file(FOO) + "}",
        file(FOO) + file(FOO),
        f'{{"version":2,"version":1,"partitions":[],"partitions":[{FOO}]}}',
        foo(',"colour":"green"'),
        foo(',"x":1.5e300'),
        foo(',"x":1e999999'),
        foo(',"x":' + "9" * 1000),
        foo(partition="-0"),
        foo(',"log_dirs":["any","any"]'),
        '{"version":1,"partitions":[{"topic":"bar","topic":"foo","partition":7,"partition":0,'
        '"replicas":[9],"replicas":[1,2]}]}',
    ],
)
def test_these_texts_all_say_the_same(text: str) -> None:
    found = parse_execute(text)
    assert found.targets == {TopicPartition("foo", 0): (1, 2)}
    assert found.log_dir_moves == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{",
        "-",
        "12abc",
        "1,",
        "01",
        "nullnull",
        "truex",
        "NaN",
        "\ufeff" + file(FOO),
        "\xa0{}",
        "\x0b{}",
        "{'version':1}",
        '{"version":01}',
        '{"version":+1}',
        '{"version":.5}',
        '{"version":1.}',
        '{"version":NaN}',
        '{"version":Infinity}',
        '{"version":-Infinity}',
        '{"version":1,}',
        '{"version":1 /* one */}',
        '{"version":1',
        '{"version":1 "partitions":[]}',
        file(FOO + ","),
        file('{"topic":"a\tb","partition":0,"replicas":[1]}'),
        file('{"topic":"a\\xb","partition":0,"replicas":[1]}'),
        foo(',"x":' + "9" * 1001),
        foo(',"x":1.' + "9" * 1000),
        "[" * 100_000,
    ],
)
def test_what_is_not_json_is_malformed_input(text: str) -> None:
    for parse in (parse_execute, parse_reassignment, parse_topics_to_move, parse_election):
        with pytest.raises(MalformedInput) as refused:
            parse(text)
        assert type(refused.value) is MalformedInput


@pytest.mark.parametrize("version", ["0", "2", "-1", "-0", "2147483647"])
def test_only_version_1_is_supported(version: str) -> None:
    for parse in (parse_reassignment, parse_topics_to_move):
        with pytest.raises(MalformedInput, match=r"version: .* is not supported") as refused:
            parse(f'{{"version":{version},"partitions":5,"topics":5}}')
        assert type(refused.value) is MalformedInput


NO_INT = ["1.0", "1.5", "1e2", '"1"', "null", "true", "2147483648", "9223372036854775808", "[]"]


@pytest.mark.parametrize("value", NO_INT)
def test_a_number_is_never_converted(value: str) -> None:
    for text, place in [
        (f'{{"version":{value}}}', "version"),
        (foo(partition=value), "partitions[0].partition"),
        (foo(replicas=f"[1,{value}]"), "partitions[0].replicas[1]"),
    ]:
        with pytest.raises(MalformedJson) as refused:
            parse_execute(text)
        assert refused.value.place == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("  \n", ""),
        ("null", ""),
        ("[]", ""),
        ("1", ""),
        ("1 2", ""),
        ("true false", ""),
        ('"x"y', ""),
        ('{"partitions":null}', "partitions"),
        ('{"partitions":{}}', "partitions"),
        ('{"partitions":[[]]}', "partitions[0]"),
        ('{"partitions":[null]}', "partitions[0]"),
        (file(FOO, '"foo-1"'), "partitions[1]"),
        (file("{}"), "partitions[0]"),
        (file('{"topic":"foo","partition":0}'), "partitions[0]"),
        (file('{"topic":"foo","replicas":[1]}'), "partitions[0]"),
        (file('{"partition":0,"replicas":[1]}'), "partitions[0]"),
        (file('{"topic":null,"partition":0,"replicas":[1]}'), "partitions[0].topic"),
        (file('{"topic":5,"partition":0,"replicas":[1]}'), "partitions[0].topic"),
        (foo(replicas="null"), "partitions[0].replicas"),
        (foo(replicas="{}"), "partitions[0].replicas"),
        (foo(replicas="1"), "partitions[0].replicas"),
        (foo(',"log_dirs":null'), "partitions[0].log_dirs"),
        (foo(',"log_dirs":"any"'), "partitions[0].log_dirs"),
        (foo(',"log_dirs":["any",null]'), "partitions[0].log_dirs[1]"),
        (foo(',"log_dirs":[1,"any"]'), "partitions[0].log_dirs[0]"),
    ],
)
def test_json_of_the_wrong_shape_is_refused_with_its_place(text: str, place: str) -> None:
    for parse in (parse_execute, parse_reassignment):
        with pytest.raises(MalformedJson) as refused:
            parse(text)
        assert refused.value.place == place


def test_directories_must_be_as_many_as_replicas_even_for_verify() -> None:
    for log_dirs in ("[]", '["any"]', '["any","any","any"]'):
        with pytest.raises(RefusedCommand, match=r"partitions\[0\].log_dirs"):
            parse_reassignment(foo(f',"log_dirs":{log_dirs}'))


SENSELESS = {
    "lists no partition": '{"version":1}',
    "would have no replica": file(FOO, '{"topic":"a","partition":0,"replicas":[]}'),
    "foo-0 more than once": file(FOO, '{"topic":"foo","partition":0,"replicas":[2]}'),
    "broker 3 more than once": file('{"topic":"a","partition":0,"replicas":[3,1,3]}'),
}


@pytest.mark.parametrize(("what", "text"), SENSELESS.items())
def test_execute_refuses_what_verify_takes(what: str, text: str) -> None:
    read = parse_reassignment(text)
    with pytest.raises(RefusedCommand, match=what):
        checked_for_execute(read)


def test_of_several_faults_execute_names_them_in_kafkas_order() -> None:
    entries = ['{"topic":"a","partition":0,"replicas":[3,3]}'] * 2
    with pytest.raises(RefusedCommand, match="a-0 more than once"):
        parse_execute(file(*entries))
    with pytest.raises(RefusedCommand, match="no replica"):
        parse_execute(file(*entries, '{"topic":"b","partition":0,"replicas":[]}'))


def test_names_and_ids_are_not_checked_when_read() -> None:
    found = parse_execute(file('{"topic":"","partition":-1,"replicas":[-1,2147483647]}'))
    assert found.targets == {TopicPartition("", -1): (-1, 2147483647)}


def test_a_directory_is_moved_to_unless_it_is_exactly_any() -> None:
    found = parse_execute(foo(',"log_dirs":["ANY"," any"]'))
    assert found.log_dir_moves == {
        PartitionReplica("foo", 0, found.entries[0].replicas[0]): "ANY",
        PartitionReplica("foo", 0, found.entries[0].replicas[1]): " any",
    }


def test_of_two_lines_for_a_partition_verify_takes_the_last() -> None:
    found = parse_reassignment(file(FOO, '{"topic":"foo","partition":0,"replicas":[7]}'))
    assert found.targets == {TopicPartition("foo", 0): (7,)}


def test_topics_come_in_the_order_of_the_file() -> None:
    assert parse_topics_to_move('{"topics":[{"topic":"b"},{"topic":"a","x":1}]} x') == ("b", "a")
    assert parse_topics_to_move("{}") == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"topics":[{"topic":"a"},{"topic":"b"},{"topic":"a"}]}', RefusedCommand),
        ('{"topics":null}', MalformedJson),
        ('{"topics":["a"]}', MalformedJson),
        ('{"topics":[{}]}', MalformedJson),
        ('{"topics":[{"topic":1}]}', MalformedJson),
        ('{"version":"1","topics":[]}', MalformedJson),
    ],
)
def test_a_topics_file_that_cannot_be_is_refused(text: str, kind: type[KedgeError]) -> None:
    with pytest.raises(kind) as refused:
        parse_topics_to_move(text)
    assert type(refused.value) is kind


def test_an_election_file_needs_no_version_and_reads_none() -> None:
    text = '{"version":"x","partitions":[{"topic":"b","partition":2},{"topic":"a","partition":1}]}'
    assert parse_election(text) == (("b", 2), ("a", 1))
    assert parse_election('{"partitions":[]}') == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{}", MalformedInput),
        (
            '{"partitions":[{"topic":"a","partition":1},{"topic":"a","partition":1}]}',
            MalformedInput,
        ),
        ('{"partitions":null}', MalformedJson),
        ('{"partitions":[{"topic":"a"}]}', MalformedJson),
        ('{"partitions":[{"topic":"a","partition":"1"}]}', MalformedJson),
    ],
)
def test_an_election_file_that_cannot_be_is_refused(text: str, kind: type[KedgeError]) -> None:
    with pytest.raises(kind) as refused:
        parse_election(text)
    assert type(refused.value) is kind


def test_a_fault_in_the_text_is_named_by_line_and_column() -> None:
    with pytest.raises(MalformedInput, match="line 2 column 15"):
        parse_execute('{"version": 1,\n "partitions":x}')
