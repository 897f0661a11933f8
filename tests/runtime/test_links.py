"""What a broker's answer becomes in the controller's queue."""

import pytest

from kedge.controller.events import LeaderAndIsrAnswered, ReplicasDeleted
from kedge.model import BrokerId, TopicPartition
from kedge.model.broker_requests import (
    BrokerAnswer,
    BrokerRequest,
    LeaderAndIsr,
    Sender,
    StopEntry,
    StopReplica,
)
from kedge.model.error_codes import ErrorCode
from kedge.runtime.broker_links import event_of

TP = TopicPartition("t", 0)
SENDER = Sender(BrokerId(100), 7, 12)


@pytest.mark.parametrize(
    "request_sent",
    [
        LeaderAndIsr(BrokerId(2), 7, SENDER, {}, {}, ()),
        StopReplica(BrokerId(2), 4, SENDER, {TP: StopEntry(3, True)}),
    ],
)
def test_an_answer_names_the_epochs_that_it_was_asked_in(request_sent: BrokerRequest) -> None:
    event = event_of(request_sent, BrokerAnswer(errors={TP: ErrorCode.NONE}))
    assert isinstance(event, LeaderAndIsrAnswered | ReplicasDeleted)
    assert (event.controller_epoch, event.broker_epoch) == (7, 12)
