"""Raft as Kafka speaks it, as a machine without I/O: a node, an input, the node after it."""

from kedge.quorum.polling import next_deadline
from kedge.quorum.step import start, step

__all__ = ["next_deadline", "start", "step"]
