"""Metrics of brokers as other systems export them, and their attribution to partitions. No Spark.

`measurement` has the common form that every source is parsed to, `parsing` the forms of the
sources, `attribution` the rules that split what was measured over partitions.
"""
