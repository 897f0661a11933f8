"""Clusters for hypothesis: few or many brokers, ids with gaps, odd racks."""

from __future__ import annotations

from hypothesis import strategies as st

from kedge.model import Broker, BrokerId
from kedge.placement import Start

# names whose order is easily got wrong: numbers, cases, the empty one, and signs beyond U+FFFF
ODD_RACKS = ("", "r2", "r10", "B", "a", "rack.1", "rack_1", "\ue000", "\U0001f40b", "机架")

broker_ids = st.one_of(
    st.integers(1, 12).map(lambda count: list(range(count))),
    st.lists(st.integers(0, 100_000), min_size=1, max_size=12, unique=True),
)


@st.composite
def plain_clusters(draw: st.DrawFn) -> list[Broker]:
    """Brokers without racks, in any order."""
    return [Broker(BrokerId(i)) for i in draw(st.permutations(draw(broker_ids)))]


@st.composite
def racked_clusters(draw: st.DrawFn) -> list[Broker]:
    """Brokers that all have a rack; racks of very different size are likely."""
    ids = draw(st.permutations(draw(broker_ids)))
    names = draw(st.lists(st.sampled_from(ODD_RACKS), min_size=1, max_size=5))
    return [Broker(BrokerId(i), draw(st.sampled_from(names))) for i in ids]


clusters = st.one_of(plain_clusters(), racked_clusters())
starts = st.builds(Start, st.integers(0, 10_000), st.integers(0, 10_000))
first_partitions = st.one_of(st.integers(0, 40), st.integers(0, 1_000_000))
