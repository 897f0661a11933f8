"""What the server keeps: SQLite by default, PostgreSQL by URL; tables, migrations, sessions.

Runs are not kept here: they are in the cluster's own topic or in a directory, as those of the
command line. A server that loses its database loses no run.
"""

from kedge.web.database.engine import Database, open_database, shown_url

__all__ = ["Database", "open_database", "shown_url"]
