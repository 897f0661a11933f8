"""The persistent map beside a plain dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kedge.metadata.persistent_map import PersistentMap

EDITS = st.lists(st.tuples(st.sampled_from(["set", "discard"]), st.integers(0, 600)), max_size=60)


@given(st.lists(EDITS, max_size=6))
def test_edits_are_those_of_a_dictionary_and_old_maps_stay(
    rounds: list[list[tuple[str, int]]],
) -> None:
    plain: dict[int, int] = {}
    made: PersistentMap[int, int] = PersistentMap()
    versions = [(made, dict(plain))]
    for number, edits in enumerate(rounds):
        edit = made.edit()
        for what, key in edits:
            if what == "set":
                edit[key] = number
                plain[key] = number
            else:
                edit.discard(key)
                plain.pop(key, None)
            assert edit.get(key) == plain.get(key)
        made = edit.finish()
        versions.append((made, dict(plain)))
    for version, expected in versions:
        assert dict(version) == expected
        assert len(version) == len(expected)


def test_an_edit_can_go_on_after_it_was_finished() -> None:
    edit = PersistentMap({1: "a"}).edit()
    edit[2] = "b"
    first = edit.finish()
    edit[2] = "c"
    assert first[2] == "b"
    assert edit.finish()[2] == "c"
