"""Jobs: each connects one source, the transforms and one sink; the rules are in the transforms."""
