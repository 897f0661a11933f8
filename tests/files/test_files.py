from __future__ import annotations

import gzip
import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import InvalidRequest, KedgeError, MalformedInput
from kedge.files import (
    TableLimits,
    path_component,
    read_bytes,
    read_parquet,
    read_snapshot,
    sha256_of_snapshot,
    write_atomically,
    write_snapshot,
)
from kedge.files.parquet_size import parquet_size
from kedge.model import Snapshot, parse_snapshot
from kedge.model.arrow import TableReader
from tests.model.examples import example
from tests.model.strategies import snapshots

EXAMPLE = parse_snapshot(orjson.dumps(example()))
FORMS = ["s.json", "s.json.gz", "s"]


def refused(path: Path, **options: Any) -> str:
    """The sentence that reading is refused with; it starts with the path and is one line."""
    with pytest.raises(KedgeError) as refusal:
        read_snapshot(path, **options)
    text = str(refusal.value)
    assert text.startswith(f"{path}")
    assert "\n" not in text
    return text.removeprefix(f"{path}").removeprefix(": ")


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_back_the_same_snapshot(name: str, tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path / name)
    again = read_snapshot(tmp_path / name)
    assert again == EXAMPLE
    assert sha256_of_snapshot(again) == sha256_of_snapshot(EXAMPLE)


@settings(max_examples=20, deadline=None)
@given(snapshot=snapshots())
def test_parquet_files_give_back_any_snapshot(
    snapshot: Snapshot, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "s"
    write_snapshot(snapshot, path)
    assert read_snapshot(path) == snapshot


@pytest.mark.parametrize("name", FORMS)
def test_writing_again_replaces_what_was_there(name: str, tmp_path: Path) -> None:
    other = example()
    other["cluster_id"] = "prod-us"
    write_snapshot(EXAMPLE, tmp_path / name)
    write_snapshot(parse_snapshot(orjson.dumps(other)), tmp_path / name)
    assert read_snapshot(tmp_path / name).cluster_id == "prod-us"


def test_the_digest_is_what_sha256sum_says_of_the_file(tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path / "s.json")
    of_file = hashlib.sha256((tmp_path / "s.json").read_bytes()).hexdigest()
    assert of_file == sha256_of_snapshot(EXAMPLE)


def test_gzip_is_told_by_content_and_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(gzip.compress(orjson.dumps(example())))
    assert read_snapshot(path) == EXAMPLE


def test_the_same_snapshot_packs_to_the_same_bytes(tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path / "a.json.gz")
    write_snapshot(EXAMPLE, tmp_path / "b.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_a_table_may_be_a_directory_of_parts(tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path / "s")
    whole = tmp_path / "s" / "partitions.parquet"
    table = pq.ParquetFile(whole).read()
    whole.unlink()
    whole.mkdir()
    pq.write_table(table.slice(0, 1), whole / "part-00000.snappy.parquet")
    pq.write_table(table.slice(1), whole / "part-00001.snappy.parquet")
    (whole / "_SUCCESS").touch()
    (whole / "_temporary.parquet").write_bytes(b"half")
    assert read_snapshot(tmp_path / "s") == EXAMPLE


def test_columns_that_nobody_knows_are_not_read(tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path / "s")
    path = tmp_path / "s" / "brokers.parquet"
    table = pq.ParquetFile(path).read()
    pq.write_table(table.append_column("extra", pa.array([b"x"] * 3)), path)
    assert read_snapshot(tmp_path / "s") == EXAMPLE


# ---- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the file is empty"),
        (b"{", "not JSON at line 1"),
        (gzip.compress(b""), "the file is empty"),
        (gzip.compress(b"x" * 100)[:-12], "the gzip data ends too early; it may be half written"),
        (gzip.compress(b"{}")[:5], "the gzip data ends too early"),
        (b"\x1f\x8bnonsense", "the gzip data is damaged"),
        (gzip.compress(b"{}")[:-8] + b"\0" * 8, "the gzip data is damaged"),
        (gzip.compress(b"{}") + b"tail", "the gzip data is damaged"),
        (b"PAR1....PAR1", "a single Parquet table is no snapshot; name the directory"),
        (b"{}", "format: missing"),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused(data: bytes, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(data)
    assert refused(path).startswith(sentence)


def test_a_fault_is_said_with_the_file_and_the_place(tmp_path: Path) -> None:
    document = example()
    document["topics"][0]["partitions"][1]["replicas"] = [9]
    path = tmp_path / "s.json"
    path.write_bytes(orjson.dumps(document))
    with pytest.raises(MalformedInput) as refusal:
        read_snapshot(path)
    place = f"{path}: topics[0].partitions[1].replicas"
    assert str(refusal.value) == f"{place}: broker 9 is not in brokers"
    assert refusal.value.place == place


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json"
    path.write_bytes(gzip.compress(b" " * 10_000_000))
    sentence = "more than 1000000 bytes; is this the right file?"
    assert refused(path, limit=1_000_000) == sentence


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b"x" * 11)
    with pytest.raises(MalformedInput, match="more than 10 bytes"):
        read_bytes(path, 10)
    assert read_bytes(path, 11) == b"x" * 11


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "s.json") == "there is no such file or directory"


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(tmp_path / "file" / "s") == "a part of the path is a file, not a directory"


def test_a_directory_read_as_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="this is a directory, not a file"):
        read_bytes(tmp_path)


