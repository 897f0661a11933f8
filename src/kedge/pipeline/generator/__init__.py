"""Generates metrics with injected faults and the expected results, for tests and benchmarks.

The generator makes the samples of a few clusters, injects faults with exact counts, and writes the
expected sums, percentiles and findings. The expected results are accumulated while the rows are
generated, not computed from the files.

    from kedge.pipeline.generator import generate
    expected = generate(Path("metrics"), size="S", seed=7, formats=("parquet",))

| size | replicas | samples | rows       |
|------|----------|---------|------------|
| XS   |      300 |      40 | 12 thousand |
| S    |    1 200 |     120 | 146 thousand |
| M    |   30 000 |     170 | 5.2 million |
| L    |  120 000 |     417 | 50.7 million |

Each replica reports one row per minute. A row has at most one of these faults:

| fault      | share | injected                                       | expected          |
|------------|------:|------------------------------------------------|-------------------|
| malformed  | 0.2 % | a copy with one malformed field arrives too    | quarantined       |
| exact_dup  |   1 % | arrives twice with the same `seq`              | once in silver    |
| correction | 0.1 % | another value with a higher `seq`, some first  | corrected         |
| late_ok    |   1 % | arrives 2 to 25 minutes late                   | kept              |
| late_drop  | 0.1 % | arrives 60 to 180 minutes late                 | in the late table |

so `rows_total = clean_unique + late_drop + exact_dup + correction + malformed`. Unparsable lines of
JSON and CSV are additional and counted separately (`text_broken`).

Each cluster also has a hot broker, whose leaders have six times the traffic; partitions whose ISR
flaps; partitions that grow continuously; and a daily pattern.

Rows are written in the order of arrival, so a late row is in a later file. All values are integers,
so sums are exact. The same size and seed give the same rows on every machine.
"""

from kedge.pipeline.generator.generate_metrics import generate
from kedge.pipeline.generator.sizes import SIZES, Size

__all__ = ["SIZES", "Size", "generate"]
