"""What holds for every test."""

from hypothesis import settings

# Speed is measured in bench/, never judged in a test: a busy machine is no failure.
settings.register_profile("kedge", deadline=None)
settings.load_profile("kedge")
