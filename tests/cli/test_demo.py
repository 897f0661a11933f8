"""The demo, from curtain to curtain."""

from __future__ import annotations

from tests.cli.conftest import Kedge

ACTS = (
    "1. A lab: 9 brokers on 3 racks, in this process",
    "2. Topics, created in every way that exists",
    "3. Growth and configs",
    "4. A reassignment with a throttle, and its progress",
    "5. A reassignment that is cancelled",
    "6. Broker 4 is killed, and comes back",
    "7. The controller fails in the middle of a reassignment",
    "8. A topic is deleted",
)


def test_the_demo_tells_its_story_to_the_end(kedge: Kedge) -> None:
    outcome = kedge("demo")
    assert outcome.code == 0, outcome.err
    told = [line for line in outcome.out.splitlines() if line[:1].isdigit() and line[1:3] == ". "]
    assert told == list(ACTS)
    assert "Reassignment of partition views-0 is completed." in outcome.out
    assert "The end, after" in outcome.out
