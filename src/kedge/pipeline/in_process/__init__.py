"""Merges rows of Parquet files without Spark, as long as they fit into the memory of one process.

sample_rows     the rows of Parquet files, with the types of a sample
verdicts        validates rows: valid, late, or quarantined with a reason
newest_rows     of the rows with one key, the one with the highest `seq`
silver_rows     rows with the columns and types of silver

Of many rows, Spark's workers merge a part each with these functions
(`kedge.pipeline.sources.packed_samples`).

The functions give the rows of `kedge.pipeline.transforms`; tests compare both. Rows for which that
would be hard to promise are left to Spark (`NeedsSpark`).
"""
