"""Raft as Kafka speaks it, as a machine without I/O: a node, an input, the node after it."""
