"""The database of a server: SQLite by default, PostgreSQL by URL; engine, transactions, migrations.

    engine      opens a database, brings its tables up to date, gives out transactions
    migrations  the steps from one form of the tables to the next

The tables are those of the packages above: `kedge.web.tables` has what the server keeps,
`kedge.watch_runtime.tables` what the loop keeps. A test compares both with the migrations.

Runs are not kept here: they are in the cluster's own topic or in a directory, as those of the
command line. A server that loses its database loses no run.
"""

from kedge.database.engine import (
    FIRST_TOKEN_LOCK,
    Database,
    open_database,
    reason_of,
    shown_url,
)

__all__ = ["FIRST_TOKEN_LOCK", "Database", "open_database", "reason_of", "shown_url"]
