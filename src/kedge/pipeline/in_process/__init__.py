"""Merges few rows of Parquet files without Spark, which takes longer to start than to merge them.

sample_rows     the rows of Parquet files, with the types of a sample
verdicts        validates rows: valid, late, or quarantined with a reason
newest_rows     of the rows with one key, the one with the highest `seq`

The functions give the rows of `kedge.pipeline.transforms`; tests compare both. Rows for which that
would be hard to promise are left to Spark (`NeedsSpark`).
"""
