"""Requests of a KRaft controller, between bytes and values."""
