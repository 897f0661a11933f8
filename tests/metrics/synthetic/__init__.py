"""Drawn recordings with a known truth, in the layout of recordings of real clusters."""
