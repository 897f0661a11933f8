"""The command line: parse, call, hand to `report`, show. No decisions live here.

Data goes to stdout and talk to stderr. Exit codes: 0 done, 1 failed, 2 bad request. A refusal is
one sentence with what to do about it; a traceback is a bug.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the `kedge` command and exit."""
    from kedge.cli.app import prepare_streams, run

    prepare_streams()
    sys.exit(run(sys.argv[1:]))


__all__ = ["main"]
