"""Where rows come from: files of samples, Kafka topics, live clusters.

Every source gives *raw rows*: the columns of a sample, `raw` (the text, where it could not be read
as a sample), and where the row came from.
"""
