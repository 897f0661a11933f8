"""Parsers of metrics."""
