"""The documentation draws the states of the quorum as the code has them."""

from tests.docs.quorum_states import generated, written


def test_the_states_in_the_documentation_are_those_of_the_code() -> None:
    assert written() == generated(), "write them with: python -m tests.docs.quorum_states"
