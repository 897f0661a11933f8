"""Medians and spreads: statistics of a sample that a few outliers do not move."""

from __future__ import annotations

import numpy as np

from kedge.model.columns import Floats

SIGMA_PER_MAD = 1.4826  # the standard deviation of normal noise over its median deviation
MEDIAN_ERROR = 1.2533  # the standard error of a median over that of a mean


def median(values: Floats) -> float:
    """The median; NaN without values."""
    return float(np.median(values)) if len(values) else float("nan")


def spread(values: Floats) -> float:
    """The standard deviation as the median absolute deviation tells it; 0 without values."""
    if not len(values):
        return 0.0
    return SIGMA_PER_MAD * median(np.abs(values - median(values)))


def independent_count(residuals: Floats) -> float:
    """How many independent values say as much as these, which may follow each other closely."""
    count = len(residuals)
    if count < 3:
        return max(float(count), 1.0)
    middle = residuals - median(residuals)
    power = float(np.dot(middle, middle))
    if power <= 0:
        return float(count)
    correlation = float(np.dot(middle[1:], middle[:-1])) / power
    kept = min(max(correlation, 0.0), 0.99)
    return max(count * (1 - kept) / (1 + kept), 1.0)
