"""Jobs on real brokers: a broker is emptied, stopped and forgotten."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from kedge.errors import KedgeError, UnknownBroker
from kedge.model import BrokerId
from tests.real.four_brokers import KILLABLE, FourBrokers
from tests.real.operator import Operator

pytestmark = pytest.mark.real

TOPIC = "drained"
B4 = BrokerId(KILLABLE)
ASSIGNMENT = {0: (4, 1), 1: (1, 4), 2: (2, 3), 3: (4, 3)}


@pytest.fixture
def operator(four: FourBrokers, tmp_path: Path) -> Generator[Operator]:
    operator = Operator(four, tmp_path)
    operator.create(TOPIC, ASSIGNMENT)
    operator.fill(TOPIC, [0, 1, 2, 3], 500_000)
    yield operator
    if four.down:
        four.start()
    operator.delete(TOPIC)
    operator.close()


def stored(operator: Operator) -> int:
    """How many replicas the fourth broker has in its log directories."""
    dirs = operator.admin.log_dirs([B4])[B4]
    assert not isinstance(dirs, KedgeError), dirs
    return sum(len(each.replicas) for each in dirs)


def test_a_broker_is_drained_and_stays_empty_or_gets_everything_back(
    four: FourBrokers, operator: Operator
) -> None:
    before = operator.replicas([TOPIC])
    unregister = () if four.zookeeper else ("--unregister",)
    done = operator.attempt("drain", "4", *unregister, "--yes")
    assert done.json["done"] >= 3
    assert done.json["left_on_brokers"] == {}
    assert stored(operator) == 0
    assert all(4 not in ids for ids in operator.replicas([TOPIC]).values())
    operator.assert_no_throttles()
    if four.zookeeper:
        assert done.code == 0
        assert operator.run("undo", "--yes")["complete"]
        assert operator.replicas([TOPIC]) == before
        return
    assert done.code == 1  # it is alive
    four.kill()
    four.await_gone()
    assert operator.run("drain", "4", "--unregister", "--yes")["unregistered"] == [4]
    assert isinstance(operator.admin.unregister_broker(B4), UnknownBroker)
