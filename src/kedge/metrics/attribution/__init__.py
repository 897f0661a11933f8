"""Splits what was measured by topic and broker over partitions, and says by which rule."""

from kedge.metrics.attribution.leadership import Leadership
from kedge.metrics.attribution.result import Attributed, PartitionBytes, Rule
from kedge.metrics.attribution.split import whole_numbers
from kedge.metrics.attribution.topic import attribute_topic

__all__ = [
    "Attributed",
    "Leadership",
    "PartitionBytes",
    "Rule",
    "attribute_topic",
    "whole_numbers",
]
