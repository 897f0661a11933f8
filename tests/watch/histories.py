"""Histories of samples for tests: brokers with round loads, a sample a minute."""

from dataclasses import replace

from kedge.watch.policy import Detection, Policy
from kedge.watch.samples import BrokerSample, Sample

GB = 1e9
POLICY = Policy(
    detect=Detection(
        broker_down_for_s=300,
        under_replicated_for_s=300,
        windows=3,
        window_s=300,
        new_broker_after_s=300,
        leaders_away_for_s=300,
    )
)


def broker(number: int, disk: float = 100.0, **changes: object) -> BrokerSample:
    made = BrokerSample(number, True, None, 10, 3, disk * GB, 1000 * GB, 5e6, 9e6, 2.0)
    return replace(made, **changes)  # pyright: ignore[reportArgumentType]


def sample(minute: float, *brokers: BrokerSample, **changes: object) -> Sample:
    made = Sample(60.0 * minute, brokers or (broker(1), broker(2), broker(3)), partitions=30)
    return replace(made, **changes)  # pyright: ignore[reportArgumentType]


def minutes(count: int, *brokers: BrokerSample, **changes: object) -> list[Sample]:
    return [sample(minute, *brokers, **changes) for minute in range(count)]
