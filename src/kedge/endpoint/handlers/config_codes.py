"""Where configs come from, as DescribeConfigs numbers it."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.topics import Source

SOURCES: Mapping[Source, int] = {
    Source.TOPIC: 1,
    Source.BROKER: 2,
    Source.ALL_BROKERS: 3,
    Source.STATIC: 4,
    Source.BUILT_IN: 5,
}
