"""Splits what was measured by topic and broker over partitions, and says by which rule."""
