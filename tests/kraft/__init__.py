"""The controller without I/O, several in one test."""
