"""The tables of the loop; times are seconds since 1970, values are the JSON of `watch.storage`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()
TIME = Float(53)
KEY = BigInteger().with_variant(Integer(), "sqlite")

LEAD = Table(
    "watch_lead",
    METADATA,
    Column("cluster", String(100), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("epoch", BigInteger(), nullable=False),
    Column("until", TIME, nullable=False),
)
POLICIES = Table(
    "watch_policies",
    METADATA,
    Column("cluster", String(100), primary_key=True),
    Column("text", Text(), nullable=False),
)
SAMPLES = Table(
    "watch_samples",
    METADATA,
    Column("cluster", String(100), primary_key=True),
    Column("at", TIME, primary_key=True),
    Column("data", LargeBinary(), nullable=False),
)
PROPOSALS = Table(
    "watch_proposals",
    METADATA,
    Column("cluster", String(100), primary_key=True),
    Column("id", String(60), primary_key=True),
    Column("version", Integer(), nullable=False),
    Column("state", String(16), nullable=False),
    Column("changed_at", TIME, nullable=False),
    Column("waits_for", Text(), nullable=False, default=""),
    Column("data", LargeBinary(), nullable=False),
    Index("watch_proposals_by_state", "cluster", "state"),
)
FINDINGS = Table(
    "watch_findings",
    METADATA,
    Column("cluster", String(100), primary_key=True),
    Column("at", TIME, nullable=False),
    Column("data", LargeBinary(), nullable=False),
)
RUNS = Table(
    "watch_runs",
    METADATA,
    Column("cluster", String(100), primary_key=True),
    Column("proposal", String(60), primary_key=True),
    Column("begun_at", TIME, nullable=False),
    Column("outcome", Text(), nullable=True),  # of an election; that of a run is in its journal
)
EVENTS = Table(
    "watch_events",
    METADATA,
    Column("id", KEY, primary_key=True, autoincrement=True),
    Column("cluster", String(100), nullable=False),
    Column("at", TIME, nullable=False),
    Column("data", LargeBinary(), nullable=False),
    Column("delivered_at", TIME, nullable=True),
    Index("watch_events_to_deliver", "cluster", "delivered_at"),
)
