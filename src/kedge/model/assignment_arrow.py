"""An assignment as an Arrow table: topic string, partition int32, replicas list<int32>."""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.model.arrow import Reader, Table, arrow, list_column, text_column
from kedge.model.assignment import Assignment
from kedge.model.columns import INT32_MAX, ragged_of_matrix


def assignment_columns(assignment: Assignment) -> dict[str, Any]:
    """The three columns, by name."""
    return {
        "topic": text_column(assignment.topics, assignment.topic),
        "partition": arrow().array(assignment.partition),
        "replicas": list_column(ragged_of_matrix(assignment.replicas)),
    }


def assignment_to_arrow(assignment: Assignment) -> Table:
    """The table, in row order."""
    return arrow().table(assignment_columns(assignment))


def assignment_from_arrow(table: Table) -> Assignment:
    """The assignment that a table holds; its rows may be in any order."""
    reader = Reader(table, "assignment")
    topics, topic = reader.every_text("topic")
    partition, replicas = reader.every_whole("partition"), reader.every_list("replicas")
    for column, values, rows in (
        ("partition", partition, np.arange(len(partition))),
        ("replicas", replicas.values, replicas.rows),
    ):
        bad = np.flatnonzero((values < 0) | (values > INT32_MAX))
        if len(bad):
            what = f"{values[bad[0]]} is not from 0 to {INT32_MAX}"
            raise reader.refuse(what, column, int(rows[bad[0]]))
    return Assignment.from_columns(topics, topic, partition, replicas.padded())
