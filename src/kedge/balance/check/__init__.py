"""Checks of a plan against its snapshot, sharing no code with bounds and search."""
