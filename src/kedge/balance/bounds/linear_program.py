"""Solve a linear program with HiGHS; highspy is imported only here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kedge.balance.goals.problem import Floats, Int32s

Ints = npt.NDArray[np.int64] | Int32s


@dataclass(frozen=True, slots=True, eq=False)
class SparseMatrix:
    """The entries of a matrix row by row or column by column.

    `index[start[i]:start[i + 1]]` are the places of the entries of row (or column) i.
    """

    start: Ints
    index: Ints
    value: Floats


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """Find x ≥ 0 with row_lower ≤ matrix · x ≤ row_upper at the least (or greatest) cost · x."""

    cost: Floats
    matrix: SparseMatrix
    row_lower: Floats
    row_upper: Floats
    by_rows: bool = False
    maximise: bool = False


def solve_linear_program(program: LinearProgram) -> Floats:
    """The values of x, on one thread."""
    import highspy

    columns = len(program.cost)
    model: Any = highspy.HighsLp()
    model.num_col_ = columns
    model.num_row_ = len(program.row_lower)
    model.sense_ = highspy.ObjSense.kMaximize if program.maximise else highspy.ObjSense.kMinimize
    model.col_cost_ = program.cost
    model.col_lower_ = np.zeros(columns)
    model.col_upper_ = np.full(columns, highspy.kHighsInf)
    model.row_lower_ = program.row_lower
    model.row_upper_ = program.row_upper
    layout = highspy.MatrixFormat
    model.a_matrix_.format_ = layout.kRowwise if program.by_rows else layout.kColwise
    model.a_matrix_.start_ = program.matrix.start.astype(np.int32)
    model.a_matrix_.index_ = program.matrix.index.astype(np.int32)
    model.a_matrix_.value_ = program.matrix.value
    solver: Any = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.passModel(model)
    solver.run()
    return np.array(solver.getSolution().col_value, np.float64)
