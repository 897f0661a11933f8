"""`python -m kedge` is `kedge`."""

from kedge.cli import main

main()
