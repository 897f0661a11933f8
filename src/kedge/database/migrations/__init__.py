"""The steps from one form of the tables to the next, run at each start of the server."""
