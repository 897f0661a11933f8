"""The command line: parses options, calls a use case, and shows what `report` makes of it.

Data goes to stdout, notes and errors to stderr. Exit codes: 0 done, 1 failed, 2 bad request. An
error is one sentence with a hint; a traceback is a bug.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the `kedge` command and exit."""
    from kedge.cli.app import prepare_streams, run

    prepare_streams()
    sys.exit(run(sys.argv[1:]))


__all__ = ["main"]