def test_a_path_with_a_null_character_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="null character"):
        read_snapshot("a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.touch(mode=0)
    assert refused(path) == "no permission"


def test_a_directory_without_tables_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path) == "/brokers.parquet: there is no such file or directory"


@pytest.mark.parametrize("kept", [0, 3, 100, 2000])
def test_a_half_written_table_is_refused(kept: int, tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path)
    path = tmp_path / "partitions.parquet"
    path.write_bytes(path.read_bytes()[:kept])
    sentence = refused(tmp_path)
    assert sentence.startswith("/partitions.parquet: does not read as Parquet (")
    assert sentence.endswith("; it may be damaged or half written")


def test_damage_anywhere_in_a_table_is_refused_or_harmless(tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path)
    path = tmp_path / "partitions.parquet"
    whole = path.read_bytes()
    for place in range(0, len(whole), 23):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with suppress(KedgeError):  # and nothing else
            read_snapshot(tmp_path)


def _packed(table: pa.Table, **options: Any) -> bytes:
    sink = BytesIO()
    pq.write_table(table, sink, compression="zstd", **options)
    return sink.getvalue()


def test_a_table_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path)
    path = tmp_path / "partitions.parquet"
    rows = pa.table({"topic": ["t"] * 2_000_000, "size": pa.array(range(2_000_000))})
    path.write_bytes(_packed(rows, use_dictionary=["topic"]))
    assert len(path.read_bytes()) < 20_000_000
    assert "bytes unpacked, more than 20000000" in refused(tmp_path, limit=20_000_000)


def _one_list(count: int) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), np.zeros(count, np.int32))


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ({"partition": np.zeros(1_000_001, np.int32)}, "1000001 rows, more than 1000000"),
        ({"replicas": _one_list(2_000_001)}, "column replicas has 2000001 values, more than"),
        ({"size": np.zeros(600_000, np.int64)}, "480"),
    ],
)
def test_a_small_file_of_many_values_is_refused(column: dict[str, Any], sentence: str) -> None:
    data = _packed(pa.table(column))
    assert len(data) < 20_000
    limits = TableLimits(rows=1_000_000, values=2_000_000, decoded_bytes=4_800_000)
    with pytest.raises(MalformedInput) as refusal:
        read_parquet(data, limits=limits)
    assert str(refusal.value).startswith(sentence)


def test_a_long_text_that_is_in_every_row_is_in_memory_once() -> None:
    text = "x" * 1_000_000
    table = pa.table({"topic": pa.array([text]).take(pa.array([0] * 500)), "n": range(500)})
    data = _packed(table)
    assert len(data) < 10_000
    read = read_parquet(data)
    assert read.nbytes < 2_000_000
    names, index = TableReader(read, "t").required_strings("topic")
    assert names == [text]
    assert index.tolist() == [0] * 500


def test_a_text_column_of_unknown_size_is_refused() -> None:
    table = pa.table({"topic": ["x" * 1000] * 1000})
    data = _packed(table, use_dictionary=False, column_encoding={"topic": "DELTA_BYTE_ARRAY"})
    with pytest.raises(MalformedInput, match="topic is encoded as DELTA_BYTE_ARRAY"):
        read_parquet(data)


def test_pages_that_unpack_to_more_than_the_footer_says_are_counted() -> None:
    table = pa.table({"size": pa.array(range(100_000), pa.int64())})
    data = _packed(table, use_dictionary=False)
    size = parquet_size(data).columns["size"]
    honest = pq.read_metadata(BytesIO(data)).row_group(0).column(0).total_uncompressed_size
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    lie = data[:footer] + data[footer:].replace(_varint(honest), _varint(64 * 1024), 1)
    assert lie != data
    assert len(lie) == len(data)
    assert 800_000 <= parquet_size(lie).columns["size"].page_bytes <= size.page_bytes


def _varint(value: int) -> bytes:
    """A number as it stands in a footer: zigzag, seven bits to a byte."""
    value, out = value * 2, bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


