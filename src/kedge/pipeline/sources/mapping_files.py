"""Reads mapping files: which series the metrics of other exporter rules are."""

from __future__ import annotations

from pathlib import Path

from kedge.files import read_text, with_path_context
from kedge.metrics.parsing.series_mapping import parse_mapping
from kedge.metrics.parsing.series_names import ExporterNames, SeriesNames


def read_series_names(mapping: Path | None) -> SeriesNames:
    """The names of known exporters, and those of a mapping file."""
    if mapping is None:
        return ExporterNames()
    text = read_text(mapping)
    with with_path_context(mapping):
        return parse_mapping(text)
