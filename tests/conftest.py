"""What holds for every test."""

import os

from hypothesis import settings

# Speed is measured in bench/, never judged in a test: a busy machine is no failure.
# The same examples each time, so that a failure tells of a change and not of luck; others are
# looked for on purpose: `KEDGE_EXPLORE=1 make test`.
settings.register_profile("kedge", deadline=None, derandomize="KEDGE_EXPLORE" not in os.environ)
settings.load_profile("kedge")
