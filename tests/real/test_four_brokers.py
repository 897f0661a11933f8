"""The clusters of four brokers: what a kill leaves, and what their users may do."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from jvm import KAFKA_4_1
from kedge.cluster.access import access_from
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import ConfigChange, ConfigOp, Replica, broker_resource, topic_resource
from kedge.cluster.properties import parse_properties
from kedge.errors import Unauthorised
from kedge.model import BrokerId, TopicPartition
from tests.real import clusters
from tests.real.four_brokers import KILLABLE, FourBrokers
from tests.real.kedge_cluster import until
from tests.real.operator import Operator
from tests.real.rights import ALTERS_CONFIGS_ONLY, client_with

pytestmark = pytest.mark.real

TOPIC = "kept"
TP = TopicPartition(TOPIC, 0)
RATE = "leader.replication.throttled.rate"
B4 = BrokerId(KILLABLE)


@pytest.fixture
def operator(four: FourBrokers, tmp_path: Path) -> Generator[Operator]:
    operator = Operator(four, tmp_path)
    operator.create(TOPIC, {0: (1, KILLABLE)})
    yield operator
    operator.delete(TOPIC)
    operator.close()


def test_a_killed_broker_comes_back_with_its_replicas_and_its_throttle(
    four: FourBrokers, operator: Operator
) -> None:
    operator.fill(TOPIC, [0], 100_000)
    replica, directory = Replica(TOPIC, 0, B4), four.log_dirs(KILLABLE)[1]
    operator.move_directory({replica: directory})
    admin, place, named = operator.admin, broker_resource(B4), f"broker {KILLABLE}: {RATE}"
    assert admin.alter_configs({place: [ConfigChange(RATE, value="1000000")]}) == {place: None}
    until(lambda: operator.throttles() == [named])

    four.kill()
    four.await_gone()
    assert operator.throttles() == [named]
    assert four.down == (KILLABLE,)
    four.start()
    assert operator.directories([TOPIC])[replica] == directory
    until(lambda: operator.partitions([TOPIC])[TP].isr == (1, KILLABLE))

    with pytest.raises(AssertionError, match=RATE):
        operator.assert_no_throttles(within_s=0)
    removal = [ConfigChange(RATE, ConfigOp.DELETE)]
    assert operator.admin.alter_configs({place: removal}) == {place: None}
    operator.assert_no_throttles()


def test_rights_to_alter_configs_are_none_to_reassign(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    four = clusters.four(pytestconfig, KAFKA_4_1)
    security = clusters.security_of_four(pytestconfig)
    file = client_with(ALTERS_CONFIGS_ONLY, security, four.bootstrap, tmp_path / "p", "mallory")
    operator = Operator(four, tmp_path)
    operator.create("guarded", {0: (1, 2)})
    admin = KafkaAdmin(security.bootstrap, access_from(parse_properties(file.read_text())))
    change = [ConfigChange("retention.ms", value="100000000")]
    place = topic_resource("guarded")
    assert admin.alter_configs({place: change}) == {place: None}
    broker = broker_resource(BrokerId(1))
    rate = [ConfigChange(RATE, value="1000000")]
    assert admin.alter_configs({broker: rate}, validate_only=True) == {broker: None}
    with pytest.raises(Unauthorised):
        admin.alter_reassignments({TopicPartition("guarded", 0): [BrokerId(2), BrokerId(3)]})
    operator.delete("guarded")
    admin.close()
    operator.close()
