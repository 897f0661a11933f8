"""Search for an assignment that is even enough and moves few bytes."""
