"""Delta tables of a directory: their files, their versions, and the runs that changed them."""
