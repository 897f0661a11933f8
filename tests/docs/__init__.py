"""Pages of the documentation that are generated from the code, and the tests that keep them so."""
