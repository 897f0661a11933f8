"""Sources of samples: files, Kafka topics and live clusters.

Files and topics are read as *raw rows*: the columns of a sample, `raw` (the text, if it could not
be parsed), and the provenance of the row.
"""
