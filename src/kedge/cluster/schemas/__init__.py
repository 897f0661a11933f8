"""Schemas of Kafka's messages that kafka-python does not have, in the form that it reads."""