@given(rows=st.lists(st.sampled_from(["a", "b", None, "cc"])), repeated=st.booleans())
def test_texts_of_a_dictionary_read_like_plain_ones(rows: list[str | None], repeated: bool) -> None:
    plain = pa.array(rows, pa.string())
    coded = plain.dictionary_encode()
    if repeated:  # every text twice in the dictionary, and one that no row has
        words = [*coded.dictionary.to_pylist(), *coded.dictionary.to_pylist(), "unused"]
        coded = pa.DictionaryArray.from_arrays(coded.indices, pa.array(words, pa.string()))
    results = [TableReader(pa.table({"t": each}), "t").strings("t") for each in (plain, coded)]
    assert results[0][0] == results[1][0]
    assert results[0][1].tolist() == results[1][1].tolist()


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/dev/null"])
@pytest.mark.parametrize("read", [read_bytes, read_snapshot])
def test_what_is_no_regular_file_is_refused(
    kind: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = Path(kind)
    if kind == "pipe":
        path = tmp_path / kind
        os.mkfifo(path)
    with pytest.raises(InvalidRequest, match="not a regular file"):
        read(path)


def test_gzip_that_unpacks_to_far_more_than_text_can_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[]," * 15_000_000))
    assert refused(path).startswith("more than 33554432 bytes")


def test_parts_with_different_columns_are_refused(tmp_path: Path) -> None:
    brokers = tmp_path / "brokers.parquet"
    brokers.mkdir()
    pq.write_table(pa.table({"broker": [1]}), brokers / "a.parquet")
    pq.write_table(pa.table({"broker": ["1"]}), brokers / "b.parquet")
    write_snapshot(EXAMPLE, tmp_path / "s")
    (tmp_path / "s" / "partitions.parquet").rename(tmp_path / "partitions.parquet")
    assert "the Parquet parts have different columns" in refused(tmp_path)


def test_a_directory_without_parts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "brokers.parquet").mkdir()
    assert refused(tmp_path) == "/brokers.parquet: the directory holds no Parquet parts"


def test_several_clusters_are_refused_with_the_path(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"cluster": ["a", "b"], "broker": [1, 1]}), tmp_path / "brokers.parquet"
    )
    rows = {"topic": ["t"], "partition": [0], "replicas": [[1]], "replication_factor": [1]}
    pq.write_table(pa.table({"cluster": ["a"], **rows}), tmp_path / "partitions.parquet")
    assert refused(tmp_path) == "the tables hold 2 clusters: a, b; name one of them"
    assert read_snapshot(tmp_path, cluster="a").cluster_id == "a"
    assert len(read_snapshot(tmp_path, cluster="b")) == 0


@pytest.mark.parametrize("name", FORMS)
def test_the_snapshot_of_another_cluster_is_refused(name: str, tmp_path: Path) -> None:
    write_snapshot(EXAMPLE, tmp_path / name)
    assert refused(tmp_path / name, cluster="x") == "a snapshot of prod-eu, not of x"
    assert read_snapshot(tmp_path / name, cluster="prod-eu") == EXAMPLE


# ---- writing ------------------------------------------------------------------------------------


def test_bytes_are_there_and_nothing_else_is(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x", b"one")
    write_atomically(tmp_path / "x", b"two")
    assert (tmp_path / "x").read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["x"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(InvalidRequest, match="this is a directory, not a file"):
        write_atomically(tmp_path / "taken", b"x")
    with pytest.raises(TypeError):
        write_atomically(tmp_path / "x", "no bytes")  # pyright: ignore[reportArgumentType]
    assert os.listdir(tmp_path) == ["taken"]


def test_a_write_into_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="there is no such file or directory"):
        write_atomically(tmp_path / "no" / "x", b"x")


def test_permissions_of_a_replaced_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch()
    path.chmod(0o640)
    write_atomically(path, b"x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidRequest, match="no ordinary file"):
        write_atomically(tmp_path / "pipe", b"x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_name_that_only_looks_packed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"ends in \.json\.gz"):
        write_snapshot(EXAMPLE, tmp_path / "s.gz")


def test_a_directory_is_not_written_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    with pytest.raises(InvalidRequest, match="this is a file"):
        write_snapshot(EXAMPLE, tmp_path / "s")


# ---- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("prod-eu", "prod-eu"),
        ("kRaft_9.x", "kRaft_9.x"),
        ("../../pwned", "%2E.%2F..%2Fpwned"),
        (".", "%2E"),
        ("", "%"),
        ("a%2Fb", "a%252Fb"),
        ("é\0", "%C3%A9%00"),
    ],
)
def test_a_name_becomes_one_component_of_a_path(name: str, component: str) -> None:
    assert path_component(name) == component


@given(st.text(st.characters(), max_size=300))
def test_no_name_leaves_its_directory(name: str) -> None:
    component = path_component(name)
    assert 0 < len(os.fsencode(component)) <= 200
    assert not component.startswith(".")
    assert not set(component) & set("/\0\n")


@given(st.text(st.sampled_from("./%2Fa"), max_size=8), st.text(st.sampled_from("./%2Fa")))
def test_two_names_never_share_a_path(one: str, other: str) -> None:
    assert (path_component(one) == path_component(other)) == (one == other)


def test_long_names_are_told_apart_by_their_ends() -> None:
    names = [path_component("x" * 400 + end) for end in "ab"]
    assert len(set(names)) == 2
