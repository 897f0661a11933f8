"""The documentation tells one reassignment in both modes as the code carries it out."""

from tests.docs.reassignment_story import generated, written


def test_the_story_of_a_reassignment_is_that_of_the_code() -> None:
    assert written() == generated(), "write it with: python -m tests.docs.reassignment_story"
